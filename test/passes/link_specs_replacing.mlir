// The replace entries of nested specs are linked by themselves, in the order of the specs, each bound to the targets of its
// spec. A spec with nothing else is linked, too.
// RUN: rm -rf %t && mkdir -p %t
// RUN: sed -e 's/module @both attributes {/module @one attributes {tuninglink.targets = ["gfx942"], /' %S/../cli/Inputs/replace-and-configure.mlir > %t/one.mlir
// RUN: sed -e 's/module @rows attributes {/module @two attributes {tuninglink.targets = ["znver4"], /' -e 's/%%m, .34./%%m, [35]/' %S/../cli/Inputs/replace-rows.mlir > %t/two.mlir
// RUN: sed -e 's/module @rows/module @three/' -e 's/%%m, .34./%%m, [36]/' %S/../cli/Inputs/replace-rows.mlir > %t/three.mlir
// RUN: echo 'module attributes {transform.with_named_sequence} {' > %t/begin
// RUN: echo '}' > %t/end
// RUN: cat %t/begin %t/three.mlir %t/one.mlir %t/two.mlir %t/end > %t/nested.mlir
// RUN: tuninglink-opt %t/nested.mlir --tuninglink-link-specs -o %t/linked.mlir
// RUN: filecheck %s < %t/linked.mlir
// CHECK: module attributes {iree_codegen.tuning_spec_with_default_entrypoint, transform.with_named_sequence}
// CHECK-NOT: module
// CHECK: named_sequence @match_conf({{.*}} attributes {tuninglink.targets = ["gfx942"]}
// CHECK: foreach_match
// CHECK-NEXT: @match_conf -> @configure :
// CHECK: named_sequence @match_rows(
// CHECK-NOT: tuninglink.targets
// CHECK: [36]
// CHECK: named_sequence @match_rows_0({{.*}} attributes {tuninglink.targets = ["gfx942"]}
// CHECK: [34]
// CHECK: named_sequence @match_rows_1({{.*}} attributes {tuninglink.targets = ["znver4"]}
// CHECK: [35]
// CHECK: named_sequence @__transform_main(
// CHECK: foreach_match
// CHECK-NEXT: @match_rows -> @replace_rows,
// CHECK-NEXT: @match_rows_0 -> @replace_rows_0,
// CHECK-NEXT: @match_rows_1 -> @replace_rows_1 :
// CHECK-NOT: __transform_main

// It is the spec that `link` makes of the files, up to names of modules.
// RUN: tuninglink link %t/three.mlir %t/one.mlir %t/two.mlir -o %t/files.mlir
// RUN: tuninglink link %t/linked.mlir -o %t/again.mlir
// RUN: tuninglink diff %t/files.mlir %t/again.mlir | filecheck %s --check-prefix=SAME
// SAME: regressions: 0, improvements: 0, changes: 0

// Specs that could only replace ops configure nothing.
// RUN: cat %t/begin %t/two.mlir %t/three.mlir %t/end > %t/replacing.mlir
// RUN: tuninglink-opt %t/replacing.mlir --tuninglink-link-specs | filecheck %s --check-prefix=ALONE
// ALONE: named_sequence @__kernel_config(%[[ROOT:.*]]:
// ALONE-NEXT: transform.yield %[[ROOT]]
// ALONE: @match_rows -> @replace_rows,
// ALONE-NEXT: @match_rows_0 -> @replace_rows_0 :
// RUN: not tuninglink link %t/replacing.mlir 2>&1 | filecheck %s --check-prefix=UNLINKED
// UNLINKED: replacing.mlir:1:1: error: no entry point, but nested modules are specs; link them with tuninglink-link-specs

// The compiler's own linking leaves them nested, and an entry point runs the configure entries. Loaded, none is lost.
// RUN: iree-opt %t/nested.mlir --iree-codegen-link-tuning-specs -o %t/compilers.mlir
// RUN: tuninglink link %t/compilers.mlir -v -o %t/loaded.mlir 2>&1 | filecheck %s --check-prefix=LOADED
// LOADED: compilers.mlir: {{.*}}, 1 entry and 3 replace entries
// RUN: tuninglink diff %t/compilers.mlir %t/files.mlir | filecheck %s --check-prefix=SAME
// RUN: filecheck %s --check-prefix=BOUND < %t/loaded.mlir
// BOUND-NOT: __transform_main
// BOUND: named_sequence @match_rows_0({{.*}} attributes {tuninglink.targets = ["gfx942"]}
// BOUND: named_sequence @match_rows_1({{.*}} attributes {tuninglink.targets = ["znver4"]}
// BOUND: @__transform_main
// BOUND-NOT: __transform_main

// An entry point of the module itself has no place in the order.
// RUN: head -n -1 %S/../cli/Inputs/replace-rows.mlir > %t/open
// RUN: cat %t/open %t/one.mlir %t/end > %t/beside.mlir
// RUN: not tuninglink-opt %t/beside.mlir --tuninglink-link-specs 2>&1 | filecheck %s --check-prefix=BESIDE
// BESIDE: beside.mlir:33:3: error: '@__transform_main' is next to nested specs, whose entry point it would be; put it into a module of its own, at its place in the order of precedence
// RUN: not tuninglink link %t/beside.mlir 2>&1 | filecheck %s --check-prefix=NESTED
// NESTED: error: no entry point, but nested modules are specs; link them with tuninglink-link-specs
