// One spec may replace ops of the program and configure dispatches. The compiler accepts the file for both.
// RUN: tuninglink link %S/Inputs/replace-and-configure.mlir -o %t.both.mlir
// RUN: iree-compile %s --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=znver4 --iree-preprocessing-transform-spec-filename=%t.both.mlir --iree-codegen-tuning-spec-path=%t.both.mlir --compile-to=executable-configurations | filecheck %s --check-prefix=BOTH

// A spec that only replaces is a spec. Linked alone, the compiler accepts it for both, too.
// RUN: tuninglink link %S/Inputs/replace-rows.mlir -o %t.alone.mlirbc
// RUN: iree-compile %s --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=znver4 --iree-preprocessing-transform-spec-filename=%t.alone.mlirbc --iree-codegen-tuning-spec-path=%t.alone.mlirbc --compile-to=executable-configurations | filecheck %s --check-prefix=ALONE

// The first spec wins. A function that several specs define in the same way is shared, other names are renamed; there is
// one entry point of each kind, and linking again changes nothing.
// RUN: sed -e 's/\[14, 0\]/[30, 0]/' -e 's/high\[14/high[30/' -e 's/48x48xf32>, /64x48xf32>, /' -e 's/to tensor<48x/to tensor<64x/' -e 's/outs(%%p1 : tensor<48/outs(%%p1 : tensor<64/' -e 's/-> tensor<48x32/-> tensor<64x32/' -e 's/: tensor<48x32xf32> to tensor<34/: tensor<64x32xf32> to tensor<34/' %S/Inputs/replace-rows.mlir > %t.other.mlir
// RUN: tuninglink link %t.other.mlir %S/Inputs/replace-and-configure.mlir %S/Inputs/replace-rows.mlir -v -o %t.linked.mlir 2>&1 | filecheck %s --check-prefix=VERBOSE
// RUN: filecheck %s --check-prefix=LINKED < %t.linked.mlir
// RUN: tuninglink link %t.linked.mlir -o %t.again.mlir
// RUN: diff %t.linked.mlir %t.again.mlir
// RUN: iree-compile %s --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=znver4 --iree-preprocessing-transform-spec-filename=%t.linked.mlir --compile-to=preprocessing | filecheck %s --check-prefix=OTHER

// The two kinds may be written to two files.
// RUN: tuninglink link %S/Inputs/replace-and-configure.mlir --preprocessing %t.pre.mlir -o %t.conf.mlir
// RUN: filecheck %s --check-prefix=PRE < %t.pre.mlir
// RUN: filecheck %s --check-prefix=CONF < %t.conf.mlir
// RUN: iree-compile %s --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=znver4 --iree-preprocessing-transform-spec-filename=%t.pre.mlir --iree-codegen-tuning-spec-path=%t.conf.mlir --compile-to=executable-configurations | filecheck %s --check-prefix=BOTH
// RUN: tuninglink link %S/Inputs/replace-rows.mlir --preprocessing %t.pre.mlirbc -o %t.conf.mlirbc
// RUN: iree-compile %s --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=znver4 --iree-preprocessing-transform-spec-filename=%t.pre.mlirbc --iree-codegen-tuning-spec-path=%t.conf.mlirbc --compile-to=executable-configurations | filecheck %s --check-prefix=ALONE
// RUN: tuninglink link %t.conf.mlir --preprocessing %t.none.mlir -o %t.same.mlir 2>&1 | filecheck %s --check-prefix=NONE
// RUN: iree-compile %s --iree-preprocessing-transform-spec-filename=%t.none.mlir --compile-to=preprocessing -o %t.unchanged.mlir
// RUN: iree-compile %s --compile-to=preprocessing | diff - %t.unchanged.mlir

// Replace entries go to a file of their own, whatever it is called, and the rest to a file or to standard output.
// RUN: rm -rf %t.dir && mkdir -p %t.dir && cp %t.both.mlir %t.dir/spec.mlir && ln -s spec.mlir %t.dir/link.mlir
// RUN: not tuninglink link %t.conf.mlir --preprocessing %t.same.mlir -o %t.same.mlir 2>&1 | filecheck %s --check-prefix=SAME
// RUN: cd %t.dir && not tuninglink link %t.conf.mlir --preprocessing %t.dir/out.mlir -o ./out.mlir 2>&1 | filecheck %s --check-prefix=SAME
// RUN: not tuninglink link %t.conf.mlir --preprocessing - -o %t.same.mlir 2>&1 | filecheck %s --check-prefix=SAME
// RUN: cd %t.dir && not tuninglink link spec.mlir --preprocessing ./spec.mlir -o out.mlir 2>&1 | filecheck %s --check-prefix=SAME
// RUN: cd %t.dir && not tuninglink link gfx942=spec.mlir --preprocessing link.mlir -o out.mlir 2>&1 | filecheck %s --check-prefix=SAME
// RUN: cd %t.dir && not tuninglink link %t.dir --preprocessing spec.mlir 2>&1 | filecheck %s --check-prefix=SAME
// RUN: diff %t.both.mlir %t.dir/spec.mlir
// RUN: tuninglink link %t.both.mlir --preprocessing %t.dir/pre.mlir -o - | diff - %t.conf.mlir
// RUN: filecheck %s --check-prefix=PRE < %t.dir/pre.mlir
// RUN: tuninglink link - --preprocessing %t.dir/pre.mlir < %S/Inputs/replace-rows.mlir | filecheck %s --check-prefix=EMPTY

// PRE-NOT: @__kernel_config
// PRE: @__transform_main
// CONF-NOT: @__transform_main
// CONF-NOT: func private
// CONF: @match_conf -> @configure
// NONE: warning: no spec has replace entries, so '{{.*}}none.mlir' replaces nothing
// SAME: error: --preprocessing names a file of its own, neither OUT nor a SPEC
// EMPTY-NOT: match_rows
// EMPTY: named_sequence @__kernel_config(%[[ROOT:.*]]:
// EMPTY-NEXT: transform.yield %[[ROOT]]
// EMPTY-NOT: match_rows

// BOTH: linalg.matmul {{.*}}distribution = [16, 16, 0]{{.*}}ins({{.*}}tensor<48x48xf32>
// ALONE-NOT: distribution = [16, 16, 0]
// ALONE: linalg.matmul {{.*}}ins({{.*}}tensor<48x48xf32>

// VERBOSE: other.mlir: preprocessing spec, 0 entries and 1 replace entry
// VERBOSE: replace-and-configure.mlir: matcher list, 1 entry and 1 replace entry
// VERBOSE: linked into one list: 3 specs with 1 entry and 3 replace entries

// LINKED: named_sequence @__kernel_config
// LINKED-NOT: named_sequence @__kernel_config
// LINKED: func private @rows(
// LINKED: tensor<34x48xf32> to tensor<64x48xf32>
// LINKED: func private @rows_0(
// LINKED: tensor<34x48xf32> to tensor<48x48xf32>
// LINKED-NOT: func private
// LINKED: @__transform_main
// LINKED: @match_rows -> @replace_rows,
// LINKED-NEXT: @match_rows_0 -> @replace_rows_0,
// LINKED-NEXT: @match_rows_1 -> @replace_rows_1 :
// LINKED: transform.apply_dce
// LINKED-NEXT: transform.apply_registered_pass "inline"
// LINKED-NEXT: transform.yield
// LINKED-NOT: @__transform_main

// OTHER-NOT: call @
// OTHER: linalg.matmul{{.*}}tensor<64x48xf32>

func.func @main(%l: tensor<34x48xf32>, %r: tensor<48x32xf32>) -> tensor<34x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<34x32xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<34x32xf32>) -> tensor<34x32xf32>
  %c = linalg.matmul ins(%l, %r : tensor<34x48xf32>, tensor<48x32xf32>) outs(%i : tensor<34x32xf32>) -> tensor<34x32xf32>
  return %c : tensor<34x32xf32>
}
