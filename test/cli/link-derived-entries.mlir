// A compiler that reads the spec itself finds the derived entries that are written out.

// RUN: rm -rf %t && mkdir -p %t
// RUN: tuninglink link %S/Inputs/bert_layer.mlir --derived-entries -o %t/forms.mlir
// The former name of the flag.
// RUN: tuninglink link %S/Inputs/bert_layer.mlir --expand-forms | diff - %t/forms.mlir
// RUN: tuninglink link --help | filecheck %s --check-prefix=HELP
// HELP-NOT: expand-forms
// HELP: --derived-entries
// HELP-NOT: expand-forms
// RUN: filecheck %s --check-prefix=SPEC --input-file=%t/forms.mlir
// RUN: iree-compile %s --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu \
// RUN:     --iree-llvmcpu-target-triple=x86_64-linux-gnu --iree-llvmcpu-target-cpu=skylake-avx512 \
// RUN:     --iree-codegen-tuning-spec-path=%t/forms.mlir --compile-to=executable-configurations -o %t/program.mlir
// RUN: filecheck %s --input-file=%t/program.mlir

// SPEC: @match_matmul_384x768x768_f32(
// SPEC: derived = "from @match_matmul_384x768x768_f32: unit batch added"

// CHECK: linalg.batch_matmul
// CHECK-SAME: distribution = [1,
func.func @layer(%lhs: tensor<1x384x768xf32>, %rhs: tensor<1x768x768xf32>) -> tensor<1x384x768xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x384x768xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x384x768xf32>) -> tensor<1x384x768xf32>
  %result = linalg.batch_matmul
    indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>,
                     affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>]
    ins(%lhs, %rhs : tensor<1x384x768xf32>, tensor<1x768x768xf32>)
    outs(%init : tensor<1x384x768xf32>) -> tensor<1x384x768xf32>
  return %result : tensor<1x384x768xf32>
}
