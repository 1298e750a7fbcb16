// Who carries a spec afterwards, if nothing is pruned. The pass nests under any anchor, and knows the target from around it.
// RUN: tuninglink-opt %s --split-input-file --tuninglink-materialize-specs=prune=false | filecheck %s --check-prefixes=CHECK,CARRY
// RUN: tuninglink-opt %s --split-input-file --pass-pipeline='builtin.module(hal.executable(tuninglink-materialize-specs{prune=false}))' | filecheck %s --check-prefixes=CHECK,CARRY
// RUN: tuninglink-opt %s --split-input-file --pass-pipeline='builtin.module(hal.executable(hal.executable.variant(tuninglink-materialize-specs{prune=false})))' | filecheck %s --check-prefixes=CHECK,CARRY
// RUN: tuninglink-opt %s --split-input-file --pass-pipeline='builtin.module(hal.executable(hal.executable.variant(builtin.module(tuninglink-materialize-specs{prune=false}))))' | filecheck %s --check-prefixes=CHECK,CARRY
// RUN: tuninglink-opt %s --split-input-file --tuninglink-materialize-specs='prune=false specs=%S/Inputs/user_spec.mlir' | filecheck %s --check-prefixes=CHECK,ALL
// RUN: tuninglink-opt %s --split-input-file --pass-pipeline='builtin.module(tuninglink-materialize-specs{default-specs=false spec-dir=%S/Inputs/spec_dir})' | filecheck %s --check-prefixes=CHECK,NONE

// What it carries, as the compiler applies it.
// RUN: tuninglink-opt %s --split-input-file --pass-pipeline='builtin.module(tuninglink-materialize-specs,hal.executable(hal.executable.variant(builtin.module(iree-codegen-materialize-user-configs))))' | filecheck %s --check-prefixes=CHECK,DEFAULT
// RUN: tuninglink-opt %s --split-input-file --pass-pipeline='builtin.module(tuninglink-materialize-specs{specs=%S/Inputs/user_spec.mlir},hal.executable(hal.executable.variant(builtin.module(iree-codegen-materialize-user-configs))))' | filecheck %s --check-prefixes=CHECK,USER
// RUN: tuninglink-opt %s --split-input-file --pass-pipeline='builtin.module(tuninglink-materialize-specs{specs=%S/Inputs/fill_spec.mlir},hal.executable(hal.executable.variant(builtin.module(iree-codegen-materialize-user-configs))))' | filecheck %s --check-prefixes=CHECK,LAST
// RUN: tuninglink-opt %s --split-input-file --pass-pipeline='builtin.module(tuninglink-materialize-specs{specs=%S/Inputs/fill_spec.mlir,%S/Inputs/user_spec.mlir default-specs=false},hal.executable(hal.executable.variant(builtin.module(iree-codegen-materialize-user-configs))))' | filecheck %s --check-prefixes=CHECK,BOTH
// RUN: tuninglink-opt %s --split-input-file --pass-pipeline='builtin.module(tuninglink-materialize-specs{spec-dir=%S/Inputs/spec_dir},hal.executable(hal.executable.variant(builtin.module(iree-codegen-materialize-user-configs))))' | filecheck %s --check-prefixes=CHECK,DIRECTORY

// A dispatch that carries a spec keeps it behind the specs that are given, and gets no default besides.
// RUN: tuninglink-opt %s --split-input-file --pass-pipeline='builtin.module(tuninglink-materialize-specs{specs=%S/Inputs/user_spec.mlir default-specs=false},tuninglink-materialize-specs{specs=%S/Inputs/fill_spec.mlir},hal.executable(hal.executable.variant(builtin.module(iree-codegen-materialize-user-configs))))' | filecheck %s --check-prefixes=CHECK,BOTH

// Twice is once.
// RUN: tuninglink-opt %s --split-input-file --tuninglink-materialize-specs=prune=false -o %t.once
// RUN: tuninglink-opt %t.once --split-input-file --tuninglink-materialize-specs=prune=false -o %t.twice
// RUN: cmp %t.once %t.twice
// RUN: tuninglink-opt %s --split-input-file --tuninglink-materialize-specs -o %t.once
// RUN: tuninglink-opt %t.once --split-input-file --tuninglink-materialize-specs -o %t.twice
// RUN: cmp %t.once %t.twice

// A dispatch for a SKU gets the default spec of the architecture, after the user's specs.

// CHECK-LABEL:    hal.executable private @sku
// CARRY:            iree_codegen.tuning_spec_mlirbc
// ALL:              iree_codegen.tuning_spec_mlirbc
// NONE-NOT:         iree_codegen.tuning_spec_mlirbc
// DEFAULT:          func.func @matmul{{.*}} attributes {translation_info =
// DEFAULT:          linalg.generic
// DEFAULT-SAME:       MFMA_F32_16x16x16_F16
// USER-NOT:         MFMA_F32_16x16x16_F16
// USER:             linalg.generic
// USER-SAME:          who = "user"
// LAST:             linalg.fill {who = "fill"}
// LAST:             linalg.generic
// LAST-SAME:          MFMA_F32_16x16x16_F16
// BOTH:             linalg.fill {who = "fill"}
// BOTH-NOT:         MFMA_F32_16x16x16_F16
// BOTH:             linalg.generic
// BOTH-SAME:          who = "user"
// DIRECTORY-NOT:    MFMA_F32_16x16x16_F16
// DIRECTORY:        linalg.generic
// DIRECTORY-SAME:     who = "cdna3"
#mi300x = #hal.executable.target<"rocm", "rocm-hsaco-fb", {
  iree_codegen.target_info = #iree_gpu.target<arch = "gfx942", features = "",
    wgp = <compute = fp32, storage = b32, subgroup = none, subgroup_size_choices = [64],
           max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024,
           max_workgroup_memory_bytes = 65536,
           max_workgroup_counts = [2147483647, 2147483647, 2147483647]>,
    chip = <wgp_count = 304, sku = "mi300x">>}>
hal.executable private @sku {
  hal.executable.variant public @rocm_hsaco_fb target(#mi300x) {
    builtin.module {
      func.func @matmul(%lhs: tensor<2048x5120xf16>, %rhs: tensor<1280x5120xf16>)
          -> tensor<2048x1280xf32> {
        %zero = arith.constant 0.0 : f32
        %empty = tensor.empty() : tensor<2048x1280xf32>
        %filled = linalg.fill ins(%zero : f32) outs(%empty : tensor<2048x1280xf32>)
          -> tensor<2048x1280xf32>
        %product = linalg.generic {
            indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>,
                             affine_map<(m, n, k) -> (m, n)>],
            iterator_types = ["parallel", "parallel", "reduction"]}
            ins(%lhs, %rhs : tensor<2048x5120xf16>, tensor<1280x5120xf16>)
            outs(%filled : tensor<2048x1280xf32>) {
        ^bb0(%a: f16, %b: f16, %sum: f32):
          %0 = arith.extf %a : f16 to f32
          %1 = arith.extf %b : f16 to f32
          %2 = arith.mulf %0, %1 : f32
          %3 = arith.addf %sum, %2 : f32
          linalg.yield %3 : f32
        } -> tensor<2048x1280xf32>
        return %product : tensor<2048x1280xf32>
      }
    }
  }
}

// -----

// A target without a default spec, without any description even, gets the user's specs.

// CHECK-LABEL:    hal.executable private @no_default
// CARRY-NOT:        iree_codegen.tuning_spec_mlirbc
// ALL:              iree_codegen.tuning_spec_mlirbc
// NONE-NOT:         iree_codegen.tuning_spec_mlirbc
// USER:             linalg.generic
// USER-SAME:          who = "user"
// LAST-NOT:         who =
// BOTH:             linalg.generic
// BOTH-SAME:          who = "user"
// DIRECTORY-NOT:    who =
hal.executable private @no_default {
  hal.executable.variant public @cuda_nvptx_fb target(<"cuda", "cuda-nvptx-fb">) {
    builtin.module {
      func.func @double(%a: tensor<4xf32>, %empty: tensor<4xf32>) -> tensor<4xf32> {
        %r = linalg.generic {
            indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
            iterator_types = ["parallel"]}
            ins(%a : tensor<4xf32>) outs(%empty : tensor<4xf32>) {
        ^bb0(%x: f32, %out: f32):
          %0 = arith.addf %x, %x : f32
          linalg.yield %0 : f32
        } -> tensor<4xf32>
        return %r : tensor<4xf32>
      }
    }
  }
}

// -----

// Each variant of an executable is a dispatch of its own; one whose code is in an object file has no module
// that could carry a spec.

// CHECK-LABEL:    hal.executable private @variants
// CHECK:            hal.executable.variant public @rocm
// CARRY:              iree_codegen.tuning_spec_mlirbc
// ALL:                iree_codegen.tuning_spec_mlirbc
// NONE-NOT:           iree_codegen.tuning_spec_mlirbc
// CHECK:            hal.executable.variant public @cpu
// CARRY-NOT:          iree_codegen.tuning_spec_mlirbc
// ALL:                iree_codegen.tuning_spec_mlirbc
// NONE-NOT:           iree_codegen.tuning_spec_mlirbc
// CHECK:            hal.executable.variant public @object
// CHECK-NOT:          iree_codegen.tuning_spec_mlirbc
hal.executable private @variants {
  hal.executable.variant public @rocm target(<"rocm", "rocm-hsaco-fb", {
      iree_codegen.target_info = #iree_gpu.target<arch = "gfx942", features = "",
        wgp = <compute = fp32, storage = b32, subgroup = none, subgroup_size_choices = [64],
               max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024,
               max_workgroup_memory_bytes = 65536,
               max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>) {
    builtin.module {
      func.func private @nothing()
    }
  }
  hal.executable.variant public @cpu target(<"llvm-cpu", "embedded-elf-x86_64", {
      cpu = "znver4", target_triple = "x86_64-unknown-unknown-eabi-elf"}>) {
    builtin.module {
      func.func private @nothing()
    }
  }
  hal.executable.variant public @object target(<"cuda", "cuda-nvptx-fb">)
      objects([#hal.executable.object<{path = "kernels.ptx"}>]) {
  }
}
