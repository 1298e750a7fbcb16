// What becomes of specs in `tuninglink compile`: precedence, default specs, dumps, warnings.

// RUN: rm -rf %t && mkdir -p %t
// RUN: %python %S/../support/elementwise_specs.py llvm-cpu mine > %t/mine.mlir
// RUN: %python %S/../support/elementwise_specs.py vmvx other > %t/other.mlir
// RUN: %python %S/../support/elementwise_specs.py llvm-cpu second > %t/second.mlir
// RUN: %python %S/../support/elementwise_specs.py llvm-cpu packs linalg.pack > %t/packs.mlir

// One spec in default-entrypoint form: the result of `iree-compile` with the same spec, to the last byte.
// RUN: tuninglink compile %s --spec %t/mine.mlir --no-default-specs --iree-hal-target-backends=llvm-cpu --iree-llvmcpu-target-cpu=generic -o %t/ours 2>%t/silence
// RUN: not grep . %t/silence
// RUN: iree-compile %s --iree-codegen-tuning-spec-path=%t/mine.mlir --iree-hal-target-backends=llvm-cpu --iree-llvmcpu-target-cpu=generic -o %t/theirs
// RUN: cmp %t/ours %t/theirs
// RUN: iree-compile %s --iree-hal-target-backends=llvm-cpu --iree-llvmcpu-target-cpu=generic -o %t/untuned
// RUN: not cmp %t/ours %t/untuned

// The first spec wins; a remark names the second one, whose entry is never reached.
// RUN: tuninglink compile %s --spec %t/mine.mlir --spec=%t/second.mlir --iree-hal-target-backends=llvm-cpu --iree-llvmcpu-target-cpu=generic --compile-to=executable-configurations -o - 2>%t/warnings | filecheck %s --check-prefix=FIRST
// RUN: filecheck %s --check-prefix=SECOND --input-file=%t/warnings
// FIRST: lowering_config = #iree_cpu.lowering_config<distribution = [8], vector_common_parallel = [4]>
// FIRST-NOT: tuninglink
// SECOND: warning: spec '{{.*}}/second.mlir' configured nothing: its entry was never the first to match
// SECOND: note: 'tuninglink explain' gives the reason for each dispatch

// A spec that matches nothing is worth a warning and changes nothing.
// RUN: tuninglink compile %s --spec %t/packs.mlir --iree-hal-target-backends=llvm-cpu --iree-llvmcpu-target-cpu=generic -o %t/ours 2>&1 | filecheck %s --check-prefix=NOTHING
// RUN: cmp %t/ours %t/untuned
// NOTHING: warning: spec '{{.*}}/packs.mlir' configured nothing: its entry was never the first to match

// So is one that is never asked.
// RUN: tuninglink compile %s --spec %t/mine.mlir --iree-hal-target-backends=llvm-cpu --iree-llvmcpu-target-cpu=generic --compile-to=flow -o %t/flow 2>&1 | filecheck %s --check-prefix=EARLY
// EARLY: warning: spec '{{.*}}/mine.mlir' configured nothing: the compilation ends before 'executable-sources'
// RUN: iree-compile %s --iree-hal-target-backends=vmvx --compile-to=executable-configurations -o %t/configured.mlir
// RUN: tuninglink compile %t/configured.mlir --spec %t/mine.mlir --compile-from=executable-configurations --compile-to=executable-targets --iree-hal-target-backends=vmvx -o %t/late 2>&1 | filecheck %s --check-prefix=LATE
// LATE: warning: spec '{{.*}}/mine.mlir' configured nothing: the input is past 'executable-sources' already

// Each target has its default spec: a program for two of them carries both, each where it belongs.
// RUN: mkdir %t/defaults
// RUN: %python %S/../support/elementwise_specs.py vmvx for_vmvx > %t/defaults/vmvx.mlir
// RUN: %python %S/../support/elementwise_specs.py llvm-cpu for_x86_64 > %t/defaults/x86_64.mlir
// RUN: tuninglink compile %s --spec-dir %t/defaults --iree-hal-target-backends=vmvx --iree-hal-target-backends=llvm-cpu --iree-llvmcpu-target-triple=x86_64-linux-gnu --iree-llvmcpu-target-cpu=generic --compile-to=executable-configurations --dump-specs-to=%t/dump 2>%t/remarks | filecheck %s --check-prefix=BOTH
// BOTH: hal.executable.variant public @embedded_elf_x86_64
// BOTH: translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>
// BOTH: lowering_config = #iree_cpu.lowering_config<distribution = [8], vector_common_parallel = [4]>
// BOTH: hal.executable.variant public @vmvx_bytecode_fb
// BOTH: translation_info = #iree_codegen.translation_info<pipeline = #iree_codegen.vmvx_pipeline>
// BOTH: lowering_config = #iree_cpu.lowering_config<distribution = [8]>

// A remark names each default spec that configured something, and its entries.
// RUN: filecheck %s --check-prefix=REMARKS --input-file=%t/remarks
// REMARKS-DAG: remark: the default spec for vmvx configured 1 operation; '--no-default-specs' leaves it out
// REMARKS-DAG: note: entry 'match_for_vmvx' configured 1 operation
// REMARKS-DAG: note: the spec is '{{.*}}/defaults/vmvx.mlir'
// REMARKS-DAG: remark: the default spec for x86_64 configured 1 operation; '--no-default-specs' leaves it out
// REMARKS-DAG: note: entry 'match_for_x86_64' configured 1 operation

// The dump holds what was linked, one file for each content, and says who uses it.
// RUN: cat %t/dump/index.json | filecheck %s --check-prefix=INDEX
// INDEX-DAG: "dispatch": "@add_dispatch_0::@vmvx_bytecode_fb"
// INDEX-DAG: "dispatch": "@add_dispatch_0::@embedded_elf_x86_64"
// RUN: tuninglink compile %s --spec-dir=%t/defaults --iree-hal-target-backends=vmvx --compile-to=executable-configurations --iree-codegen-dump-tuning-specs-to=- -o %t/ours | filecheck %s --check-prefix=DUMP
// DUMP: @match_for_vmvx -> @configure
// DUMP-NOT: tuninglink.entry

// Default specs can be turned off, in our words and in the compiler's.
// RUN: tuninglink compile %s --spec-dir %t/defaults --no-default-specs --iree-hal-target-backends=vmvx --compile-to=executable-configurations -o %t/off 2>%t/silence
// RUN: not grep . %t/silence
// RUN: tuninglink compile %s --spec-dir %t/defaults --iree-codegen-enable-default-tuning-specs=false --iree-hal-target-backends=vmvx --compile-to=executable-configurations -o %t/off.too
// RUN: iree-compile %s --iree-hal-target-backends=vmvx --compile-to=executable-configurations -o %t/untuned
// RUN: cmp %t/off %t/untuned
// RUN: cmp %t/off.too %t/untuned
// RUN: not cmp %t/ours %t/untuned

// Embedded by one compilation, applied by another: ours, or the compiler's own.
// RUN: tuninglink compile %s --spec %t/other.mlir --iree-hal-target-backends=vmvx --compile-to=executable-sources -o %t/sources.mlir
// RUN: tuninglink compile %t/sources.mlir --iree-hal-target-backends=vmvx --compile-from=executable-sources --compile-to=executable-configurations | filecheck %s --check-prefix=EMBEDDED
// RUN: iree-compile %t/sources.mlir --iree-hal-target-backends=vmvx --compile-from=executable-sources --compile-to=executable-configurations | filecheck %s --check-prefix=EMBEDDED
// EMBEDDED: lowering_config = #iree_cpu.lowering_config<distribution = [8]>

func.func @add(%a: tensor<16xf32>, %b: tensor<16xf32>) -> tensor<16xf32> {
  %sum = arith.addf %a, %b : tensor<16xf32>
  return %sum : tensor<16xf32>
}
