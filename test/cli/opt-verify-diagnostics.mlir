// RUN: env PYTHONPATH=%S/Inputs/opt_plugin%{python_path} tuninglink-opt %s --split-input-file \
// RUN:     --verify-diagnostics --example-complain

// A diagnostic of a pass written in Python.
func.func @f() {
  // expected-error@+1 {{found 'func.return'}}
  return
}

// -----

// One of the parser, with a note.
func.func @f() -> i32 {
  // expected-note@below {{prior use here}}
  %c = arith.constant 0 : i32
  // expected-error-re@below {{use of value '%{{[a-z]}}' expects different type than {{(prior|former)}} uses: 'i33' vs 'i32'}}
  return %c : i33
}

// -----

// One of the compiler's verifier, on the same line.
func.func @f() -> i32 { return } // expected-error {{op has 0 operands, but enclosing function (@f) returns 1}}

// -----

// Several at one place.
func.func @f() {
  func.call @g() : () -> ()
  // expected-error@above {{'func.call' op 'g' does not reference a valid function}}
  return
}
