// RUN: env PYTHONPATH=%S/Inputs/opt_plugin%{python_path} tuninglink-opt %s --mlir-print-ir-after-all \
// RUN:     --example-mark-function --cse --example-mark 2>&1 >%t.out | filecheck %s --check-prefix=AFTER
// RUN: env PYTHONPATH=%S/Inputs/opt_plugin%{python_path} tuninglink-opt %s --mlir-print-ir-before-all \
// RUN:     --mlir-print-ir-module-scope --example-mark-function --cse 2>&1 >%t.out \
// RUN:   | filecheck %s --check-prefix=BEFORE
// RUN: env PYTHONPATH=%S/Inputs/opt_plugin%{python_path} tuninglink-opt %s --mlir-print-ir-after=example-mark,canonicalize \
// RUN:     --mlir-print-ir-before=cse --mlir-print-ir-before=example-mark \
// RUN:     --canonicalize --example-mark-function --cse --example-mark 2>&1 >%t.out \
// RUN:   | filecheck %s --check-prefix=SELECTED
// RUN: env PYTHONPATH=%S/Inputs/opt_plugin%{python_path} tuninglink-opt %s --mlir-print-ir-after-all \
// RUN:     --mlir-print-ir-after-change --cse --example-mark --example-mark 2>&1 >%t.out \
// RUN:   | filecheck %s --check-prefix=CHANGE
// RUN: not env PYTHONPATH=%S/Inputs/opt_plugin%{python_path} tuninglink-opt %s --mlir-print-ir-after-failure \
// RUN:     --example-mark --example-complain 2>&1 | filecheck %s --check-prefix=FAILURE
// A pipeline of the compiler is looked into for the passes that are to be printed.
// RUN: tuninglink-opt %s --mlir-print-ir-after=iree-abi-wrap-entry-points \
// RUN:     --iree-abi-transformation-pipeline 2>&1 >%t.out | filecheck %s --check-prefix=INSIDE
// RUN: env PYTHONPATH=%S/Inputs/opt_plugin%{python_path} tuninglink-opt %s --mlir-print-ir-after=iree-codegen-specialize-exports,example-mark \
// RUN:     --pass-pipeline='builtin.module(example-mark,hal.executable(hal.executable.variant(iree-codegen-configuration-preprocessing-pipeline)))' \
// RUN:     2>&1 >%t.out | filecheck %s --check-prefix=MIXED
// RUN: env PYTHONPATH=%S/Inputs/opt_plugin%{python_path} tuninglink-opt %s --mlir-print-ir-after=iree-abi-wrap-entry-points \
// RUN:     --iree-abi-transformation-pipeline --example-mark 2>&1 >%t.out | filecheck %s --check-prefix=OPAQUE
// RUN: not tuninglink-opt %s --mlir-print-ir-after=canonicalise --canonicalize 2>&1 \
// RUN:   | filecheck %s --check-prefix=UNKNOWN

// AFTER:      // -----// IR Dump After MarkFunction: example-mark-function{text=here {{.*}}} //----- //
// AFTER-NEXT: func.func @f() attributes {example.mark = "here"} {
// AFTER:      // -----// IR Dump After CSEPass: cse //----- //
// AFTER:      module {
// AFTER:      // -----// IR Dump After Mark: example-mark{{.*}} //----- //
// AFTER:      module attributes {example.mark = "here"} {

// BEFORE:      // -----// IR Dump Before MarkFunction: example-mark-function{{.*}} ('func.func' operation: @f) //----- //
// BEFORE:      module {
// BEFORE:      // -----// IR Dump Before CSEPass: cse ('builtin.module' operation) //----- //

// SELECTED:     IR Dump After CanonicalizerPass
// SELECTED-NOT: MarkFunction
// SELECTED:     IR Dump Before CSEPass: cse
// SELECTED-NOT: After CSEPass
// SELECTED:     IR Dump Before Mark: example-mark
// SELECTED:     IR Dump After Mark: example-mark

// CHANGE-NOT:  CSEPass
// CHANGE:      IR Dump After Mark: example-mark
// CHANGE-NOT:  After Mark

// FAILURE-NOT: Mark
// FAILURE:     IR Dump After Complain Failed: example-complain

// INSIDE-NOT:  ConvertStreamableOps
// INSIDE:      IR Dump After WrapEntryPointsPass: iree-abi-wrap-entry-points
// INSIDE-NOT:  IR Dump

// MIXED:       IR Dump After Mark: example-mark
// MIXED:       IR Dump After SpecializeExportsPass: iree-codegen-specialize-exports

// OPAQUE:      warning: passes inside 'iree-abi-transformation-pipeline' are not printed: it cannot be expanded, since 'iree-op-pipeline-adaptor' has no name for textual pipelines

// UNKNOWN: error: for the --mlir-print-ir-after option: 'canonicalise' does not refer to a registered pass or pass pipeline; did you mean 'canonicalize'?
func.func @f() {
  return
}

hal.executable private @executable {
  hal.executable.variant public @variant target(<"llvm-cpu", "embedded-elf-x86_64">) {
  }
}
