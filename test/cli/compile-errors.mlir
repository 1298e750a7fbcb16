// Bad input ends with one clear diagnostic and exit code 1, and leaves what was there before.

// RUN: rm -rf %t && mkdir -p %t

// Flags.
// RUN: not tuninglink compile %s --iree-hal-target-backend=vmvx 2>&1 | filecheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: unknown flag '--iree-hal-target-backend'; did you mean '--iree-hal-target-backends'?
// RUN: not tuninglink compile %s --iree-hal-target-backends=vmvx --mlir-timing=3 2>&1 | filecheck %s --check-prefix=GLOBAL
// GLOBAL: tuninglink compile: for the --mlir-timing option: '3' is invalid value for boolean argument! Try 0 or 1

// The program.
// RUN: not tuninglink compile %t/nowhere.mlir --iree-hal-target-backends=vmvx 2>&1 | filecheck %s --check-prefix=MISSING
// MISSING: error: cannot read '{{.*}}/nowhere.mlir': no such file or directory
// RUN: %python -c "import sys; sys.stdout.buffer.write(bytes(range(256)))" > %t/binary.mlir
// RUN: cp %t/binary.mlir %t/model.onnx
// RUN: not tuninglink compile %t/model.onnx --iree-hal-target-backends=vmvx 2>&1 | filecheck %s --check-prefix=ONNX
// ONNX: error: cannot import '{{.*}}/model.onnx': {{.+}}
// ONNX: note: 'iree-import-onnx {{.*}}/model.onnx -o model.mlir' has options for models like it
// RUN: iree-compile %s --compile-to=input --emit-mlir-bytecode -o %t/program.mlirbc
// RUN: head -c 100 %t/program.mlirbc > %t/truncated.mlirbc
// RUN: not tuninglink compile %t/truncated.mlirbc --iree-hal-target-backends=vmvx 2>&1 | filecheck %s --check-prefix=TRUNCATED
// TRUNCATED: truncated.mlirbc:0:0: error: attempting to parse {{[0-9]+}} bytes when only {{[0-9]+}} remain
// RUN: echo "func.func @f() { nonsense }" > %t/syntax.mlir
// RUN: echo 'func.func @f(%x: !torch.vtensor<[2],f32>) -> !torch.vtensor<[2],f32> { %y = torch.operator "torch.aten.index_add"(%x) : (!torch.vtensor<[2],f32>) -> !torch.vtensor<[2],f32> return %y : !torch.vtensor<[2],f32> }' > %t/operator.mlir
// RUN: not tuninglink compile %t/operator.mlir --iree-hal-target-backends=vmvx 2>&1 | filecheck %s --check-prefix=OPERATOR
// OPERATOR: operator.mlir:1:{{[0-9]+}}: error: failed to legalize operation 'torch.operator'
// OPERATOR: note: the compiler does not know the operator 'aten.index_add' of PyTorch; export with 'tuninglink.torch', or export what 'run_decompositions()' of the exported program returns
// RUN: sed 's/torch.aten.index_add/onnx.Loop/' %t/operator.mlir > %t/onnx.mlir
// RUN: not tuninglink compile %t/onnx.mlir --iree-hal-target-backends=vmvx 2>&1 | filecheck %s --check-prefix=LOOP
// LOOP: note: the compiler does not support the operator 'Loop' of ONNX as this model uses it;
// RUN: echo 'func.func @f(%x: tensor<8x8xf32>) -> tensor<8x8xf32> { %y = stablehlo.custom_call @lapack_spotrf_ffi(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32> return %y : tensor<8x8xf32> }' > %t/call.mlir
// RUN: not tuninglink compile %t/call.mlir --iree-hal-target-backends=vmvx 2>&1 | filecheck %s --check-prefix=CALL
// CALL: note: the compiler has no 'lapack_spotrf_ffi', a function of JAX's own runtime: keep it out of the program
// RUN: echo 'module {}' > %t/empty.mlir
// RUN: not tuninglink compile %t/empty.mlir --target host 2>&1 | filecheck %s --check-prefix=EMPTY
// EMPTY: note: the program has no public function
// RUN: not env TMPDIR=%t/nowhere tuninglink compile %t/empty.mlir --target host 2>&1 | filecheck %s --check-prefix=TEMPORARY
// TEMPORARY: warning: cannot write temporary files to '{{.*}}/nowhere': no such file or directory
// TEMPORARY: note: the compiler may crash without them; set TMPDIR to another directory

// A product for which the compiler's own configuration fails.
// RUN: echo 'func.func @f(%a: tensor<16x128xf16>, %b: tensor<128x64xf16>, %c: tensor<16x64xf16>) -> tensor<16x64xf16> { %r = linalg.matmul ins(%a, %b : tensor<16x128xf16>, tensor<128x64xf16>) outs(%c : tensor<16x64xf16>) -> tensor<16x64xf16> return %r : tensor<16x64xf16> }' > %t/product.mlir
// RUN: not tuninglink compile %t/product.mlir --target gfx942 2>&1 | filecheck %s --check-prefix=OWN
// OWN: error: {{.*}}failed to distribute
// OWN: note: no spec configured it; another configuration may compile: 'tuninglink tune' searches for one

// Specs.
// RUN: not tuninglink compile %s --spec %t/program.mlirbc --iree-hal-target-backends=vmvx 2>&1 | filecheck %s --check-prefix=NOT-SPEC
// NOT-SPEC: error: not a tuning spec

// The output, which is there whole or not at all.
// RUN: echo before > %t/out.vmfb
// RUN: not tuninglink compile %t/syntax.mlir --iree-hal-target-backends=vmvx -o %t/out.vmfb 2>/dev/null
// RUN: grep before %t/out.vmfb
// RUN: ls -A %t | filecheck %s --check-prefix=LEFT
// LEFT-NOT: tuninglink

func.func @add(%a: tensor<16xf32>, %b: tensor<16xf32>) -> tensor<16xf32> {
  %sum = arith.addf %a, %b : tensor<16xf32>
  return %sum : tensor<16xf32>
}
