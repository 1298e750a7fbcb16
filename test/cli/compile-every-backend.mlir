// A spec takes effect on every backend, also by the compiler's own flag, which `iree-compile` reads for two of
// them only.

// RUN: %python %S/../support/elementwise_specs.py llvm-cpu mine > %t.llvm-cpu.mlir
// RUN: tuninglink compile %s --iree-hal-target-backends=llvm-cpu --iree-llvmcpu-target-cpu=generic --iree-codegen-tuning-spec-path=%t.llvm-cpu.mlir --compile-to=executable-configurations | filecheck %s --check-prefix=CPU
// CPU: translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>
// CPU: lowering_config = #iree_cpu.lowering_config<distribution = [8], vector_common_parallel = [4]>

// RUN: %python %S/../support/elementwise_specs.py hip mine > %t.rocm.mlir
// RUN: tuninglink compile %s --iree-hal-target-device=hip --iree-rocm-target=gfx942 --iree-codegen-tuning-spec-path=%t.rocm.mlir --compile-to=executable-configurations | filecheck %s --check-prefix=HIP
// HIP: translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64>
// HIP: lowering_config = #iree_gpu.lowering_config<{thread = [2], workgroup = [8]}>

// RUN: %python %S/../support/elementwise_specs.py cuda mine > %t.cuda.mlir
// RUN: tuninglink compile %s --iree-hal-target-device=cuda --iree-cuda-target=sm_80 --iree-codegen-tuning-spec-path=%t.cuda.mlir --compile-to=executable-configurations | filecheck %s --check-prefix=CUDA
// CUDA: translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [32, 1, 1] subgroup_size = 32>
// CUDA: lowering_config = #iree_gpu.lowering_config<{thread = [2], workgroup = [8]}>

// RUN: %python %S/../support/elementwise_specs.py vulkan mine > %t.vulkan.mlir
// RUN: tuninglink compile %s --iree-hal-target-device=vulkan --iree-codegen-tuning-spec-path=%t.vulkan.mlir --compile-to=executable-configurations | filecheck %s --check-prefix=SPIRV
// RUN: tuninglink compile %s --iree-hal-target-device=metal --iree-codegen-tuning-spec-path=%t.vulkan.mlir --compile-to=executable-configurations | filecheck %s --check-prefix=SPIRV
// SPIRV: translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.spirv_pipeline<BaseDistribute> workgroup_size = [16, 1, 1]>
// SPIRV: lowering_config = #iree_codegen.lowering_config<tile_sizes = {{\[\[}}16], [1]]>

// RUN: %python %S/../support/elementwise_specs.py vmvx mine > %t.vmvx.mlir
// RUN: tuninglink compile %s --iree-hal-target-backends=vmvx --iree-codegen-tuning-spec-path=%t.vmvx.mlir --compile-to=executable-configurations | filecheck %s --check-prefix=VMVX
// VMVX: translation_info = #iree_codegen.translation_info<pipeline = #iree_codegen.vmvx_pipeline>
// VMVX: lowering_config = #iree_cpu.lowering_config<distribution = [8]>

// A spec that is not there is an error, on backends that would not have read it as well.
// RUN: iree-compile %s --iree-hal-target-device=cuda --iree-cuda-target=sm_80 --iree-codegen-tuning-spec-path=%t.nowhere.mlir -o %t.vmfb
// RUN: rm %t.vmfb
// RUN: not tuninglink compile %s --iree-hal-target-device=cuda --iree-cuda-target=sm_80 --iree-codegen-tuning-spec-path=%t.nowhere.mlir -o %t.vmfb 2>&1 | filecheck %s --check-prefix=NOWHERE
// NOWHERE: error: cannot read the spec '{{.*}}.nowhere.mlir': no such file or directory
// RUN: not ls %t.vmfb

func.func @add(%a: tensor<16xf32>, %b: tensor<16xf32>) -> tensor<16xf32> {
  %sum = arith.addf %a, %b : tensor<16xf32>
  return %sum : tensor<16xf32>
}
