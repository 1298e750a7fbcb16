// Two entries, of two specs, that configure two operations of one dispatch: the compiler takes one configuration,
// and the error names both entries and their specs, whoever asks and on whatever backend.

// RUN: rm -rf %t && mkdir -p %t
// RUN: %python %S/../support/elementwise_specs.py llvm-cpu generics > %t/cpu_generics.mlir
// RUN: %python %S/../support/elementwise_specs.py llvm-cpu fills linalg.fill > %t/cpu_fills.mlir
// RUN: %python %S/../support/elementwise_specs.py hip generics > %t/gpu_generics.mlir
// RUN: %python %S/../support/elementwise_specs.py hip fills linalg.fill > %t/gpu_fills.mlir

// RUN: not tuninglink explain %s --spec %t/cpu_generics.mlir --spec %t/cpu_fills.mlir --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=generic -o %t/report 2>&1 | filecheck %s -DPREFIX=cpu
// RUN: not tuninglink compile %s --spec %t/cpu_generics.mlir --spec %t/cpu_fills.mlir --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=generic -o %t/out 2>&1 | filecheck %s -DPREFIX=cpu
// RUN: not tuninglink compile %s --spec %t/cpu_generics.mlir --spec %t/cpu_fills.mlir --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=generic --explain=%t/report -o %t/out 2>&1 | filecheck %s -DPREFIX=cpu
// RUN: not tuninglink explain %s --spec %t/gpu_generics.mlir --spec %t/gpu_fills.mlir --iree-hal-target-device=hip --iree-rocm-target=gfx942 -o %t/report 2>&1 | filecheck %s -DPREFIX=gpu
// RUN: not tuninglink compile %s --spec %t/gpu_generics.mlir --spec %t/gpu_fills.mlir --iree-hal-target-device=hip --iree-rocm-target=gfx942 -o %t/out 2>&1 | filecheck %s -DPREFIX=gpu
// RUN: not ls %t/report %t/out

// So it does if both entries are of one spec, and give the same configuration.
// RUN: not tuninglink compile %s --spec %S/Inputs/explain_two_entries_spec.mlir --iree-hal-target-device=local --iree-hal-local-target-device-backends=vmvx -o %t/out 2>&1 | filecheck %s --check-prefix=ALIKE
// ALIKE: error: {{.*}}multiple ops within dispatch trying to set the translation info
// ALIKE: {{.+}}.mlir:{{[0-9]+:[0-9]+}}: note: entry 'match_fills' of '{{.*}}explain_two_entries_spec.mlir' configured linalg.fill at {{.+}} in @both_dispatch_0::
// ALIKE: {{.+}}.mlir:{{[0-9]+:[0-9]+}}: note: entry 'match_generics' of '{{.*}}explain_two_entries_spec.mlir' configured linalg.generic at {{.+}} in @both_dispatch_0::

// CHECK: error: {{.*}}multiple ops within dispatch trying to set the translation info
// CHECK: {{.+}}.mlir:{{[0-9]+:[0-9]+}}: note: entry 'match_fills' of '{{.*}}[[PREFIX]]_fills.mlir' configured linalg.fill at {{.+}} in @both_dispatch_0::
// CHECK: {{.+}}.mlir:{{[0-9]+:[0-9]+}}: note: entry 'match_generics' of '{{.*}}[[PREFIX]]_generics.mlir' configured linalg.generic at {{.+}} in @both_dispatch_0::

func.func @both(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>) -> tensor<64xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<64xf32>) -> tensor<64xf32>
  %sum = linalg.generic {
      indexing_maps = [
        affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%a, %b : tensor<64x64xf32>, tensor<64x64xf32>) outs(%fill : tensor<64xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %product = arith.mulf %x, %y : f32
    %total = arith.addf %product, %z : f32
    linalg.yield %total : f32
  } -> tensor<64xf32>
  return %sum : tensor<64xf32>
}
