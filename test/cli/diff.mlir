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
// NONE: error: the files are not of the same kind
// NONE: diff.mlir': a spec

// As a page, and as a file in the format of its suffix.
// RUN: tuninglink diff %t/tuned.json %t/untuned.json --format html | filecheck %s --check-prefix=PAGE
// RUN: tuninglink diff %t/tuned.json %t/untuned.json -o %t/diff.html
// RUN: filecheck %s --check-prefix=PAGE --input-file=%t/diff.html
// PAGE: <!DOCTYPE html>
// PAGE: "format":"tuninglink.comparison"
// RUN: not tuninglink diff %t/tuned.json %t/untuned.json -o %t 2>&1 | filecheck %s --check-prefix=DIRECTORY
// RUN: not tuninglink diff - - < %t/tuned.json 2>&1 | filecheck %s --check-prefix=TWICE
// TWICE: error: standard input can be read once: name one of the two files
// DIRECTORY: error: cannot write '{{.*}}': it is a directory

// Specs are compared entry by entry.
// RUN: %python %S/../support/elementwise_specs.py vmvx mine > %t/same.mlir
// RUN: tuninglink diff %t/mine.mlir %t/same.mlir | filecheck %s --check-prefix=SAME
// RUN: sed 's/@match_mine/@other/g; s/distribution = .8./distribution = [16]/g' %t/mine.mlir > %t/other.mlir
// RUN: tuninglink diff %t/mine.mlir %t/other.mlir | filecheck %s --check-prefix=SPECS
// SPECS: change {{ *}} @match_mine → @other {{ *}} configuration changed
// SPECS: regressions: 0, improvements: 0, changes: 1
// RUN: not tuninglink diff %t/mine.mlir %s 2>&1 | filecheck %s --check-prefix=NOSPEC
// NOSPEC: diff.mlir:{{[0-9]+}}:1: error: expected a module that is or carries a tuning spec, found a program

func.func @add(%a: tensor<16xf32>, %b: tensor<16xf32>) -> tensor<16xf32> {
  %sum = arith.addf %a, %b : tensor<16xf32>
  return %sum : tensor<16xf32>
}
