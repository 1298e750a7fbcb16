// `tuninglink init --suggest` writes configurations that the estimate expects to be fast, without a device.

// RUN: rm -rf %t && mkdir -p %t
// RUN: tuninglink init %s --suggest 2 --iree-hal-target-device=cuda --iree-cuda-target=sm_80 -o %t/two 2>%t/left-out
// RUN: filecheck %s --check-prefix=OUT --input-file=%t/left-out
// OUT: remark: no configuration for @add{{.*}}: it only computes element by element or moves data; name it with --dispatch
// RUN: test ! -e %t/two/suggestion-3.mlir
// RUN: not cmp %t/two/suggestion-1.mlir %t/two/suggestion-2.mlir
// RUN: tuninglink compile %s --spec %t/two/suggestion-2.mlir --explain --iree-hal-target-device=cuda --iree-cuda-target=sm_80 -o /dev/null 2>&1 | filecheck %s --check-prefix=TAKEN
// TAKEN: match_product_dispatch_0

// RUN: not tuninglink init %s --suggest 1 --pipeline Distribut --iree-hal-target-device=cuda --iree-cuda-target=sm_80 2>&1 | filecheck %s --check-prefix=WRONG
// WRONG: error: none of its spaces has pipeline Distribut; the spaces have {{.*}}TileAndFuse, VectorDistribute

// RUN: tuninglink init %s --suggest 1 --dispatch product --pipeline VectorDistribute --knob workgroup[1]=96 --knob prefetch_num_stages=2 --iree-hal-target-device=cuda --iree-cuda-target=sm_80 | filecheck %s --check-prefix=FIXED
// The former name of --knob, and the former names of knobs, are read.
// RUN: tuninglink init %s --suggest 1 --dispatch product --pipeline VectorDistribute --fix wg_1=96 --iree-hal-target-device=cuda --iree-cuda-target=sm_80 2>&1 | filecheck %s --check-prefix=FORMER
// FORMER: remark: '--fix' is now '--knob'; write --knob wg_1=96
// FORMER: workgroup = [{{[0-9]+}}, 96, 0]
// RUN: not tuninglink init %s --suggest 1 --knob workgroup[1]=97 --iree-hal-target-device=cuda --iree-cuda-target=sm_80 2>&1 | filecheck %s --check-prefix=VALUE
// VALUE: error: knob 'workgroup[1]' cannot be 97
// VALUE-NEXT: note: possible values: {{.*}}96
// FIXED: pipeline<VectorDistribute>{{.*}}prefetch_num_stages = 2
// FIXED-NEXT: workgroup = [{{[0-9]+}}, 96, 0]
// FIXED: rank = 1

// RUN: not tuninglink init %s --suggest 2 --iree-hal-target-device=cuda 2>&1 | filecheck %s --check-prefix=MANY
// MANY: error: --suggest=2 writes as many specs
// MANY-NEXT: note: name a folder: --suggest=2 -o suggestions
// RUN: not tuninglink init %s --pipeline TileAndFuse --iree-hal-target-device=cuda 2>&1 | filecheck %s --check-prefix=ALONE
// ALONE: error: --pipeline is for --suggest
// RUN: not tuninglink init %s --suggest 1 --dispatch softmax --iree-hal-target-device=cuda 2>&1 | filecheck %s --check-prefix=NONE
// NONE: error: no dispatch matches --dispatch

func.func @product(%a: tensor<128x64xf16>, %b: tensor<192x64xf16>) -> tensor<128x192xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<128x192xf32>
  %filled = linalg.fill ins(%zero : f32) outs(%empty : tensor<128x192xf32>) -> tensor<128x192xf32>
  %product = linalg.generic {
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<128x64xf16>, tensor<192x64xf16>) outs(%filled : tensor<128x192xf32>) {
  ^bb0(%x: f16, %y: f16, %sum: f32):
    %wide = arith.extf %x : f16 to f32
    %high = arith.extf %y : f16 to f32
    %times = arith.mulf %wide, %high : f32
    %next = arith.addf %sum, %times : f32
    linalg.yield %next : f32
  } -> tensor<128x192xf32>
  return %product : tensor<128x192xf32>
}

func.func @add(%a: tensor<64xf32>, %b: tensor<64xf32>) -> tensor<64xf32> {
  %sum = arith.addf %a, %b : tensor<64xf32>
  return %sum : tensor<64xf32>
}
