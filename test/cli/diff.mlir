// A spec that stops to match is a regression.

// RUN: rm -rf %t && mkdir -p %t
// RUN: %python %S/../support/elementwise_specs.py vmvx mine > %t/mine.mlir
// RUN: tuninglink explain %s --spec %t/mine.mlir --no-default-specs --iree-hal-target-backends=vmvx --format json -o %t/tuned.json
// RUN: tuninglink explain %s --no-default-specs --iree-hal-target-backends=vmvx --format json -o %t/untuned.json
// RUN: not tuninglink diff %t/tuned.json %t/untuned.json --fail-on-regression | filecheck %s --check-prefix=WORSE
// WORSE: regression {{.*}} for vmvx {{ *}} tuned → not-tunable
// WORSE: regressions: 1, improvements: 0, changes: 0
// RUN: tuninglink diff %t/untuned.json %t/tuned.json --fail-on-regression --format json | filecheck %s --check-prefix=BETTER
// BETTER: "kind": "improvement"
// RUN: tuninglink diff %t/tuned.json %t/tuned.json --fail-on-regression | filecheck %s --check-prefix=SAME
// SAME: regressions: 0, improvements: 0, changes: 0
// RUN: not tuninglink diff %t/tuned.json %s 2>&1 | filecheck %s --check-prefix=NONE
// NONE: diff.mlir:1:1: error: invalid JSON

func.func @add(%a: tensor<16xf32>, %b: tensor<16xf32>) -> tensor<16xf32> {
  %sum = arith.addf %a, %b : tensor<16xf32>
  return %sum : tensor<16xf32>
}
