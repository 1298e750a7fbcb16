// To standard output: each distinct content once, with the file it would be and who uses it.
// RUN: tuninglink-opt %s --pass-pipeline='builtin.module(tuninglink-materialize-specs{prune=false specs=%S/Inputs/user_spec.mlir},tuninglink-dump-specs)' -o %t.mlir | filecheck %s --check-prefix=STDOUT
// STDOUT:      // [[GFX942:mi300x-[0-9a-f]+.mlir]]: @first::@rocm and 1 more
// STDOUT:      module @iree_linked_tuning_spec
// STDOUT:        @match_generic -> @mark_as_users
// STDOUT:        @match_attention_BxBxMx64x64x64_f16 -> @configure_attention
// STDOUT:      // -----
// STDOUT-NEXT: // [[CPU:znver4-[0-9a-f]+.mlir]]: @third::@cpu
// STDOUT:      module @user_spec
// STDOUT-NOT:    @configure_attention
// STDOUT:        @match_generic -> @mark_as_users
// STDOUT-NOT:  module @

// What is printed can be read again.
// RUN: tuninglink-opt %t.mlir --tuninglink-dump-specs=to=- -o %t.null | iree-opt --no-implicit-module --split-input-file | filecheck %s --check-prefix=AGAIN
// AGAIN: module @iree_linked_tuning_spec
// AGAIN: module @user_spec

// The program stays as it is.
// RUN: cmp %t.mlir %t.null

// To a directory, which is made: one file for each distinct content, and the index.
// RUN: rm -rf %t.dir
// RUN: tuninglink-opt %t.mlir --tuninglink-dump-specs=to=%t.dir/specs -o %t.null
// RUN: ls %t.dir/specs | filecheck %s --check-prefix=FILES
// FILES:      index.json
// FILES-NEXT: mi300x-{{[0-9a-f]+}}.mlir
// FILES-NEXT: znver4-{{[0-9a-f]+}}.mlir
// FILES-NOT:  {{.}}
// RUN: filecheck %s --check-prefix=INDEX --input-file=%t.dir/specs/index.json
// INDEX:      "version": 1,
// INDEX-NEXT: "specs": [
// INDEX:        "file": "[[GFX942:mi300x-[0-9a-f]+.mlir]]",
// INDEX-NEXT:   "name": "iree_linked_tuning_spec",
// INDEX-NEXT:   "sha256": "{{[0-9a-f]+}}",
// INDEX-NEXT:   "entries": 4
// INDEX:        "file": "[[CPU:znver4-[0-9a-f]+.mlir]]",
// INDEX-NEXT:   "name": "user_spec",
// INDEX-NEXT:   "sha256": "{{[0-9a-f]+}}",
// INDEX-NEXT:   "entries": 1
// INDEX:      "dispatches": [
// INDEX:        "dispatch": "@first::@rocm",
// INDEX-NEXT:   "target": "mi300x",
// INDEX-NEXT:   "spec": "[[GFX942]]"
// INDEX:        "dispatch": "@second::@rocm",
// INDEX-NEXT:   "target": "mi308x",
// INDEX-NEXT:   "spec": "[[GFX942]]"
// INDEX:        "dispatch": "@third::@cpu",
// INDEX-NEXT:   "target": "znver4",
// INDEX-NEXT:   "spec": "[[CPU]]"

// The files are specs.
// RUN: tuninglink-opt --no-implicit-module %t.dir/specs/mi300x-*.mlir | filecheck %s --check-prefix=FILE
// FILE: module @iree_linked_tuning_spec

// As bytecode, which is a spec too.
// RUN: tuninglink-opt %t.mlir --tuninglink-dump-specs='to=%t.dir/bytecode format=mlirbc' -o %t.null
// RUN: tuninglink-opt --no-implicit-module %t.dir/bytecode/mi300x-*.mlirbc | filecheck %s --check-prefix=FILE
// RUN: not tuninglink-opt %t.mlir --tuninglink-dump-specs=format=mlirbc -o %t.null 2>&1 | filecheck %s --check-prefix=MANY
// MANY: error: cannot write 2 specs as bytecode to one stream; dump them to a directory, or as text

// A program that carries nothing.
// RUN: tuninglink-opt %s --tuninglink-dump-specs=to=%t.dir/none -o %t.null 2>&1 | filecheck %s --check-prefix=NONE
// NONE: remark: nothing to dump: no dispatch carries a tuning spec

// A place that cannot be written to.
// RUN: not tuninglink-opt %t.mlir --tuninglink-dump-specs=to=%t.mlir/specs -o %t.null 2>&1 | filecheck %s --check-prefix=NO-DIRECTORY
// NO-DIRECTORY: error: cannot make '{{.*}}/specs': not a directory

hal.executable private @first {
  hal.executable.variant public @rocm target(<"rocm", "rocm-hsaco-fb", {
      iree_codegen.target_info = #iree_gpu.target<arch = "gfx942", features = "",
        wgp = <compute = fp32, storage = b32, subgroup = none, subgroup_size_choices = [64],
               max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024,
               max_workgroup_memory_bytes = 65536,
               max_workgroup_counts = [2147483647, 2147483647, 2147483647]>,
        chip = <wgp_count = 304, sku = "mi300x">>}>) {
    builtin.module {
      func.func private @nothing()
    }
  }
}
hal.executable private @second {
  hal.executable.variant public @rocm target(<"rocm", "rocm-hsaco-fb", {
      iree_codegen.target_info = #iree_gpu.target<arch = "gfx942", features = "",
        wgp = <compute = fp32, storage = b32, subgroup = none, subgroup_size_choices = [64],
               max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024,
               max_workgroup_memory_bytes = 65536,
               max_workgroup_counts = [2147483647, 2147483647, 2147483647]>,
        chip = <wgp_count = 80, sku = "mi308x">>}>) {
    builtin.module {
      func.func private @nothing()
    }
  }
}
hal.executable private @third {
  hal.executable.variant public @cpu target(<"llvm-cpu", "embedded-elf-x86_64", {
      cpu = "znver4", target_triple = "x86_64-unknown-unknown-eabi-elf"}>) {
    builtin.module {
      func.func private @nothing()
    }
  }
}
