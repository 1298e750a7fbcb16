// A spec is applied to the dispatches that it is for: what it is bound to, and nothing that is foreign to a target.

// RUN: rm -rf %t && mkdir -p %t
// RUN: %python %S/../support/elementwise_specs.py vmvx mine > %t/vmvx.mlir
// RUN: %python %S/../support/elementwise_specs.py llvm-cpu mine > %t/cpu.mlir

// A program for two targets with a spec for one of them that would match in both: it does not reach the other, and a
// warning names the entry.
// RUN: tuninglink compile %s --spec %t/vmvx.mlir --no-default-specs --iree-hal-target-backends=vmvx --iree-hal-target-backends=llvm-cpu --iree-llvmcpu-target-triple=x86_64-linux-gnu --iree-llvmcpu-target-cpu=generic --compile-to=executable-configurations -o %t/unbound 2>%t/warning
// RUN: filecheck %s --check-prefix=FOREIGN --input-file=%t/warning
// RUN: filecheck %s --check-prefix=APPLIED --input-file=%t/unbound
// FOREIGN: vmvx.mlir:{{[0-9]+}}:{{[0-9]+}}: warning: entry 'match_mine' of '{{.*}}vmvx.mlir' is not applied for x86_64: '#iree_codegen.vmvx_pipeline' is not a pipeline of llvm-cpu
// FOREIGN: note: '--spec TARGET={{.*}}vmvx.mlir' binds a spec to its target
// APPLIED: hal.executable.variant public @embedded_elf_x86_64
// APPLIED: translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline
// APPLIED: hal.executable.variant public @vmvx_bytecode_fb
// APPLIED: lowering_config = #iree_cpu.lowering_config<distribution = [8]>

// `explain` says the same.
// RUN: tuninglink explain %s --spec %t/vmvx.mlir --no-default-specs --iree-hal-target-backends=vmvx --iree-hal-target-backends=llvm-cpu --iree-llvmcpu-target-triple=x86_64-linux-gnu --iree-llvmcpu-target-cpu=generic 2>&1 | filecheck %s --check-prefix=EXPLAINED
// EXPLAINED: warning: entry 'match_mine' of '{{.*}}vmvx.mlir' is not applied for x86_64
// EXPLAINED: @add_dispatch_0::@vmvx_bytecode_fb{{ +}}tuned
// EXPLAINED: not tunable, element-wise ops and copies: 50 % of FLOPs

// Bound to its target it is applied there, without a diagnostic about the other; linked before that, too.
// RUN: tuninglink compile %s --spec vmvx=%t/vmvx.mlir --no-default-specs --iree-hal-target-backends=vmvx --iree-hal-target-backends=llvm-cpu --iree-llvmcpu-target-triple=x86_64-linux-gnu --iree-llvmcpu-target-cpu=generic --compile-to=executable-configurations -o %t/bound 2>%t/silence
// RUN: not grep . %t/silence
// RUN: diff %t/bound %t/unbound
// RUN: tuninglink link vmvx=%t/vmvx.mlir X86_64=%t/cpu.mlir -o %t/linked.mlir
// RUN: filecheck %s --check-prefix=LINKED --input-file=%t/linked.mlir
// LINKED: @match_mine({{.*}} attributes {tuninglink.targets = ["vmvx"]}
// LINKED: @match_mine_0({{.*}} attributes {tuninglink.targets = ["x86_64"]}
// RUN: tuninglink compile %s --spec %t/linked.mlir --no-default-specs --iree-hal-target-backends=vmvx --iree-hal-target-backends=llvm-cpu --iree-llvmcpu-target-triple=x86_64-linux-gnu --iree-llvmcpu-target-cpu=generic --compile-to=executable-configurations -o - 2>%t/silence | filecheck %s --check-prefix=BOTH
// RUN: not grep . %t/silence
// BOTH: hal.executable.variant public @embedded_elf_x86_64
// BOTH: lowering_config = #iree_cpu.lowering_config<distribution = [8], vector_common_parallel = [4]>
// BOTH: hal.executable.variant public @vmvx_bytecode_fb
// BOTH: lowering_config = #iree_cpu.lowering_config<distribution = [8]>

// Linked once more, into bytecode, for narrower targets: of two names the more specific one is left.
// RUN: tuninglink link znver4,vmvx=%t/linked.mlir -o %t/narrower.mlirbc
// RUN: tuninglink link %t/narrower.mlirbc | filecheck %s --check-prefix=NARROWER
// NARROWER: tuninglink.targets = ["znver4", "vmvx"]
// RUN: tuninglink link %t/narrower.mlirbc %t/cpu.mlir | filecheck %s --check-prefix=PUSHED
// PUSHED: @match_mine({{.*}} attributes {tuninglink.targets = ["vmvx"]}
// PUSHED: @match_mine_0({{.*}} attributes {tuninglink.targets = ["znver4"]}
// PUSHED-NOT: tuninglink.targets

// A spec for another target configures nothing.
// RUN: tuninglink compile %s --spec gfx942=%t/vmvx.mlir --iree-hal-target-backends=vmvx -o %t/ours 2>&1 | filecheck %s --check-prefix=ELSEWHERE
// RUN: iree-compile %s --iree-hal-target-backends=vmvx -o %t/theirs
// RUN: cmp %t/ours %t/theirs
// ELSEWHERE: warning: spec '{{.*}}vmvx.mlir' configured nothing: it is bound to gfx942, the program is for vmvx

// A path that exists is a path, and a name must be that of a target.
// RUN: cp %t/vmvx.mlir %t/gfx942=mine.mlir
// RUN: tuninglink compile %s --spec %t/gfx942=mine.mlir --iree-hal-target-backends=vmvx -o %t/tuned
// RUN: not cmp %t/tuned %t/theirs
// RUN: not tuninglink compile %s --spec gfx94=%t/vmvx.mlir --iree-hal-target-backends=vmvx -o %t/none 2>&1 | filecheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: unknown target 'gfx94'; did you mean 'gfx942'?

func.func @add(%a: tensor<16xf32>, %b: tensor<16xf32>) -> tensor<16xf32> {
  %sum = arith.addf %a, %b : tensor<16xf32>
  return %sum : tensor<16xf32>
}
