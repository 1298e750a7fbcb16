// The entries for attention of the library for an H200: each applies to its own shape, and to none that differs in one
// size or in the element type.
//
// RUN: tuninglink explain %s --spec library:models-h200 --iree-hal-target-device=cuda --iree-cuda-target=sm_80 | filecheck %s
//
// CHECK-DAG: @own_shape_dispatch_0{{.*}} tuned
// CHECK-DAG: @own_shape_dispatch_0{{.*}} entry {{ *}} @match_attention_12x384x64_f16
// CHECK-DAG: @other_batch_dispatch_0{{.*}} nearest {{ *}} @match_attention_12x384x64_f16 {{.*}}: batch: 13, the entry has 12
// CHECK-DAG: @other_rows_dispatch_0{{.*}} nearest {{ *}} @match_attention_12x384x64_f16 {{.*}}: m: 320, the entry has 384
// CHECK-DAG: @other_keys_dispatch_0{{.*}} nearest {{ *}} @match_attention_12x384x64_f16 {{.*}}: k2: 320, the entry has 384
// CHECK-DAG: @other_type_dispatch_0{{.*}} nearest {{ *}} @match_attention_12x384x64_f16 {{.*}}: query type: bf16, the entry has f16
// CHECK: 1 of 5 dispatches

func.func @own_shape(%query: tensor<12x384x64xf16>, %key: tensor<12x384x64xf16>, %value: tensor<12x384x64xf16>) -> tensor<12x384x64xf16> {
  %scale = arith.constant 0.125 : f16
  %empty = tensor.empty() : tensor<12x384x64xf16>
  %result = iree_linalg_ext.attention <{indexing_maps = [
      affine_map<(b, m, k1, k2, n) -> (b, m, k1)>, affine_map<(b, m, k1, k2, n) -> (b, k2, k1)>,
      affine_map<(b, m, k1, k2, n) -> (b, k2, n)>, affine_map<(b, m, k1, k2, n) -> ()>,
      affine_map<(b, m, k1, k2, n) -> (b, m, n)>]}>
      ins(%query, %key, %value, %scale : tensor<12x384x64xf16>, tensor<12x384x64xf16>, tensor<12x384x64xf16>, f16)
      outs(%empty : tensor<12x384x64xf16>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<12x384x64xf16>
  return %result : tensor<12x384x64xf16>
}

func.func @other_batch(%query: tensor<13x384x64xf16>, %key: tensor<13x384x64xf16>, %value: tensor<13x384x64xf16>) -> tensor<13x384x64xf16> {
  %scale = arith.constant 0.125 : f16
  %empty = tensor.empty() : tensor<13x384x64xf16>
  %result = iree_linalg_ext.attention <{indexing_maps = [
      affine_map<(b, m, k1, k2, n) -> (b, m, k1)>, affine_map<(b, m, k1, k2, n) -> (b, k2, k1)>,
      affine_map<(b, m, k1, k2, n) -> (b, k2, n)>, affine_map<(b, m, k1, k2, n) -> ()>,
      affine_map<(b, m, k1, k2, n) -> (b, m, n)>]}>
      ins(%query, %key, %value, %scale : tensor<13x384x64xf16>, tensor<13x384x64xf16>, tensor<13x384x64xf16>, f16)
      outs(%empty : tensor<13x384x64xf16>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<13x384x64xf16>
  return %result : tensor<13x384x64xf16>
}

func.func @other_rows(%query: tensor<12x320x64xf16>, %key: tensor<12x384x64xf16>, %value: tensor<12x384x64xf16>) -> tensor<12x320x64xf16> {
  %scale = arith.constant 0.125 : f16
  %empty = tensor.empty() : tensor<12x320x64xf16>
  %result = iree_linalg_ext.attention <{indexing_maps = [
      affine_map<(b, m, k1, k2, n) -> (b, m, k1)>, affine_map<(b, m, k1, k2, n) -> (b, k2, k1)>,
      affine_map<(b, m, k1, k2, n) -> (b, k2, n)>, affine_map<(b, m, k1, k2, n) -> ()>,
      affine_map<(b, m, k1, k2, n) -> (b, m, n)>]}>
      ins(%query, %key, %value, %scale : tensor<12x320x64xf16>, tensor<12x384x64xf16>, tensor<12x384x64xf16>, f16)
      outs(%empty : tensor<12x320x64xf16>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<12x320x64xf16>
  return %result : tensor<12x320x64xf16>
}

func.func @other_keys(%query: tensor<12x384x64xf16>, %key: tensor<12x320x64xf16>, %value: tensor<12x320x64xf16>) -> tensor<12x384x64xf16> {
  %scale = arith.constant 0.125 : f16
  %empty = tensor.empty() : tensor<12x384x64xf16>
  %result = iree_linalg_ext.attention <{indexing_maps = [
      affine_map<(b, m, k1, k2, n) -> (b, m, k1)>, affine_map<(b, m, k1, k2, n) -> (b, k2, k1)>,
      affine_map<(b, m, k1, k2, n) -> (b, k2, n)>, affine_map<(b, m, k1, k2, n) -> ()>,
      affine_map<(b, m, k1, k2, n) -> (b, m, n)>]}>
      ins(%query, %key, %value, %scale : tensor<12x384x64xf16>, tensor<12x320x64xf16>, tensor<12x320x64xf16>, f16)
      outs(%empty : tensor<12x384x64xf16>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<12x384x64xf16>
  return %result : tensor<12x384x64xf16>
}

func.func @other_type(%query: tensor<12x384x64xbf16>, %key: tensor<12x384x64xbf16>, %value: tensor<12x384x64xbf16>) -> tensor<12x384x64xbf16> {
  %scale = arith.constant 0.125 : bf16
  %empty = tensor.empty() : tensor<12x384x64xbf16>
  %result = iree_linalg_ext.attention <{indexing_maps = [
      affine_map<(b, m, k1, k2, n) -> (b, m, k1)>, affine_map<(b, m, k1, k2, n) -> (b, k2, k1)>,
      affine_map<(b, m, k1, k2, n) -> (b, k2, n)>, affine_map<(b, m, k1, k2, n) -> ()>,
      affine_map<(b, m, k1, k2, n) -> (b, m, n)>]}>
      ins(%query, %key, %value, %scale : tensor<12x384x64xbf16>, tensor<12x384x64xbf16>, tensor<12x384x64xbf16>, bf16)
      outs(%empty : tensor<12x384x64xbf16>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<12x384x64xbf16>
  return %result : tensor<12x384x64xbf16>
}
