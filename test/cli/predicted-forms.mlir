// `--spec library:predicted` pads an attention that no intrinsic of the target divides, and predicts configurations for the
// dispatches that follow.

// RUN: rm -rf %t && mkdir -p %t
// RUN: env TUNINGLINK_CACHE_DIR=%t/cache tuninglink -v compile %s --target h200 --spec library:predicted --compile-to=executable-targets -o %t/predicted.mlir 2>&1 | filecheck %s --check-prefix=COMPILED
// COMPILED: library:predicted: configurations for {{[0-9]}} of {{[0-9]}} problems, 1 form
// RUN: filecheck %s --check-prefix=PREDICTED --input-file=%t/predicted.mlir
// PREDICTED: nvvm.mma.sync
// RUN: tuninglink compile %s --target h200 --compile-to=executable-targets -o %t/plain.mlir
// RUN: filecheck %s --check-prefix=PLAIN --input-file=%t/plain.mlir
// PLAIN-NOT: nvvm.mma.sync

// RUN: env TUNINGLINK_CACHE_DIR=%t/cache tuninglink explain %s --target h200 --spec library:predicted | filecheck %s --check-prefix=EXPLAINED
// EXPLAINED: online attention batch 64, m 288, n 64, k1 64, k2 288
// EXPLAINED: replaced iree_linalg_ext.attention at {{.*}}padded: 257 to 288 queries, 257 to 288 keys; the default uses no intrinsic of sm_80; expected: 11.40 times as fast as the compiler's choice, at least 3.44, as eleven like it on an H200): entry @match_pad_attention_4x16x257x64x64x257{{.*}} of 'library:predicted'

// The written spec does the same, and can be checked.
// RUN: env TUNINGLINK_CACHE_DIR=%t/cache tuninglink init --predict %s --target h200 -o %t/spec.mlir
// RUN: filecheck %s --check-prefix=SPEC --input-file=%t/spec.mlir
// SPEC: // padded: 257 to 288 queries, 257 to 288 keys; the default uses no intrinsic of sm_80; expected: 11.40 times
// SPEC-NEXT: transform.named_sequence @match_pad_attention_4x16x257x64x64x257
// SPEC-SAME: source = "predicted"
// SPEC-SAME: tuninglink.targets = ["sm_80"]
// SPEC: transform.named_sequence @__transform_main
// RUN: tuninglink check %t/spec.mlir --target sm_80 | filecheck %s --check-prefix=CHECKED
// CHECKED: replace entries: sound: 1 yes
// CHECKED: replace entries: reachable: 1 yes
// RUN: tuninglink compile %s --target h200 --spec %t/spec.mlir --compile-to=executable-targets -o %t/written.mlir
// RUN: cmp %t/written.mlir %t/predicted.mlir

// So does a frozen spec.
// RUN: env TUNINGLINK_CACHE_DIR=%t/cache tuninglink init --all %s --target h200 --spec library:predicted -o %t/frozen.mlir
// RUN: tuninglink compile %s --target h200 --spec %t/frozen.mlir --compile-to=executable-targets -o %t/frozen.code.mlir
// RUN: cmp %t/frozen.code.mlir %t/predicted.mlir

// Without configurations, the spec has the form alone.
// RUN: env TUNINGLINK_CACHE_DIR=%t/cache tuninglink init --predict %s --target h200 --dispatch attention_dispatch_3 -o %t/form.mlir
// RUN: tuninglink check %t/form.mlir --target sm_80 | filecheck %s --check-prefixes=FORM
// FORM: (preprocessing spec, 1 replace entry)

// Targets without a model keep the attention.
// RUN: tuninglink compile %s --target gfx942 --spec library:predicted -o %t/gfx942.vmfb 2>/dev/null
// RUN: tuninglink compile %s --target gfx942 -o %t/plain.vmfb
// RUN: cmp %t/gfx942.vmfb %t/plain.vmfb

#query = affine_map<(b, h, m, n, k1, k2) -> (b, h, m, k1)>
#key = affine_map<(b, h, m, n, k1, k2) -> (b, h, k2, k1)>
#value = affine_map<(b, h, m, n, k1, k2) -> (b, h, k2, n)>
#scale = affine_map<(b, h, m, n, k1, k2) -> ()>
#output = affine_map<(b, h, m, n, k1, k2) -> (b, h, m, n)>

func.func @attention(%query: tensor<4x16x257x64xf16>, %key: tensor<4x16x257x64xf16>, %value: tensor<4x16x257x64xf16>)
    -> tensor<4x16x257x64xf16> {
  %scale = arith.constant 0.125 : f16
  %empty = tensor.empty() : tensor<4x16x257x64xf16>
  %result = iree_linalg_ext.attention <{indexing_maps = [#query, #key, #value, #scale, #output]}>
      ins(%query, %key, %value, %scale : tensor<4x16x257x64xf16>, tensor<4x16x257x64xf16>, tensor<4x16x257x64xf16>, f16)
      outs(%empty : tensor<4x16x257x64xf16>) {
    ^bb0(%score: f32):
      iree_linalg_ext.yield %score : f32
  } -> tensor<4x16x257x64xf16>
  return %result : tensor<4x16x257x64xf16>
}
