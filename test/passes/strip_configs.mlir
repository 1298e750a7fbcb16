// REQUIRES: iree-3.13
// RUN: tuninglink-opt --split-input-file --tuninglink-strip-configs %s | filecheck %s
// RUN: tuninglink-opt --split-input-file --pass-pipeline='builtin.module(tuninglink-strip-configs{keep=lowering-config,root-op,decomposition-config,embedded-spec,constraints})' %s \
// RUN:   | filecheck %s --check-prefix=KEEP
// RUN: tuninglink-opt --split-input-file --pass-pipeline='builtin.module(tuninglink-strip-configs{markers=tuned_by_hand})' %s \
// RUN:   | filecheck %s --check-prefix=MARKERS

// Configurations go from every kind of operation, also where the compiler's own pass leaves them.

// CHECK-LABEL: func.func @operations(
// CHECK-SAME:    -> tensor<8x8xf32> {
// CHECK:         linalg.pack %{{.*}} into %{{[a-z0-9_]+}} : tensor<128x256xf32>
// CHECK:         linalg.matmul ins(
// CHECK:         tensor.pad
// CHECK:         } : tensor<4x4xf32> to tensor<8x8xf32>
// CHECK:         memref.load %{{.*}}[] : memref<f32>
// CHECK-NOT:     lowering_config
// CHECK-NOT:     root_op

// KEEP-LABEL:  func.func @operations(
// KEEP-SAME:     -> tensor<8x8xf32> {
// KEEP:          linalg.pack {{.*}} {lowering_config = #{{[a-z_]+}}, root_op = #iree_codegen.root_op<set = 0>}
// KEEP:          linalg.matmul {lowering_config = #{{[a-z_]+}}} ins(
// KEEP:          } : tensor<4x4xf32> to tensor<8x8xf32>
// KEEP:          memref.load %{{.*}}[] : memref<f32>

// MARKERS-LABEL: func.func @operations(
// MARKERS:       tensor.pad
// MARKERS:       } {__tuning_spec_applied__} : tensor<4x4xf32> to tensor<8x8xf32>
#config = #iree_codegen.lowering_config<tile_sizes = [[128, 256], [16, 16]]>
#translation = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline workgroup_size = [16, 8, 1] subgroup_size = 64>
#compilation = #iree_codegen.compilation_info<lowering_config = #config, translation_info = #translation>
func.func @operations(%a: tensor<128x256xf32>, %d: tensor<8x16x16x16xf32>, %b: tensor<4x4xf32>, %m: memref<f32>) -> tensor<8x8xf32>
    attributes {translation_info = #translation} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.pack %a inner_dims_pos = [0, 1] inner_tiles = [16, 16] into %d
      {lowering_config = #config, root_op = #iree_codegen.root_op<set = 0>} : tensor<128x256xf32> -> tensor<8x16x16x16xf32>
  %1 = linalg.matmul {lowering_config = #config} ins(%b, %b : tensor<4x4xf32>, tensor<4x4xf32>) outs(%b : tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = tensor.pad %1 low[2, 2] high[2, 2] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } {compilation_info = #compilation, __tuning_spec_applied__, tuned_by_hand} : tensor<4x4xf32> to tensor<8x8xf32>
  %3 = memref.load %m[] {compilation_info = #compilation} : memref<f32>
  return %2 : tensor<8x8xf32>
}

// -----

// Of a decomposition_config only what configures the two matmuls goes, and the dictionary with it if that was
// all. The same holds for dictionaries elsewhere, at any depth.

// CHECK-LABEL: func.func @dictionaries(
// CHECK:         arith.addi %arg0, %arg0 {decomposition_config = {use_exp2 = false}}
// CHECK-NEXT:    {{.*}}arith.addi %arg0, %arg0 :
// CHECK-NEXT:    {{.*}}arith.addi %arg0, %arg0 {empty = {}, nested = {deeper = [{kept = 1 : i64}, {}, {}]}} :
// CHECK-NEXT:    {{.*}}arith.addi %arg0, %arg0 {lowering_config_of = {qk_attrs = 1 : i64}} :

// KEEP-LABEL:  func.func @dictionaries(
// KEEP:          arith.addi %arg0, %arg0 {decomposition_config = {pv_attrs = {lowering_config = #{{[a-z_]+}}}, qk_attrs = {}, use_exp2 = false}}
// KEEP-NEXT:     {{.*}}arith.addi %arg0, %arg0 {decomposition_config = {qk_attrs = {lowering_config = #{{[a-z_]+}}}}} :
// KEEP-NEXT:     {{.*}}arith.addi %arg0, %arg0 {empty = {}, nested = {deeper = [{kept = 1 : i64, lowering_config = #{{[a-z_]+}}}, {}, {}], root_op = #iree_codegen.root_op<set = 3>}} :
#config = #iree_codegen.lowering_config<tile_sizes = [[128, 256], [16, 16]]>
#translation = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline>
func.func @dictionaries(%x: i32) {
  %1 = arith.addi %x, %x {decomposition_config = {qk_attrs = {}, pv_attrs = {lowering_config = #config}, use_exp2 = false}} : i32
  %2 = arith.addi %x, %x {decomposition_config = {qk_attrs = {lowering_config = #config}}} : i32
  %3 = arith.addi %x, %x {empty = {}, nested = {deeper = [{kept = 1 : i64, lowering_config = #config}, {translation_info = #translation}, {}], root_op = #iree_codegen.root_op<set = 3>}} : i32
  %4 = arith.addi %x, %x {lowering_config_of = {qk_attrs = 1 : i64}} : i32
  return
}

// -----

// An attribute that belongs to the operation is removed like any other.

// CHECK-LABEL: func.func @inherent(
// CHECK:         iree_linalg_ext.online_attention
// CHECK-NOT:     decomposition_config
// CHECK:         return
func.func @inherent(%q: tensor<4x64x64xf16>, %k: tensor<4x128x64xf16>, %s: f16, %o: tensor<4x64x64xf32>, %r: tensor<4x64xf32>) -> tensor<4x64x64xf32> {
  %0:3 = iree_linalg_ext.online_attention <{
      indexing_maps = [affine_map<(b, m, n, k1, k2) -> (b, m, k1)>, affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>,
                       affine_map<(b, m, n, k1, k2) -> (b, k2, n)>, affine_map<(b, m, n, k1, k2) -> ()>,
                       affine_map<(b, m, n, k1, k2) -> (b, m, n)>, affine_map<(b, m, n, k1, k2) -> (b, m)>,
                       affine_map<(b, m, n, k1, k2) -> (b, m)>],
      decomposition_config = {pv_attrs = {lowering_config = #iree_gpu.lowering_config<{promote_operands = [1]}>}}}>
      {lowering_config = #iree_gpu.lowering_config<{workgroup = [1, 64, 0, 0, 0]}>}
      ins(%q, %k, %k, %s : tensor<4x64x64xf16>, tensor<4x128x64xf16>, tensor<4x128x64xf16>, f16)
      outs(%o, %r, %r : tensor<4x64x64xf32>, tensor<4x64xf32>, tensor<4x64xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<4x64x64xf32>, tensor<4x64xf32>, tensor<4x64xf32>
  return %0#0 : tensor<4x64x64xf32>
}

// -----

// In executables: exports, nested modules, embedded specs wherever they are. What the export itself says about
// its workgroups is not a choice of the compiler's.

// CHECK-LABEL: hal.executable private @executable {
// CHECK-NEXT:    hal.executable.variant public @vmvx target(
// CHECK-NEXT:      hal.executable.export public @entry ordinal(0) layout({{.*}}) <workgroup_size = [64 : index, 1 : index, 1 : index]>{{$}}
// CHECK-NEXT:      builtin.module {
// CHECK-NEXT:        func.func @entry() {
// CHECK-NEXT:          return
// CHECK:             iree_codegen.dispatch_config @entry {

// KEEP-LABEL:  hal.executable private @executable attributes {iree_codegen.tuning_spec_mlirbc = dense<[1, 2]> : vector<2xi8>} {
// KEEP:            builtin.module attributes {iree_codegen.tuning_spec_mlirbc = dense<3> : vector<1xi8>} {
hal.executable private @executable attributes {iree_codegen.tuning_spec_mlirbc = dense<[1, 2]> : vector<2xi8>} {
  hal.executable.variant public @vmvx target(<"vmvx", "vmvx-bytecode-fb">) {
    hal.executable.export public @entry ordinal(0) layout(#hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer>]>)
        <workgroup_size = [64 : index, 1 : index, 1 : index]> attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline>}
    builtin.module attributes {iree_codegen.tuning_spec_mlirbc = dense<3> : vector<1xi8>} {
      func.func @entry() attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline>} {
        return
      }
      iree_codegen.dispatch_config @entry {
        %c1 = arith.constant 1 : index
        iree_codegen.yield %c1, %c1, %c1 : index, index, index
      }
    }
  }
}

// -----

// Constraints go with all that is in them; those that are kept say for which set they are.

// CHECK-LABEL: func.func @constraints(
// CHECK-NOT:     smt
// CHECK:         return

// KEEP-LABEL:  func.func @constraints(
// KEEP:          iree_codegen.smt.constraints target = <set = 0>
// KEEP:          smt.eq
func.func @constraints(%a: tensor<16xf32>) {
  %c16 = arith.constant 16 : index
  iree_codegen.smt.constraints target = <set = 0>, pipeline = #iree_gpu.pipeline<VectorDistribute>,
      knobs = {workgroup = [#iree_codegen.smt.int_knob<"workgroup[0]">]} dims(%c16) {
  ^bb0(%dim: !smt.int):
    %wg = iree_codegen.smt.knob "workgroup[0]" : !smt.int
    %equal = smt.eq %dim, %wg : !smt.int
    iree_codegen.smt.assert %equal, "one workgroup" : !smt.bool
  }
  return
}

// -----

// A ukernel goes with its code, a binary or a function. Code that stands elsewhere, or has a caller, stays.

// CHECK-LABEL: func.func @ukernels(
// CHECK:         {{.*}}arith.addi %arg0, %arg0 {kept} :
// CHECK-NEXT:    {{.*}}arith.addi %arg0, %arg0 {hal.executable.objects = []} :
// CHECK-NEXT:    {{.*}}arith.addi %arg0, %arg0 :
// CHECK-NEXT:    {{.*}}arith.addi %arg0, %arg0 :
// CHECK-NEXT:    util.call @called()
// CHECK-NOT:   util.func private @uncalled
// CHECK:       util.func private @called
// CHECK:       util.func private @argmax
func.func @ukernels(%x: i32) {
  %1 = arith.addi %x, %x {kept, hal.executable.objects = [], iree_codegen.ukernel = #iree_codegen.ukernel_descriptor<"argmax", bitcode>} : i32
  %2 = arith.addi %x, %x {hal.executable.objects = []} : i32
  %3 = arith.addi %x, %x {iree_codegen.ukernel = #iree_codegen.ukernel_descriptor<"uncalled", tensor>} : i32
  %4 = arith.addi %x, %x {iree_codegen.ukernel = #iree_codegen.ukernel_descriptor<"called", tensor>} : i32
  util.call @called() : () -> ()
  return
}
util.func private @uncalled() attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline>} {
  util.return
}
util.func private @called() {
  util.return
}
util.func private @argmax() {
  util.return
}

// -----

// A spec beside the program is not applied yet: its matchers and actions stay as they are.

// CHECK-LABEL: func.func @payload() {
// CHECK:       transform.param.constant #{{[a-z_]+}} ->
// CHECK:       linalg.matmul {lowering_config = #{{[a-z_]+}}}
module attributes {transform.with_named_sequence} {
  func.func @payload() attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline>} {
    return
  }
  transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) {
    %config = transform.param.constant #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline> -> !transform.any_param
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {
    ^bb0(%lhs: tensor<16x16xf32>, %rhs: tensor<16x16xf32>, %out: tensor<16x16xf32>):
      %0 = linalg.matmul {lowering_config = #iree_codegen.lowering_config<tile_sizes = [[1]]>}
          ins(%lhs, %rhs : tensor<16x16xf32>, tensor<16x16xf32>) outs(%out : tensor<16x16xf32>) -> tensor<16x16xf32>
    } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
    transform.yield %op, %config : !transform.any_op, !transform.any_param
  }
}

// -----

// Nothing to remove: nothing changes.

// CHECK-LABEL: func.func @plain(%arg0: tensor<4xf32> {iree.abi.output = 0 : index}) -> tensor<4xf32> attributes {some = {other = "attribute"}} {
func.func @plain(%arg0: tensor<4xf32> {iree.abi.output = 0 : index}) -> tensor<4xf32> attributes {some = {other = "attribute"}} {
  return %arg0 : tensor<4xf32>
}
