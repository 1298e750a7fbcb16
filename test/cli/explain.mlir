// What `tuninglink explain` says of a program whose dispatches are tuned, nearly tuned, and left alone.

// RUN: rm -rf %t && mkdir -p %t
// RUN: tuninglink explain %s --spec %S/Inputs/explain_spec.mlir --no-default-specs --iree-hal-target-device=hip --iree-rocm-target=gfx942 -o %t/table 2>%t/silence
// RUN: not grep . %t/silence
// RUN: filecheck %s --input-file=%t/table

// What costs most comes first: one that an entry nearly matches, with the first condition that failed.
// CHECK: @nearly_dispatch_0::@rocm_hsaco_fb {{ *}}unmatched {{ *}}matmul 128x65x256 f16·f16→f32, rhs transposed, at {{.*}}explain.mlir:[[#]]:
// CHECK-NEXT: @nearly_dispatch_0::@rocm_hsaco_fb {{ *}}cost {{ *}}50.4 % of FLOPs, 1 call, 4.26 MFLOP a call, 132 kB a call, 32.2 FLOP/B
// CHECK-NEXT: @nearly_dispatch_0::@rocm_hsaco_fb {{ *}}nearest {{ *}}@matmul_128x64x256 ({{.*}}): n: 65, the entry has 64
// CHECK-NEXT: nearest {{ *}}@any_f16 ({{.*}}): n: 65, the entry has a multiple of 64

// A tuned dispatch: what it computes, who tuned it, and what the compiler would have done.
// CHECK: @tuned_dispatch_0::@rocm_hsaco_fb {{ *}}tuned {{ *}}matmul 128x64x256 f16·f16→f32, rhs transposed, at {{.*}}explain.mlir:[[#]]:
// CHECK-NEXT: @tuned_dispatch_0::@rocm_hsaco_fb {{ *}}cost {{ *}}49.6 % of FLOPs
// CHECK-NEXT: @tuned_dispatch_0::@rocm_hsaco_fb {{ *}}entry {{ *}}@matmul_128x64x256 ({{.*}}explain_spec.mlir:[[#]]:1) of '{{.*}}explain_spec.mlir'
// CHECK-NEXT: configuration {{ *}}#iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1]
// CHECK-NEXT: configuration {{ *}}#iree_gpu.lowering_config<{{.*}}workgroup = [64, 64, 0]
// CHECK-NEXT: compiler's choice {{ *}}#iree_codegen.translation_info<
// CHECK-NEXT: compiler's choice {{ *}}#iree_gpu.lowering_config<
// CHECK-NEXT: shadowed {{ *}}@any_f16 ({{.*}}) matches as well

// What only computes element by element is counted, not listed.
// CHECK-NOT: @alone_dispatch_0

// The spec as a whole, and the program.
// CHECK: explain_spec.mlir {{ *}}matcher list {{ *}}3 {{ *}}1 {{ *}}1 {{ *}}0 {{ *}}1 {{ *}}1 of 3 (33 %)
// CHECK: tuned: 50 % of FLOPs, 33 % of calls (1 of 3 dispatches)
// CHECK: not tunable, element-wise ops and copies: 0 % of FLOPs, 33 % of calls (1 of 3 dispatches)

// With measured times, shares are shares of time.
// RUN: echo '{"format": "tuninglink.explanation", "dispatches": [{"name": "@tuned_dispatch_0::@rocm_hsaco_fb", "microseconds": 10, "calls": 1}]}' > %t/times.json
// RUN: tuninglink explain %s --spec %S/Inputs/explain_spec.mlir --no-default-specs --iree-hal-target-device=hip --iree-rocm-target=gfx942 --profile %t/times.json | filecheck %s --check-prefix=TIMES
// TIMES: @tuned_dispatch_0::@rocm_hsaco_fb {{ *}}cost {{ *}}100.0 % of measured time, 1 call, {{.*}}, 10.0 µs a call
// TIMES: @nearly_dispatch_0::@rocm_hsaco_fb {{ *}}cost {{ *}}time unknown, 1 call
// TIMES: tuned: 100 % of measured time, 33 % of calls (1 of 3 dispatches)
// TIMES: times are known of 1 of 3 dispatches; shares of the measured time leave out the others

// The same, while compiling.
// RUN: tuninglink compile %s --spec %S/Inputs/explain_spec.mlir --no-default-specs --iree-hal-target-device=hip --iree-rocm-target=gfx942 --explain=%t/compiled -o %t/explained
// RUN: cmp %t/table %t/compiled
// RUN: tuninglink compile %s --spec %S/Inputs/explain_spec.mlir --no-default-specs --iree-hal-target-device=hip --iree-rocm-target=gfx942 -o %t/plain
// RUN: cmp %t/explained %t/plain
// RUN: tuninglink compile %s --spec %S/Inputs/explain_spec.mlir --no-default-specs --iree-hal-target-device=hip --iree-rocm-target=gfx942 --explain --compile-to=executable-configurations -o %t/ir 2>&1 | diff - %t/table

// Each kind of file says what it is; --format has the last word.
// RUN: tuninglink explain %s --spec %S/Inputs/explain_spec.mlir --no-default-specs --iree-hal-target-device=hip --iree-rocm-target=gfx942 -o %t/report.json
// RUN: filecheck %s --check-prefix=JSON --input-file=%t/report.json
// JSON: "format": "tuninglink.explanation",
// JSON-NEXT: "version": 2,
// JSON: "summary": {"dispatches": 3, "tuned": 1,
// JSON: {"name": "@nearly_dispatch_0::@rocm_hsaco_fb",
// JSON-SAME: "condition": "n", "actual": "65", "expected": "64"
// RUN: tuninglink explain %s --spec %S/Inputs/explain_spec.mlir --no-default-specs --iree-hal-target-device=hip --iree-rocm-target=gfx942 --format=json -o %t/report.html
// RUN: cmp %t/report.json %t/report.html

func.func @tuned(%lhs: tensor<128x256xf16>, %rhs: tensor<64x256xf16>) -> tensor<128x64xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<128x64xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<128x64xf32>) -> tensor<128x64xf32>
  %result = linalg.generic {
      indexing_maps = [
        affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]
    } ins(%lhs, %rhs : tensor<128x256xf16>, tensor<64x256xf16>) outs(%fill : tensor<128x64xf32>) {
  ^bb0(%l: f16, %r: f16, %o: f32):
    %wide_l = arith.extf %l : f16 to f32
    %wide_r = arith.extf %r : f16 to f32
    %product = arith.mulf %wide_l, %wide_r : f32
    %sum = arith.addf %o, %product : f32
    linalg.yield %sum : f32
  } -> tensor<128x64xf32>
  return %result : tensor<128x64xf32>
}

func.func @nearly(%lhs: tensor<128x256xf16>, %rhs: tensor<65x256xf16>) -> tensor<128x65xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<128x65xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<128x65xf32>) -> tensor<128x65xf32>
  %result = linalg.generic {
      indexing_maps = [
        affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]
    } ins(%lhs, %rhs : tensor<128x256xf16>, tensor<65x256xf16>) outs(%fill : tensor<128x65xf32>) {
  ^bb0(%l: f16, %r: f16, %o: f32):
    %wide_l = arith.extf %l : f16 to f32
    %wide_r = arith.extf %r : f16 to f32
    %product = arith.mulf %wide_l, %wide_r : f32
    %sum = arith.addf %o, %product : f32
    linalg.yield %sum : f32
  } -> tensor<128x65xf32>
  return %result : tensor<128x65xf32>
}

func.func @alone(%a: tensor<1024xf32>, %b: tensor<1024xf32>) -> tensor<1024xf32> {
  %sum = arith.addf %a, %b : tensor<1024xf32>
  return %sum : tensor<1024xf32>
}
