// `tuninglink init --all` writes the choice for every dispatch that an entry can configure: the same compiler generates the
// same code with it, and a newer one makes the same choices.

// RUN: rm -rf %t && mkdir -p %t
// RUN: tuninglink init --all %s --iree-hal-target-device=cuda --iree-cuda-target=sm_80 -o %t/frozen.mlir 2>%t/remarks
// RUN: filecheck %s --check-prefix=REMARKS --input-file=%t/remarks
// REMARKS: remark: no entry for @packed_dispatch_0::@cuda_nvptx_fb (iree_linalg_ext.map_store {{.*}}): the compiler's DAG matcher does not match ops whose regions use outer values
// REMARKS: remark: choices written for 3 of 4 dispatches, 100.0% of the operations

// RUN: filecheck %s --check-prefix=SPEC --input-file=%t/frozen.mlir
// SPEC: // The configurations of '{{.*}}init-all.mlir' for sm_80 under version {{[0-9.a-z]+}} of the compiler,
// SPEC-NEXT: // written by `tuninglink init --all`: 3 of 4 dispatches, 100.0% of the operations.
// SPEC: tuninglink.provenance = {
// SPEC-SAME: compiler = "{{[0-9.a-z]+}}"
// SPEC-SAME: flags = ["--iree-hal-target-device=cuda", "--iree-cuda-target=sm_80"]
// SPEC-SAME: left_out = [{
// SPEC-SAME: dispatch = "@packed_dispatch_0::@cuda_nvptx_fb"
// SPEC-SAME: targets = ["sm_80"]
// SPEC: // matmul 128x64x256 f16·f16→f32, rhs transposed
// SPEC-NEXT: // @product_dispatch_0::@cuda_nvptx_fb: called once; 4,194,304 operations and 131,072 bytes a call
// SPEC-NEXT: transform.named_sequence @match_product_dispatch_0_{{.*}} tuninglink.targets = ["sm_80"]
// SPEC: // reduction 32x256 over 256
// SPEC: // also configures linalg.generic, the consumer of result 0
// SPEC: // elementwise 1024
// SPEC-NOT: Each knob

// RUN: tuninglink compile %s --iree-hal-target-device=cuda --iree-cuda-target=sm_80 -o %t/plain.vmfb
// RUN: tuninglink compile %s --spec %t/frozen.mlir --iree-hal-target-device=cuda --iree-cuda-target=sm_80 -o %t/kept.vmfb
// RUN: cmp %t/plain.vmfb %t/kept.vmfb

// A spec that version 3.12 wrote: the entries take effect, and a dispatch without one is none that was lost.
// RUN: tuninglink explain %s --spec %S/Inputs/frozen_3_12.mlir --iree-hal-target-device=cuda --iree-cuda-target=sm_80 -o %t/kept.json
// RUN: tuninglink diff %S/Inputs/frozen_3_12.mlir %t/kept.json --fail-on-regression | filecheck %s --check-prefix=KEPT
// KEPT: change {{ *}} program {{ *}} 2 of 2 entries kept; the compiler's choice is used for 0.0% of the FLOPs
// KEPT: change {{ *}} iree_linalg_ext.map_store {{.*}} new: the compiler's choice; 0.0% of the FLOPs
// KEPT: regressions: 0, improvements: 0, changes: 2

// Another dispatch than the one that an entry was written for falls back to the compiler's choice.
// RUN: sed 's/%m_dims, .128./%m_dims, [256]/' %S/Inputs/frozen_3_12.mlir > %t/other.mlir
// RUN: tuninglink explain %s --spec %t/other.mlir --iree-hal-target-device=cuda --iree-cuda-target=sm_80 -o %t/lost.json
// RUN: not tuninglink diff %t/other.mlir %t/lost.json --fail-on-regression | filecheck %s --check-prefix=LOST
// LOST: change {{ *}} program {{ *}} 1 of 2 entries kept; the compiler's choice is used for 99.2% of the FLOPs
// LOST: regression {{ *}} matmul 128x64x256 f16·f16→f32, rhs transposed {{ *}} it configures no dispatch; it was 99.2% of the FLOPs
// LOST: change {{ *}} matmul 128x64x256 f16·f16→f32, rhs transposed {{ *}} new: the compiler's choice; 99.2% of the FLOPs
// LOST: regressions: 1, improvements: 0, changes: 3
// An explanation without the spec, or for another target, does not show what is kept.
// RUN: tuninglink explain %s --iree-hal-target-device=cuda --iree-cuda-target=sm_80 -o %t/without.json
// RUN: not tuninglink diff %t/frozen.mlir %t/without.json 2>&1 | filecheck %s --check-prefix=WITHOUT
// RUN: tuninglink explain %s --spec %t/frozen.mlir --target gfx942 -o %t/without.json
// RUN: not tuninglink diff %t/frozen.mlir %t/without.json 2>&1 | filecheck %s --check-prefix=WITHOUT
// WITHOUT: error: '{{.*}}without.json' does not explain what '{{.*}}frozen.mlir' does on sm_80
// WITHOUT-NEXT: note: expected 'tuninglink explain PROGRAM --spec {{.*}}frozen.mlir' for sm_80
// RUN: not tuninglink diff %S/Inputs/data_tiled_spec.mlir %t/lost.json 2>&1 | filecheck %s --check-prefix=OTHER
// OTHER: error: '{{.*}}data_tiled_spec.mlir' is not a frozen spec, and compared with specs only

func.func @product(%lhs: tensor<128x256xf16>, %rhs: tensor<64x256xf16>) -> tensor<128x64xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<128x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<128x64xf32>) -> tensor<128x64xf32>
  %product = linalg.matmul indexing_maps = [
    affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>
  ] ins(%lhs, %rhs : tensor<128x256xf16>, tensor<64x256xf16>) outs(%init : tensor<128x64xf32>) -> tensor<128x64xf32>
  return %product : tensor<128x64xf32>
}

func.func @sum(%a: tensor<1024xf32>, %b: tensor<1024xf32>) -> tensor<1024xf32> {
  %sum = arith.addf %a, %b : tensor<1024xf32>
  return %sum : tensor<1024xf32>
}

// The compiler configures both ops of this dispatch.
func.func @normalized(%rows: tensor<32x256xf32>) -> tensor<32x256xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<32xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<32xf32>) -> tensor<32xf32>
  %squares = linalg.generic {
    indexing_maps = [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m)>], iterator_types = ["parallel", "reduction"]
  } ins(%rows : tensor<32x256xf32>) outs(%init : tensor<32xf32>) {
  ^bb0(%value: f32, %sum: f32):
    %square = arith.mulf %value, %value : f32
    %next = arith.addf %sum, %square : f32
    linalg.yield %next : f32
  } -> tensor<32xf32>
  %result = tensor.empty() : tensor<32x256xf32>
  %normalized = linalg.generic {
    indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m)>, affine_map<(m, n) -> (m, n)>],
    iterator_types = ["parallel", "parallel"]
  } ins(%rows, %squares : tensor<32x256xf32>, tensor<32xf32>) outs(%result : tensor<32x256xf32>) {
  ^bb0(%value: f32, %sum: f32, %out: f32):
    %scale = math.rsqrt %sum : f32
    %scaled = arith.mulf %value, %scale : f32
    linalg.yield %scaled : f32
  } -> tensor<32x256xf32>
  return %normalized : tensor<32x256xf32>
}

func.func @packed(%input: tensor<128x256xf32>) -> tensor<8x16x16x16xf32> {
  %empty = tensor.empty() : tensor<8x16x16x16xf32>
  %packed = linalg.pack %input inner_dims_pos = [0, 1] inner_tiles = [16, 16] into %empty : tensor<128x256xf32> -> tensor<8x16x16x16xf32>
  return %packed : tensor<8x16x16x16xf32>
}
