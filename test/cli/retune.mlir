// Verdicts about entries: flags make the compiler choose badly, which an entry corrects.

// RUN: rm -rf %t && mkdir -p %t
// RUN: tuninglink retune %s --jobs 1 -o %t/new.mlir --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host --iree-llvmcpu-distribution-size=1 --device local-sync --no-improve --trials 1 --database %t/tuning.db 2>%t/remarks | filecheck %s --check-prefix=TABLE
// TABLE: line{{.+}}what changed
// TABLE: kept{{.+}}match_fast{{.+}}compiler 3.5.0 -> {{.+}}; device a former one -> {{.+}}; default_us 1 us -> {{.+}} us
// TABLE: untouched{{.+}}match_elsewhere{{.+}}it is not for '{{.+}}': it is bound to others
// RUN: filecheck %s --input-file=%t/remarks --check-prefix=REMARK
// REMARK: retune.mlir:{{.+}}: remark: entry 'match_elsewhere' stays as it is: it is not for

// RUN: filecheck %s --input-file=%t/new.mlir --check-prefix=SPEC
// SPEC: @match_fast
// SPEC-SAME: tuninglink.provenance = {compiler = "{{[^"]+}}", date = "{{.+}}", default_us = {{.+}} : f64, device = "{{.+}}", driver = "local-sync{{.*}}", interval = [{{.+}}], source = "a test", target = "{{.+}}", tuned_us = {{.+}} : f64}
// SPEC: @match_elsewhere
// SPEC: foreach_match
// SPEC-NEXT: @match_fast -> @configure
// SPEC-NEXT: @match_elsewhere -> @configure

// What is in the database is not measured again.
// RUN: tuninglink retune %s --jobs 1 -o %t/again.mlir --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host --iree-llvmcpu-distribution-size=1 --device local-sync --no-improve --trials 1 --database %t/tuning.db --format json 2>%t/progress | filecheck %s --check-prefix=JSON
// JSON: "verdict": "kept"
// JSON: "standing": "faster"
// JSON: "source": "payload"
// JSON: "verdict": "untouched"
// RUN: filecheck %s --input-file=%t/progress --check-prefix=AGAIN
// AGAIN-NOT: comparing
// AGAIN: remark: entry 'match_elsewhere' stays as it is
// RUN: diff %t/new.mlir %t/again.mlir

// An entry that is slower goes, and the spec that is left does nothing.
// RUN: tuninglink retune %S/Inputs/retune_slow.mlir --jobs 1 -o %t/empty.mlir --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host --device local-sync --trials 1 -q | filecheck %s --check-prefix=SLOW
// SLOW: dropped{{.+}}match_slow{{.+}}it is slower than the compiler's choice on contraction 4x256x128
// RUN: filecheck %s --input-file=%t/empty.mlir --check-prefix=EMPTY
// EMPTY: module @entries
// EMPTY-NOT: foreach_match

// RUN: not tuninglink retune %s %s --iree-hal-target-backends=vmvx 2>&1 | filecheck %s --check-prefix=SEVERAL
// SEVERAL: error: several specs need a directory; name it with -o
// RUN: not tuninglink retune %s --iree-hal-target-device=cuda --iree-cuda-target=sm_80 --device local-sync 2>&1 | filecheck %s --check-prefix=DEVICE
// DEVICE: error: driver 'local-sync' does not run what 'cuda' compiles

module @entries attributes {transform.with_named_sequence, iree_codegen.tuning_spec_with_default_entrypoint} {
  transform.named_sequence @configure(%op: !transform.any_op {transform.readonly}, %configuration: !transform.any_param {transform.readonly}) {
    transform.annotate %op "compilation_info" = %configuration : !transform.any_op, !transform.any_param
    transform.yield
  }
  transform.named_sequence @match_fast(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param)
      attributes {tuninglink.provenance = {compiler = "3.5.0", device = "a former one", default_us = 1.0, source = "a test"}} {
    %batch, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f32, rhs_type = f32, output_type = f32,
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m, [4] : !transform.param<i64>
    transform.iree.match.dims_equal %n, [256] : !transform.param<i64>
    transform.iree.match.dims_equal %k, [256] : !transform.param<i64>
    %configuration = transform.param.constant #iree_codegen.compilation_info<
      lowering_config = #iree_cpu.lowering_config<distribution = [0, 128, 0], vector_common_parallel = [4, 16, 0], vector_reduction = [0, 0, 8]>,
      translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>> -> !transform.any_param
    transform.yield %op, %configuration : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_elsewhere(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param)
      attributes {tuninglink.targets = ["gfx942"]} {
    %batch, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f32, rhs_type = f32, output_type = f32,
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m, [8] : !transform.param<i64>
    %configuration = transform.param.constant #iree_codegen.compilation_info<
      lowering_config = #iree_cpu.lowering_config<distribution = [1, 1, 0], vector_common_parallel = [1, 1, 0], vector_reduction = [0, 0, 1]>,
      translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>> -> !transform.any_param
    transform.yield %op, %configuration : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @__kernel_config(%all: !transform.any_op {transform.consumed}) -> !transform.any_op
      attributes {iree_codegen.tuning_spec_entrypoint} {
    %done = transform.foreach_match in %all
      @match_fast -> @configure,
      @match_elsewhere -> @configure : (!transform.any_op) -> !transform.any_op
    transform.yield %done : !transform.any_op
  }
}
