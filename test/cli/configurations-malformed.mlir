// Knobs of a wrong kind, of another pipeline, or for another target are said in words, by `check` and by `explain`,
// which reports what `compile` does.

// RUN: rm -rf %t && mkdir -p %t
// RUN: cp %S/Inputs/mma_spec.mlir %t/right.mlir
// RUN: sed 's/workgroup = .64, 64, 0./workgroup = "64"/; s/@match_matmul/@string/' %t/right.mlir > %t/string.mlir
// RUN: sed 's/workgroup = .64, 64, 0./workgroup = [-64, 64, 0]/; s/@match_matmul/@negative/' %t/right.mlir > %t/negative.mlir
// RUN: sed 's/#iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>/"MFMA_F32_16x16x16_F16"/; s/@match_matmul/@kind/' %t/right.mlir > %t/kind.mlir
// RUN: sed 's/promote_operands = .0, 1./promote_operands = [0, 5]/; s/@match_matmul/@operand/' %t/right.mlir > %t/operand.mlir
// RUN: sed 's/promote_operands = .0, 1./waves = 2/; s/@match_matmul/@unknown/' %t/right.mlir > %t/unknown.mlir
// RUN: sed 's/pipeline<TileAndFuse>/pipeline<VectorDistribute>/; s/@match_matmul/@pipeline/' %t/right.mlir > %t/pipeline.mlir
// RUN: sed 's/subgroup = .2, 2, 0./subgroup_basis = [[2, 2], [0, 1]]/; s/@match_matmul/@basis/' %t/right.mlir > %t/basis.mlir
// RUN: sed 's/subgroup = .2, 2, 0./subgroup_basis = [[2, 2], [0, 1]]/; s/pipeline<TileAndFuse>/pipeline<VectorDistribute>/; s/@match_matmul/@short/' %t/right.mlir > %t/short.mlir
// RUN: sed 's/subgroup = .2, 2, 0./lane_basis = [[2, 2, 1], [0, 1, 3]]/; s/pipeline<TileAndFuse>/pipeline<VectorDistribute>/; s/@match_matmul/@index/' %t/right.mlir > %t/index.mlir
// RUN: sed 's/workgroup_size = .256, 1, 1.//; s/@match_matmul/@missing/' %t/right.mlir > %t/missing.mlir
// RUN: sed 's/workgroup_size = .256, 1, 1./workgroup_size = [64, 64, 1]/; s/@match_matmul/@many/' %t/right.mlir > %t/many.mlir
// RUN: sed 's/subgroup_size = 64/subgroup_size = 48/; s/@match_matmul/@subgroup/' %t/right.mlir > %t/subgroup.mlir
// RUN: sed 's/subgroup_size = 64/subgroup_size = 64, {gpu_pipeline_option = 2}/; s/@match_matmul/@options/' %t/right.mlir > %t/options.mlir
// RUN: sed 's/subgroup_size = 64/subgroup_size = 64, {llvm_func_attrs = {"amdgpu-wave-per-eu" = "2"}}/; s/@match_matmul/@waves/' %t/right.mlir > %t/waves.mlir
// RUN: sed 's/subgroup_size = 64/subgroup_size = 64, {llvm_func_attrs = {"amdgpu-waves-per-eu" = "two"}}/; s/@match_matmul/@number/' %t/right.mlir > %t/number.mlir
// RUN: sed 's/subgroup_size = 64/subgroup_size = 64, {iree_codegen.denormal_fp_math = #iree_codegen.denormal_fp_math<"preserve-sign">}/; s/@match_matmul/@denormals/' %t/right.mlir > %t/denormals.mlir
// RUN: sed 's/"compilation_info"/"lowering_config"/; s/@match_matmul/@annotation/' %t/right.mlir > %t/annotation.mlir

// RUN: not tuninglink check --all --target gfx942 %t/string.mlir %t/negative.mlir %t/kind.mlir %t/operand.mlir %t/unknown.mlir %t/pipeline.mlir %t/basis.mlir %t/short.mlir %t/index.mlir %t/missing.mlir %t/many.mlir %t/subgroup.mlir %t/options.mlir %t/waves.mlir %t/number.mlir %t/denormals.mlir %t/annotation.mlir 2>&1 | filecheck %s
// RUN: tuninglink link %t/string.mlir %t/negative.mlir %t/kind.mlir %t/operand.mlir %t/unknown.mlir %t/pipeline.mlir %t/basis.mlir %t/short.mlir %t/index.mlir %t/missing.mlir %t/many.mlir %t/subgroup.mlir %t/options.mlir %t/waves.mlir %t/number.mlir %t/denormals.mlir -o %t/all.mlir
// RUN: tuninglink explain %s --spec %t/all.mlir --no-default-specs --iree-hal-target-device=hip --iree-rocm-target=gfx942 2>&1 | filecheck %s --check-prefixes=CHECK
// CHECK-DAG: entry 'string': 'workgroup' is "64", which code generation takes as missing
// CHECK-DAG: note: it is a list of integers, none of them negative, with one for each loop
// CHECK-DAG: entry 'negative': 'workgroup' is [-64, 64, 0], and none may be negative
// CHECK-DAG: entry 'kind': 'mma_kind' is "MFMA_F32_16x16x16_F16", which code generation does not read
// CHECK-DAG: note: it is an intrinsic, such as #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>
// CHECK-DAG: entry 'operand': 'promote_operands' names operand 5, which does not exist
// CHECK-DAG: entry 'unknown': code generation reads no 'waves'
// CHECK-DAG: note: it reads workgroup, reduction, thread,
// CHECK-DAG: entry 'pipeline': VectorDistribute reads no 'subgroup', which is a knob of TileAndFuse
// CHECK-DAG: note: VectorDistribute reads 'subgroup_basis' instead
// CHECK-DAG: entry 'basis': TileAndFuse reads no 'subgroup_basis', which is a knob of VectorDistribute
// CHECK-DAG: entry 'short': 'subgroup_basis' maps 2 loops for the 3 loops that the matcher requires
// CHECK-DAG: entry 'index': 'lane_basis' is {{.*}}, whose second list names more than its 3 counts
// CHECK-DAG: entry 'missing': its 'translation_info' has no 'workgroup_size'
// CHECK-DAG: entry 'many': a workgroup of 4,096 threads is more than GPUs run
// CHECK-DAG: entry 'subgroup': a subgroup of gfx942 has 64 threads, not 48
// CHECK-DAG: entry 'options': code generation reads no 'gpu_pipeline_option'; did you mean 'gpu_pipeline_options'?
// CHECK-DAG: entry 'waves': LLVM reads no function attribute 'amdgpu-wave-per-eu'; did you mean 'amdgpu-waves-per-eu'?
// CHECK-DAG: entry 'number': 'amdgpu-waves-per-eu' is "two", which LLVM does not read
// CHECK-DAG: note: it is a least number, or a least and a greatest one, such as "2" or "2,4"
// CHECK-DAG: entry 'denormals': code generation reads no 'iree_codegen.denormal_fp_math'; did you mean 'iree_codegen.denormal_fp_math_f32'?

// RUN: tuninglink explain %s --spec %t/annotation.mlir --no-default-specs --iree-hal-target-device=hip --iree-rocm-target=gfx942 2>&1 | filecheck %s --check-prefix=ANNOTATION
// ANNOTATION: annotation.mlir:{{[0-9]+}}:{{[0-9]+}}: warning: entry 'annotation': 'lowering_config' is set to a '#iree_codegen.compilation_info', which code generation does not read
// ANNOTATION: note: set it as 'compilation_info'

// Tiles that are not lists of integers are missing for the compiler, which may prove that they are invalid.
// RUN: sed 's/reduction = .0, 0, 4./reduction = ["0", "0", "4"]/; s/workgroup = .64, 64, 0./workgroup = [128, 128, 0]/; s/@match_matmul/@strings/' %t/right.mlir > %t/strings.mlir
// RUN: sed 's/subgroup = .2, 2, 0./subgroup = [2.0, 2.0, 0.0]/; s/@match_matmul/@floats/' %t/right.mlir > %t/floats.mlir
// RUN: sed 's/subgroup = .2, 2, 0./subgroup = 2/; s/@match_matmul/@scalar/' %t/right.mlir > %t/scalar.mlir
// RUN: sed 's/subgroup = .2, 2, 0./padding = [64, 64], subgroup = [2, 2, 0]/; s/@match_matmul/@padding/' %t/right.mlir > %t/padding.mlir
// RUN: sed 's/workgroup = .64, 64, 0./workgroup = array<i64: 64, 64>/; s/reduction = .0, 0, 4./reduction = array<i64: 4>/; s/@match_matmul/@arrays/' %t/right.mlir > %t/arrays.mlir
// RUN: not tuninglink check --all --target gfx942 %t/strings.mlir %t/floats.mlir %t/scalar.mlir %t/padding.mlir %t/arrays.mlir 2>&1 | filecheck %s --check-prefix=LISTS
// LISTS-DAG: strings.mlir:{{[0-9]+}}:{{[0-9]+}}: warning: entry 'strings': 'reduction' is ["0", "0", "4"], which code generation takes as missing: "0" is not an integer
// LISTS-DAG: strings.mlir:{{[0-9]+}}:{{[0-9]+}}: note: it is a list of integers, none of them negative, such as [0, 0, 4]
// LISTS-DAG: strings.mlir:{{[0-9]+}}:{{[0-9]+}}: error: entry 'strings' has an invalid configuration: shared memory must suffice
// LISTS-DAG: floats.mlir:{{[0-9]+}}:{{[0-9]+}}: note: it is a list of integers, none of them negative, such as [2, 2, 0]
// LISTS-DAG: floats.mlir:{{[0-9]+}}:{{[0-9]+}}: error: entry 'floats': TileAndFuse needs 'subgroup' with 'mma_kind', and it is missing
// LISTS-DAG: scalar.mlir:{{[0-9]+}}:{{[0-9]+}}: error: entry 'scalar': TileAndFuse needs 'subgroup' with 'mma_kind', and it is missing
// LISTS-DAG: padding.mlir:{{[0-9]+}}:{{[0-9]+}}: warning: entry 'padding': 'padding' has 2 sizes for the 3 loops that the matcher requires
// LISTS-DAG: arrays.mlir:{{[0-9]+}}:{{[0-9]+}}: warning: entry 'arrays': 'workgroup' is array<i64: 64, 64>, which code generation takes as missing
// LISTS-DAG: arrays.mlir:{{[0-9]+}}:{{[0-9]+}}: note: it is a list of integers, none of them negative, such as [64, 64, 0]
// LISTS-DAG: arrays.mlir:{{[0-9]+}}:{{[0-9]+}}: note: it is a list of integers, none of them negative, such as [0, 0, 4]
// LISTS-DAG: padding.mlir:{{[0-9]+}}:{{[0-9]+}}: note: there is one size for each loop, that of its tile

// Counts for two loops, loads that the target does not have, and the place of an intrinsic for other types.
// RUN: sed 's/subgroup = .2, 2, 0./subgroup_basis = [[2, 2, 1], [0, 1, 1]]/; s/pipeline<TileAndFuse>/pipeline<VectorDistribute>/; s/@match_matmul/@shared/' %t/right.mlir > %t/shared.mlir
// RUN: sed 's/promote_operands = .0, 1./promote_operands = [0, 1], promotion_types = [#iree_gpu.use_global_load_dma, #iree_gpu.use_global_load_dma]/; s/@match_matmul/@loads/' %t/right.mlir > %t/loads.mlir
// RUN: sed 's/MFMA_F32_16x16x16_F16/MFMA_I32_16x16x32_I8/; s/@match_matmul/@types/' %t/right.mlir > %t/types.mlir
// RUN: not tuninglink check --all --target gfx942 %t/shared.mlir %t/loads.mlir %t/types.mlir 2>&1 | filecheck %s --check-prefix=PARTS
// PARTS-DAG: shared.mlir:{{[0-9]+}}:{{[0-9]+}}: error: entry 'shared': 'subgroup_basis' is {{.*}}: two loops cannot share its count 2
// PARTS-DAG: shared.mlir:{{[0-9]+}}:{{[0-9]+}}: note: a loop that no subgroups share has a count of 1, such as {{\[\[}}2, 2, 1, 1], [0, 1, 3]]
// PARTS-DAG: loads.mlir:{{[0-9]+}}:{{[0-9]+}}: warning: entry 'loads': 'use_global_load_dma' has no effect on gfx942, which does not load straight into shared memory
// PARTS-DAG: types.mlir:18:{{[0-9]+}}: error: entry 'types' has an invalid configuration: 'mma_kind' is {{.*}}, which is for i8xi8xi32, not f16xf16xf32 as #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16> is

// Words that the parser does not know, with those that are meant.
// RUN: sed 's/MFMA_F32_16x16x16_F16/MFMA_F32_16x16x17_F16/' %t/right.mlir > %t/word.mlir
// RUN: not tuninglink check %t/word.mlir 2>&1 | filecheck %s --check-prefix=WORD
// WORD: word.mlir:{{[0-9]+}}:{{[0-9]+}}: note: unknown name 'MFMA_F32_16x16x17_F16'; did you mean 'MFMA_F32_16x16x16_F16'?
// RUN: sed 's/subgroup_size = 64/subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_stages = 2>}/' %t/right.mlir > %t/option.mlir
// RUN: not tuninglink check %t/option.mlir 2>&1 | filecheck %s --check-prefix=OPTION
// OPTION: option.mlir:{{[0-9]+}}:{{[0-9]+}}: note: unknown name 'prefetch_stages'; did you mean 'prefetch_num_stages'?

func.func @matmul(%a: tensor<128x256xf16>, %b: tensor<256x512xf16>) -> tensor<128x512xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<128x512xf32>
  %filled = linalg.fill ins(%zero : f32) outs(%empty : tensor<128x512xf32>) -> tensor<128x512xf32>
  %product = linalg.matmul ins(%a, %b : tensor<128x256xf16>, tensor<256x512xf16>)
      outs(%filled : tensor<128x512xf32>) -> tensor<128x512xf32>
  return %product : tensor<128x512xf32>
}
