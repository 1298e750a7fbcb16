// Where the compiler's choice for a dispatch consists of configurations of several ops, a frozen entry requires all of them
// around the root op and configures them, too. The stock compiler takes such an entry.

// RUN: rm -rf %t && mkdir -p %t
// RUN: tuninglink init --all %s --target cortex-a76 -o %t/frozen.mlir 2>&1 | filecheck %s --check-prefix=REMARK
// REMARK: remark: choices written for 4 of 4 dispatches, 100.0% of the operations

// RUN: not tuninglink init %s --target cortex-a76 2>&1 | filecheck %s --check-prefix=ALONE
// ALONE: consists of more than the entry; '--all' may write one
// ALONE: error: no entry can be written for

// RUN: filecheck %s --check-prefix=SPEC --input-file=%t/frozen.mlir
// SPEC: iree_codegen.tuning_spec_with_default_entrypoint
// SPEC: transform.named_sequence @configure_and_2_more(
// SPEC-NEXT: transform.annotate %arg0 "compilation_info" = %arg1
// SPEC-NEXT: transform.annotate %arg2 "lowering_config" = %arg3
// SPEC-NEXT: transform.annotate %arg4 "lowering_config" = %arg5
// SPEC: // matmul 37x53x91 f32·f32→f32
// SPEC-NEXT: // @biased_dispatch_0::@embedded_elf_arm_64: called once;
// SPEC-NEXT: // also configures linalg.fill, the producer of operand 2
// SPEC-NEXT: // also configures linalg.generic, the consumer of result 0
// SPEC-NEXT: transform.named_sequence @match_
// SPEC: transform.iree.match.contraction %arg0,
// SPEC: [[FILL:%[0-9]+]] = transform.get_producer_of_operand %arg0[2]
// SPEC: transform.iree.match.cast_compatible_dag_from_root [[FILL]] {
// SPEC: transform.include @only_consumer_of_result_0 failures(propagate) (%arg0)
// SPEC: linalg.generic
// SPEC: arith.addf
// SPEC: transform.match.operation_name %{{.*}} ["iree_tensor_ext.dispatch.tensor.store", "iree_codegen.store_to_buffer"]
// SPEC: @relu_dispatch_0::@embedded_elf_arm_64
// SPEC: transform.match.operation_name %{{.*}} ["linalg.generic"]
// SPEC: transform.iree.match.cast_compatible_type %{{.*}} = tensor<37x53xf32>
// SPEC: transform.include @has_maps_{{[0-9a-f]+}} failures(propagate)
// SPEC: transform.structured.match attributes {indexing_maps = {{.*}}, iterator_types = [

// The code stays the same with the stock compiler; test_frozen.py compares that of this one, also on RISC-V.
// RUN: iree-compile %s --mlir-disable-threading --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-triple=aarch64-unknown-unknown-eabi-elf --iree-llvmcpu-target-cpu=cortex-a76 -o %t/plain.vmfb
// RUN: iree-compile %s --mlir-disable-threading --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-triple=aarch64-unknown-unknown-eabi-elf --iree-llvmcpu-target-cpu=cortex-a76 --iree-codegen-tuning-spec-path=%t/frozen.mlir -o %t/kept.vmfb
// RUN: cmp %t/plain.vmfb %t/kept.vmfb
// Without the configurations of the neighbors, it does not.
// RUN: sed '/annotate %arg[24]/d' %t/frozen.mlir > %t/narrow.mlir
// RUN: tuninglink compile %s --target cortex-a76 --spec %t/narrow.mlir -o %t/narrow.vmfb
// RUN: not cmp -s %t/plain.vmfb %t/narrow.vmfb

// An entry matches no product with other ops around it, and fails nowhere; test_frozen.py compares the code.
// RUN: sed '/^func.func @biased/,/^}/!d' %s > %t/biased.mlir
// RUN: sed '/^func.func @biased/,/^}/d' %s > %t/others.mlir
// RUN: tuninglink init --all %t/biased.mlir --target cortex-a76 -o %t/biased.spec.mlir -q
// RUN: tuninglink compile %t/others.mlir --target cortex-a76 --compile-to=executable-configurations --spec %t/biased.spec.mlir -o %t/other.mlir 2>&1 | filecheck %s --check-prefix=OTHER
// OTHER: warning: spec '{{.*}}biased.spec.mlir' configured nothing: its entry was never the first to match

// The commands understand the entries: each is one dispatch.
// RUN: tuninglink explain %s --target cortex-a76 --spec %t/frozen.mlir | filecheck %s --check-prefix=EXPLAIN
// EXPLAIN: tuned: 100 % of FLOPs, 100 % of calls (4 of 4 dispatches)
// RUN: tuninglink explain %s --target cortex-a76 --spec %t/frozen.mlir -o %t/new.json
// RUN: tuninglink diff %t/frozen.mlir - --fail-on-regression < %t/new.json | filecheck %s --check-prefix=KEPT
// KEPT: 4 of 4 entries kept
// RUN: tuninglink check %t/frozen.mlir --target cortex-a76 --model %s | filecheck %s --check-prefix=CHECK
// CHECK: not decided: matches itself: line {{[0-9]+}} and 3 more: it also requires other ops around the matched one
// CHECK: in the model: line {{[0-9]+}}: {{.*}} in @biased_dispatch_0::@embedded_elf_arm_64: valid
// CHECK: in the model: line {{[0-9]+}}: {{.*}} in @relu_dispatch_0::@embedded_elf_arm_64: valid
// CHECK: in the model: line {{[0-9]+}}: {{.*}} in @plain_dispatch_0::@embedded_elf_arm_64: valid
// CHECK: in the model: line {{[0-9]+}}: {{.*}} in @accumulated_dispatch_0::@embedded_elf_arm_64: valid
// RUN: sed 's/.8, 32., vector_common_parallel = .8, 8.>/[8, 32, 0], vector_common_parallel = [8, 8, 0]>/' %t/biased.spec.mlir > %t/rank.mlir
// RUN: tuninglink check %t/rank.mlir --target cortex-a76 2>&1 | filecheck %s --check-prefix=RANK
// RANK: warning: entry 'match_biased_dispatch_0_matmul_37x53x91_f32': 'cache_parallel' has 3 sizes for the 2 loops that the matcher requires
// RANK: note: 1 more, at line {{[0-9]+}}; --all shows them
// RUN: tuninglink upgrade %t/frozen.mlir -o %t/upgraded.mlir
// RUN: cmp %t/frozen.mlir %t/upgraded.mlir
// RUN: tuninglink dump %s --target cortex-a76 --spec %t/frozen.mlir | filecheck %s --check-prefix=DUMP
// DUMP: transform.named_sequence @only_consumer_of_result_0
// RUN: tuninglink diff %t/biased.spec.mlir %t/rank.mlir | filecheck %s --check-prefix=DIFF
// DIFF: change {{ *}} @match_biased_dispatch_0_matmul_37x53x91_f32 {{ *}} configuration changed

// Linked after another frozen spec, with which the entries share the name of a sequence, they take effect as well.
// RUN: tuninglink init --all %t/others.mlir --target cortex-a76 -o %t/others.spec.mlir -q
// RUN: tuninglink link %t/biased.spec.mlir %t/others.spec.mlir -o %t/linked.mlir
// RUN: tuninglink compile %s --target cortex-a76 --spec %t/linked.mlir -o %t/kept.vmfb
// RUN: cmp %t/plain.vmfb %t/kept.vmfb

func.func @plain(%lhs: tensor<37x91xf32>, %rhs: tensor<91x53xf32>) -> tensor<37x53xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<37x53xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<37x53xf32>) -> tensor<37x53xf32>
  %p = linalg.matmul ins(%lhs, %rhs : tensor<37x91xf32>, tensor<91x53xf32>) outs(%init : tensor<37x53xf32>) -> tensor<37x53xf32>
  return %p : tensor<37x53xf32>
}
func.func @biased(%lhs: tensor<37x91xf32>, %rhs: tensor<91x53xf32>, %bias: tensor<53xf32>) -> tensor<37x53xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<37x53xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<37x53xf32>) -> tensor<37x53xf32>
  %p = linalg.matmul ins(%lhs, %rhs : tensor<37x91xf32>, tensor<91x53xf32>) outs(%init : tensor<37x53xf32>) -> tensor<37x53xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]} ins(%p, %bias : tensor<37x53xf32>, tensor<53xf32>) outs(%empty : tensor<37x53xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<37x53xf32>
  return %r : tensor<37x53xf32>
}
func.func @accumulated(%lhs: tensor<37x91xf32>, %rhs: tensor<91x53xf32>, %acc: tensor<37x53xf32>) -> tensor<37x53xf32> {
  %p = linalg.matmul ins(%lhs, %rhs : tensor<37x91xf32>, tensor<91x53xf32>) outs(%acc : tensor<37x53xf32>) -> tensor<37x53xf32>
  return %p : tensor<37x53xf32>
}
func.func @relu(%lhs: tensor<37x91xf32>, %rhs: tensor<91x53xf32>) -> tensor<37x53xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<37x53xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<37x53xf32>) -> tensor<37x53xf32>
  %p = linalg.matmul ins(%lhs, %rhs : tensor<37x91xf32>, tensor<91x53xf32>) outs(%init : tensor<37x53xf32>) -> tensor<37x53xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<37x53xf32>) outs(%empty : tensor<37x53xf32>) {
  ^bb0(%a: f32, %o: f32):
    %z = arith.constant 0.0 : f32
    %s = arith.maximumf %a, %z : f32
    linalg.yield %s : f32
  } -> tensor<37x53xf32>
  return %r : tensor<37x53xf32>
}
