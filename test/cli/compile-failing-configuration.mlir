// A configuration with which code generation fails: the error names the entry that gave it, where that stands in the
// spec, and what says why it is invalid.

// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: sed 's/vector_reduction = .0, 0, 16./vector_reduction = [0, 0, -16]/' %S/../../examples/spec_mlp_cpu.mlir > failing.mlir
// RUN: not tuninglink compile %S/../../examples/model_mlp.mlir --spec failing.mlir --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=znver4 -o none 2>&1 | filecheck %s
// RUN: not ls none
// CHECK: model_mlp.mlir:20:13: error: expected sizes to be non-negative, but got -16
// CHECK: failing.mlir:9:3: note: entry 'match_model_dispatch_0_matmul_32x256x128_f32' of 'failing.mlir' configured linalg.matmul at {{.*}}model_mlp.mlir:20:13 in @model_dispatch_0::@embedded_elf_x86_64
// CHECK-NEXT: transform.named_sequence @match_model_dispatch_0_matmul_32x256x128_f32
// CHECK: note: 'tuninglink check SPEC --target znver4 --compile' says what is wrong with a configuration

// RUN: not tuninglink check failing.mlir --target znver4 2>&1 | filecheck %s --check-prefix=WHY
// WHY: failing.mlir:{{[0-9]+}}:{{[0-9]+}}: error: entry 'match_model_dispatch_0_matmul_32x256x128_f32': 'vector_reduction' is [0, 0, -16], and none may be negative
