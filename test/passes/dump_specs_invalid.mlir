// RUN: tuninglink-opt %s --split-input-file --verify-diagnostics --tuninglink-dump-specs=to=%t.dir

// Nothing is written, not even what is in order.
// RUN: rm -rf %t.dir
// RUN: not tuninglink-opt %s --split-input-file --tuninglink-dump-specs=to=%t.dir -o %t.out
// RUN: not ls %t.dir

hal.executable private @cut_off {
  hal.executable.variant public @cuda target(<"cuda", "cuda-nvptx-fb">) {
    // expected-error@+1 {{the tuning spec that is embedded in @cut_off::@cuda cannot be read: malformed null-terminated string, no null character found}}
    builtin.module attributes {
      iree_codegen.tuning_spec_mlirbc = dense<"0x4D4CEF520D4D"> : vector<6xi8>
    } {
    }
  }
}

// -----

hal.executable private @garbage {
  hal.executable.variant public @cuda target(<"cuda", "cuda-nvptx-fb">) {
    // expected-error@+1 {{the tuning spec that is embedded in @garbage::@cuda cannot be read}}
    builtin.module attributes {
      iree_codegen.tuning_spec_mlirbc = dense<[7, -1, 3, -128]> : vector<4xi8>
    } {
    }
  }
}

// -----

hal.executable private @too_wide {
  hal.executable.variant public @cuda target(<"cuda", "cuda-nvptx-fb">) {
    // expected-error@+1 {{'iree_codegen.tuning_spec_mlirbc' must be a dense vector of i8}}
    builtin.module attributes {
      iree_codegen.tuning_spec_mlirbc = dense<0> : vector<4xi32>
    } {
    }
  }
}

// -----

// On an executable, all of whose variants would use it.

// expected-error@+1 {{the tuning spec that is embedded in @all_variants cannot be read}}
hal.executable private @all_variants attributes {
  iree_codegen.tuning_spec_mlirbc = dense<32> : vector<4xi8>
} {
  hal.executable.variant public @cuda target(<"cuda", "cuda-nvptx-fb">) {
    builtin.module {
    }
  }
}
