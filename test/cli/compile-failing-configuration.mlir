// A configuration with which code generation fails: the error names the entry that gave it, where that stands in the
// spec, and what says why it is invalid.

// RUN: rm -rf %t && mkdir -p %t && cd %t
// RUN: sed 's/vector_reduction = .0, 0, 16./vector_reduction = [0, 0, -16]/' %S/../../examples/spec_mlp_cpu.mlir > failing.mlir
// RUN: not tuninglink compile %S/../../examples/model_mlp.mlir --spec failing.mlir --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=znver4 -o none 2>&1 | filecheck %s
// RUN: not ls none
// CHECK: model_mlp.mlir:20:13: error: expected sizes to be non-negative, but got -16
// CHECK: failing.mlir:9:3: note: entry 'match_model_dispatch_0_matmul_32x256x128_f32' of 'failing.mlir' configured linalg.matmul at {{.*}}model_mlp.mlir:20:13 in @model_dispatch_0::@embedded_elf_x86_64
// CHECK-NEXT: transform.named_sequence @match_model_dispatch_0_matmul_32x256x128_f32
// CHECK: note: 'tuninglink check SPEC --target znver4 --compile' checks the configuration

// RUN: not tuninglink check failing.mlir --target znver4 2>&1 | filecheck %s --check-prefix=WHY
// WHY: failing.mlir:{{[0-9]+}}:{{[0-9]+}}: error: entry 'match_model_dispatch_0_matmul_32x256x128_f32': 'vector_reduction' is [0, 0, -16], and none may be negative

// The second dispatch has its own entry.
// CHECK: model_mlp.mlir:36:13: error: expected sizes to be non-negative, but got -16
// CHECK: failing.mlir:19:3: note: entry 'match_model_dispatch_1_matmul_32x64x256_f32' of 'failing.mlir' configured linalg.matmul

// Without locations, the dispatches are compiled one by one to name the entry.
// RUN: iree-opt --strip-debuginfo --emit-bytecode %S/../../examples/model_mlp.mlir -o stripped.mlirbc
// RUN: not tuninglink compile stripped.mlirbc --spec failing.mlir --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=znver4 -o none 2>&1 | filecheck %s --check-prefix=STRIPPED
// STRIPPED: error: expected sizes to be non-negative, but got -16
// STRIPPED: failing.mlir:9:3: note: entry 'match_model_dispatch_0_matmul_32x256x128_f32' of 'failing.mlir' configured linalg.matmul in @model_dispatch_0::@embedded_elf_x86_64
// STRIPPED: note: 'tuninglink check SPEC --target znver4 --compile' checks the configuration; '--skip-failing-entries' compiles the dispatch without specs

// Where dispatches share a place, an entry is named only if its own dispatch fails.
// RUN: tuninglink init %S/Inputs/shared_place.mlir --target gfx942 --dispatch f_dispatch_0 -o first.mlir
// RUN: not tuninglink compile %S/Inputs/shared_place.mlir --spec first.mlir --target gfx942 -o none 2>&1 | filecheck %s --check-prefix=SHARED
// SHARED: model.py:10:5: error: 'func.func' op failed to distribute
// SHARED-NOT: configured {{.*}} in @f_dispatch_0
// SHARED: note: no spec configured it; another configuration may compile
// RUN: tuninglink init %S/Inputs/shared_place.mlir --target gfx942 --dispatch f_dispatch_1 -o second.mlir
// RUN: not tuninglink compile %S/Inputs/shared_place.mlir --spec second.mlir --target gfx942 -o none 2>&1 | filecheck %s --check-prefix=SECOND
// SECOND: model.py:10:5: error: 'func.func' op failed to distribute
// SECOND: note: entry {{.*}} configured {{.*}} in @f_dispatch_1

// Only one of the two entries fails: the other one stays.
// RUN: sed '10,18s/vector_reduction = .0, 0, 16./vector_reduction = [0, 0, -16]/' %S/../../examples/spec_mlp_cpu.mlir > one.mlir
// RUN: tuninglink compile %S/../../examples/model_mlp.mlir --spec one.mlir --skip-failing-entries --explain --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=znver4 -o one.vmfb 2>&1 | filecheck %s --check-prefix=ONE
// RUN: ls one.vmfb
// ONE: one.mlir:9:3: warning: entry 'match_model_dispatch_0_matmul_32x256x128_f32' is skipped in @model_dispatch_0::@embedded_elf_x86_64, which does not compile with it
// ONE: model_mlp.mlir:20:13: note: expected sizes to be non-negative, but got -16
// ONE-NOT: configured nothing
// ONE-NOT: @model_dispatch_0{{.*}} tuned
// ONE: @model_dispatch_0::@embedded_elf_x86_64 unmatched
// ONE: @model_dispatch_1::@embedded_elf_x86_64 tuned
// ONE: entry {{ *}}@match_model_dispatch_1_matmul_32x64x256_f32

// If all fail, the result is that without the spec.
// RUN: tuninglink compile %S/../../examples/model_mlp.mlir --spec failing.mlir --skip-failing-entries --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=znver4 -o all.vmfb 2>&1 | filecheck %s --check-prefix=ALL
// RUN: iree-compile %S/../../examples/model_mlp.mlir --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=znver4 -o plain.vmfb
// RUN: cmp all.vmfb plain.vmfb
// ALL: failing.mlir:9:3: warning: entry {{.*}} is skipped in @model_dispatch_0
// ALL: failing.mlir:19:3: warning: entry {{.*}} is skipped in @model_dispatch_1
// ALL-NOT: configured nothing

// What fails without specs, too, is no reason to skip one.
// RUN: sed 's/affine_map/affine_mop/' %S/../../examples/model_mlp.mlir > broken.mlir
// RUN: not tuninglink compile broken.mlir --spec one.mlir --skip-failing-entries --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=znver4 -o none 2>&1 | filecheck %s --check-prefix=BROKEN
// BROKEN: broken.mlir:{{[0-9:]+}} error
// BROKEN-NOT: skipped
