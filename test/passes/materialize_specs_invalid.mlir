// RUN: tuninglink-opt %s --split-input-file --verify-diagnostics --tuninglink-materialize-specs

// What is wrong with the options has no place in the input.
// RUN: not tuninglink-opt %S/materialize_specs.mlir --split-input-file --tuninglink-materialize-specs=specs=%t.missing -o %t.out 2>&1 | filecheck %s --check-prefix=MISSING
// MISSING: error: cannot read the spec '{{.*}}.missing': no such file or directory
// RUN: not tuninglink-opt %S/materialize_specs.mlir --split-input-file --tuninglink-materialize-specs=spec-dir=%t.missing -o %t.out 2>&1 | filecheck %s --check-prefix=DIRECTORY
// DIRECTORY: error: the directory of default specs '{{.*}}.missing' does not exist
// RUN: echo "module {}" > %t.program.mlir
// RUN: not tuninglink-opt %S/materialize_specs.mlir --split-input-file --tuninglink-materialize-specs=specs=%t.program.mlir -o %t.out 2>&1 | filecheck %s --check-prefix=PROGRAM
// PROGRAM: program.mlir:1:1: error: not a tuning spec: the module lacks 'transform.with_named_sequence' and an entry point

// A spec where a program belongs.

// expected-error@+1 {{expected a program, found a tuning spec; give specs to materialize in the option 'specs'}}
module @spec attributes {transform.with_named_sequence} {
  transform.named_sequence @__kernel_config(%module: !transform.any_op {transform.readonly})
      -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    transform.yield %module : !transform.any_op
  }
}

// -----

// A spec that is cut off.

module {
  hal.executable private @damaged {
    hal.executable.variant public @cuda target(<"cuda", "cuda-nvptx-fb">) {
      // expected-error@+1 {{the tuning spec that is embedded in @damaged::@cuda cannot be read: malformed null-terminated string, no null character found}}
      builtin.module attributes {
        iree_codegen.tuning_spec_mlirbc = dense<"0x4D4CEF520D4D"> : vector<6xi8>
      } {
      }
    }
  }
}

// -----

module {
  hal.executable private @no_bytes {
    hal.executable.variant public @cuda target(<"cuda", "cuda-nvptx-fb">) {
      // expected-error@+1 {{the tuning spec that is embedded in @no_bytes::@cuda cannot be read: 'iree_codegen.tuning_spec_mlirbc' must be a dense vector of i8}}
      builtin.module attributes {iree_codegen.tuning_spec_mlirbc = "gfx942"} {
      }
    }
  }
}

// -----

// The target of code outside of a variant is looked for where the compiler's tests put it.

module {
  // expected-error@+1 {{expected a #hal.executable.target}}
  func.func private @target_of_another_kind() attributes {hal.executable.target = "gfx942"}
}
