// Where no entry may match a dispatch carries nothing. If something around it carries the spec, the compiler
// would find that, so it gets a spec that configures nothing.
// RUN: tuninglink-opt %s --pass-pipeline='builtin.module(tuninglink-materialize-specs{specs=%S/Inputs/matmul_specs.mlir})' | filecheck %s --check-prefix=INNER
// RUN: tuninglink-opt %s --pass-pipeline='builtin.module(tuninglink-materialize-specs{prune=false specs=%S/Inputs/matmul_specs.mlir},tuninglink-prune-specs)' | filecheck %s --check-prefix=INNER
// RUN: tuninglink-opt %s --pass-pipeline='builtin.module(tuninglink-materialize-specs{prune=false specs=%S/Inputs/matmul_specs.mlir})' -o %t.whole
// RUN: %python -c "import re, sys; text = open(sys.argv[1]).read(); spec = re.search(r'iree_codegen.tuning_spec_mlirbc = dense<.*?> : vector<\d+xi8>', text)[0]; print(text.replace('attributes {' + spec + '}', '').replace('hal.executable private @nothing {', 'hal.executable private @nothing attributes {' + spec + '} {'))" %t.whole > %t.around
// RUN: tuninglink-opt %t.around --tuninglink-prune-specs | filecheck %s --check-prefix=AROUND
// RUN: tuninglink-opt %t.around --pass-pipeline='builtin.module(tuninglink-prune-specs,tuninglink-dump-specs)' -o %t.null | filecheck %s --check-prefix=DUMP

// INNER-NOT:    tuning_spec_mlirbc
// AROUND:       hal.executable private @nothing attributes {iree_codegen.tuning_spec_mlirbc
// AROUND:         builtin.module attributes {iree_codegen.tuning_spec_mlirbc
// DUMP:         @nothing::@vmvx
// DUMP:         named_sequence @__kernel_config(
// DUMP-NEXT:      transform.yield
hal.executable private @nothing {
  hal.executable.variant public @vmvx target(<"vmvx", "vmvx-bytecode-fb">) {
    builtin.module {
      func.func @matmul(%a: tensor<80x128xf16>, %b: tensor<128x32xf16>, %c: tensor<80x32xf32>) -> tensor<80x32xf32> {
        %0 = linalg.matmul ins(%a, %b : tensor<80x128xf16>, tensor<128x32xf16>) outs(%c : tensor<80x32xf32>) -> tensor<80x32xf32>
        return %0 : tensor<80x32xf32>
      }
    }
  }
}
