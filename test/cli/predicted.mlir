// `--spec library:predicted` makes a spec for the program: where a model is certain, another configuration than the
// compiler's. Which machine compiles does not matter.

// RUN: rm -rf %t && mkdir -p %t
// RUN: env TUNINGLINK_CACHE_DIR=%t/cache tuninglink init --predict %s --target znver4 -o %t/predicted.mlir
// RUN: filecheck %s --check-prefix=SPEC --input-file=%t/predicted.mlir
// SPEC: // Configurations of '{{.*}}predicted.mlir' for znver4 that a model expects to be faster than the compiler's,
// SPEC: transform.named_sequence @match_{{[a-z]+}}_dispatch_0
// SPEC-SAME: source = "predicted"
// SPEC-SAME: tuninglink.targets = ["znver4"]
// SPEC: // Expected: {{[0-9.]+}} times as fast as the compiler's choice, at least {{[1-9]}}.
// RUN: tuninglink check %t/predicted.mlir --target znver4

// The predictions are in the cache, and a compilation takes them.
// RUN: ls %t/cache/predictions | filecheck %s --check-prefix=CACHED
// CACHED-COUNT-3: .json
// RUN: env TUNINGLINK_CACHE_DIR=%t/cache tuninglink -v compile %s --target znver4 --spec library:predicted -o %t/predicted.vmfb 2>&1 | filecheck %s --check-prefix=COMPILED
// COMPILED: library:predicted: configurations for {{[1-3]}} of 3 problems
// RUN: tuninglink compile %s --target znver4 --spec %t/predicted.mlir -o %t/same.vmfb
// RUN: cmp %t/predicted.vmfb %t/same.vmfb
// RUN: tuninglink compile %s --target znver4 -o %t/plain.vmfb
// RUN: not cmp %t/predicted.vmfb %t/plain.vmfb

// RUN: env TUNINGLINK_CACHE_DIR=%t/cache tuninglink explain %s --target znver4 --spec library:predicted | filecheck %s --check-prefix=EXPLAINED
// EXPLAINED: _dispatch_0{{.*}} predicted {{ *}}{{[0-9.]+}} times as fast as the compiler's choice, at least
// EXPLAINED: provenance {{.*}}source = predicted
// EXPLAINED: library:predicted {{ *}}matcher list {{ *}}[[USED:[1-3]]] {{ *}}[[USED]]

// Each part of a file has a spec of its own.
// RUN: echo "// ""-----" > %t/marker && cat %s %t/marker %s > %t/parts.mlir
// RUN: env TUNINGLINK_CACHE_DIR=%t/cache tuninglink explain %t/parts.mlir --split-input-file --target znver4 --spec library:predicted | filecheck %s --check-prefix=PARTS
// PARTS: library:predicted {{ *}}matcher list {{ *}}[[USED:[1-3]]] {{ *}}[[USED]]
// PARTS-NEXT: library:predicted {{ *}}matcher list {{ *}}[[USED]] {{ *}}[[USED]]

// Other targets have no model: the output is that without predictions.
// RUN: tuninglink compile %s --target haswell --spec library:predicted -o %t/haswell.vmfb 2>&1 | filecheck %s --check-prefix=NONE
// NONE: remark: nothing is predicted for haswell: there is no model for it; known: {{.*}}x86_64-avx512
// NONE-NOT: configured nothing
// RUN: tuninglink compile %s --target haswell -o %t/plain.vmfb
// RUN: cmp %t/haswell.vmfb %t/plain.vmfb
// RUN: not tuninglink init --predict %s --target haswell 2>&1 | filecheck %s --check-prefixes=NOTHING
// NOTHING: nothing is predicted for haswell
// NOTHING: error: no entry can be written for

// Only commands that compile a program take the name.
// RUN: not tuninglink link library:predicted 2>&1 | filecheck %s --check-prefix=FILE
// RUN: not tuninglink check library:predicted 2>&1 | filecheck %s --check-prefix=FILE
// RUN: not tuninglink tune %s --target znver4 --spec library:predicted 2>&1 | filecheck %s --check-prefix=FILE
// FILE: error: 'library:predicted' cannot be used here: its spec is made for each program that is compiled
// FILE: note: 'tuninglink init --predict MODEL -o predicted.mlir' writes it as a file
// RUN: not tuninglink init --all --predict %s --target znver4 2>&1 | filecheck %s --check-prefix=BOTH
// BOTH: error: flags '--all' and '--predict' exclude each other

#image = affine_map<(n, m, k) -> (k, m)>
#filter = affine_map<(n, m, k) -> (n, k)>
#pixels = affine_map<(n, m, k) -> (n, m)>
#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#result = affine_map<(m, n, k) -> (m, n)>

func.func @image(%image: tensor<96x196xf32>, %filter: tensor<96x96xf32>, %sum: tensor<96x196xf32>) -> tensor<96x196xf32> {
  %result = linalg.generic {indexing_maps = [#image, #filter, #pixels], iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%image, %filter : tensor<96x196xf32>, tensor<96x96xf32>) outs(%sum : tensor<96x196xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %product = arith.mulf %a, %b : f32
    %next = arith.addf %c, %product : f32
    linalg.yield %next : f32
  } -> tensor<96x196xf32>
  return %result : tensor<96x196xf32>
}

func.func @odd(%lhs: tensor<33x257xf32>, %rhs: tensor<257x1000xf32>, %sum: tensor<33x1000xf32>) -> tensor<33x1000xf32> {
  %product = linalg.matmul indexing_maps = [#lhs, #rhs, #result]
    ins(%lhs, %rhs : tensor<33x257xf32>, tensor<257x1000xf32>) outs(%sum : tensor<33x1000xf32>) -> tensor<33x1000xf32>
  return %product : tensor<33x1000xf32>
}

func.func @norms(%rows: tensor<200x640xf32>) -> tensor<200xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<200xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<200xf32>) -> tensor<200xf32>
  %norms = linalg.generic {
    indexing_maps = [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m)>],
    iterator_types = ["parallel", "reduction"]
  } ins(%rows : tensor<200x640xf32>) outs(%init : tensor<200xf32>) {
  ^bb0(%value: f32, %sum: f32):
    %square = arith.mulf %value, %value : f32
    %next = arith.addf %sum, %square : f32
    linalg.yield %next : f32
  } -> tensor<200xf32>
  return %norms : tensor<200xf32>
}
