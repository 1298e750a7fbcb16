// Replace entries go to the compiler's preprocessing, configure entries to the dispatches that are formed afterwards.
// RUN: tuninglink compile %s --target znver4 --spec %S/Inputs/replace-and-configure.mlir --compile-to=executable-configurations -o %t.configured.mlir 2>&1 | filecheck %s --check-prefix=SILENT --allow-empty
// RUN: filecheck %s --check-prefix=CONFIGURED < %t.configured.mlir

// The output is that of the stock compiler with the same spec.
// RUN: tuninglink compile %s --target znver4 --spec %S/Inputs/replace-rows.mlir -o %t.ours.vmfb
// RUN: iree-compile %s --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=znver4 --iree-preprocessing-transform-spec-filename=%S/Inputs/replace-rows.mlir -o %t.stock.vmfb
// RUN: cmp %t.ours.vmfb %t.stock.vmfb

// The specs of a program are dumped with its replace entries.
// RUN: tuninglink dump %s --target znver4 --spec %S/Inputs/replace-and-configure.mlir | filecheck %s --check-prefix=DUMP

// RUN: tuninglink explain %s --target znver4 --spec %S/Inputs/replace-and-configure.mlir | filecheck %s --check-prefix=EXPLAINED

// RUN: tuninglink explain %s --target znver4 --spec %S/Inputs/replace-and-configure.mlir --spec %S/Inputs/replace-rows.mlir 2>&1 | filecheck %s --check-prefix=HIDDEN
// RUN: tuninglink explain %s --target znver4 --spec %S/Inputs/replace-rows.mlir --format json | filecheck %s --check-prefix=JSON

// RUN: tuninglink compile %s --target znver4 --spec gfx942=%S/Inputs/replace-rows.mlir -o %t.foreign.vmfb 2>&1 | filecheck %s --check-prefix=FOREIGN
// RUN: sed 's/get_operand %%root\[all\]/get_operand %%root[0, 1]/' %S/Inputs/replace-rows.mlir > %t.wrong.mlir
// RUN: not tuninglink compile %s --target znver4 --spec %t.wrong.mlir -o %t.wrong.vmfb 2>&1 | filecheck %s --check-prefix=WRONG

// SILENT-NOT: {{warning|remark|error}}:
// CONFIGURED: linalg.matmul {{.*}}distribution = [16, 16, 0]{{.*}}ins({{.*}}tensor<48x48xf32>
// DUMP: // preprocessing-{{[0-9a-f]+}}.mlir: preprocessing
// DUMP: @match_rows -> @replace_rows
// DUMP: // znver4-{{[0-9a-f]+}}.mlir: @main_dispatch_0::@embedded_elf_x86_64
// DUMP: @match_conf -> @configure
// EXPLAINED: entry {{.*}}@match_conf
// EXPLAINED: SPEC {{ *}}KIND {{ *}}ENTRIES {{ *}}USED {{ *}}SHADOWED {{ *}}UNREACHABLE {{ *}}UNUSED {{ *}}DISPATCHES
// EXPLAINED: replace-and-configure.mlir {{ *}}matcher list {{ *}}2 {{ *}}2 {{ *}}0 {{ *}}0 {{ *}}0 {{ *}}1 of 1
// EXPLAINED: replaced linalg.matmul at {{.*}}compile-replace-entries.mlir:{{[0-9]+}}:8 by @rows: entry @match_rows ({{.*}}.mlir:16:3) of '{{.*}}replace-and-configure.mlir'
// HIDDEN: warning: spec '{{.*}}replace-rows.mlir' replaced nothing: its replace entry 'match_rows' was never the first to match
// HIDDEN: replace-rows.mlir {{ *}}preprocessing spec {{ *}}1 {{ *}}0 {{ *}}0 {{ *}}0 {{ *}}1 {{ *}}0 of 1
// JSON: "replace_entries": 1
// FOREIGN: warning: spec '{{.*}}replace-rows.mlir' replaced nothing: it is bound to gfx942, the program is for znver4
// WRONG: compile-replace-entries.mlir:{{[0-9]+}}:8: error: replace entry 'match_rows' of '{{.*}}wrong.mlir' failed on this linalg.matmul
// WRONG: wrong.mlir:16:3: note: the replace entry
// WRONG: note: '@match_rows' must match only what '@rows' takes and returns
// WRONG: failed action: mismatch between number of function arguments 3 and number of inputs 2

func.func @main(%l: tensor<34x48xf32>, %r: tensor<48x32xf32>) -> tensor<34x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<34x32xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<34x32xf32>) -> tensor<34x32xf32>
  %c = linalg.matmul ins(%l, %r : tensor<34x48xf32>, tensor<48x32xf32>) outs(%i : tensor<34x32xf32>) -> tensor<34x32xf32>
  return %c : tensor<34x32xf32>
}
