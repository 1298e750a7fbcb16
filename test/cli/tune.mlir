// From a program to a spec that wins: flags make the compiler choose badly, so that anything else is better.

// RUN: rm -rf %t && mkdir -p %t
// RUN: tuninglink tune -v %s --jobs 1 -o %t/tuned.mlir --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host --iree-llvmcpu-distribution-size=1 --device local-sync --only matmul --trials 3 --search random --database %t/tuning.db --report %t/report 2>%t/progress
// RUN: filecheck %s --input-file=%t/progress --check-prefix=PROGRESS
// PROGRESS: 2 problems in 3 calls, on {{.+}} (local-sync)
// PROGRESS: @main_dispatch_0: contraction 4x256x256 f32xf32xf32: {{.+}}s, 100% of the time
// PROGRESS: best {{.+}}s ({{.+}}x)
// PROGRESS: comparing {{[1-3]}} candidate
// PROGRESS-NEXT: @main_dispatch_0: won: {{.+}}s to {{.+}}s{{.*}}; 100% of the time, 3 candidates tried (trials)
// PROGRESS: running the whole program with the spec and without
// PROGRESS-NEXT: relative error of the outputs against llvm-cpu for a generic processor: {{.+}} by default, {{.+}} with the spec
// PROGRESS-NEXT: {{.+}} ms without the spec, {{.+}} ms with it: speedup {{.+}}
// PROGRESS: tuning under these flags took {{.+}} s, the device busy for {{.+}}% of it: {{.+}} s

// RUN: filecheck %s --input-file=%t/tuned.mlir --check-prefix=SPEC
// SPEC: module @tuned attributes {iree_codegen.tuning_spec_with_default_entrypoint, transform.with_named_sequence}
// SPEC: transform.named_sequence @match_main_dispatch_0_matmul_4x256x256_f32
// SPEC-SAME: tuninglink.provenance = {compiler = "{{.+}}", date = "{{.+}}", default_us = {{.+}} : f64, device = "{{.+}}", driver = "local-sync{{.*}}", interval = [{{.+}}, {{.+}}], target = "{{.+}}", trials = 3 : i64, tuned_us = {{.+}} : f64}, tuninglink.targets = ["{{.+}}"]}
// SPEC: transform.iree.match.contraction
// SPEC: transform.iree.match.dims_equal %m_dims, [4]

// The spec holds under our own checks, takes effect in the program, and says where it comes from.
// RUN: tuninglink check %t/tuned.mlir 2>&1 | filecheck %s --check-prefix=CHECK
// CHECK: tuned.mlir (matcher list, 1 entry)
// CHECK-NOT: error
// RUN: tuninglink explain %s --spec %t/tuned.mlir --no-default-specs --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host | filecheck %s --check-prefix=EXPLAIN
// EXPLAIN: @main_dispatch_0::@embedded_elf_x86_64 {{ *}}tuned
// EXPLAIN: entry {{ *}}@match_main_dispatch_0_matmul_4x256x256_f32
// EXPLAIN-NEXT: provenance {{ *}}compiler = {{.+}}, default_us = {{.+}}
// RUN: iree-compile %s -o %t/tuned.vmfb --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host --iree-codegen-tuning-spec-path=%t/tuned.mlir

// RUN: filecheck %s --input-file=%t/report/report.json --check-prefix=REPORT
// REPORT: "outcome": "won"
// REPORT: "guarded": true,
// REPORT: "outputs": {
// REPORT-NEXT: "source": "llvm-cpu for a generic processor",
// REPORT: "default_is_wrong": false,

// What is in the database is not measured again, and wins again. Standard output has the spec once.
// RUN: tuninglink tune %s --jobs 1 --iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host --iree-llvmcpu-distribution-size=1 --device local-sync --only matmul --trials 3 --search random --database %t/tuning.db --no-model 2>%t/progress >%t/again.mlir
// RUN: filecheck %s --input-file=%t/progress --check-prefix=AGAIN
// AGAIN-NOT: comparing
// AGAIN: won:
// RUN: sed -i "s/guarded = false, //" %t/again.mlir
// RUN: diff %t/tuned.mlir %t/again.mlir

// A search can be judged by what was recorded: the table is read with its program.
// RUN: tuninglink database export %t/tuning.db --format tables -o %t/tables
// RUN: tuninglink database import %t/table.db %t/tables/contraction_4x256x256_f32xf32xf32.json | filecheck %s --check-prefix=TABLE
// TABLE: 4 trials added

func.func @main(%a: tensor<4x256xf32>, %b: tensor<256x256xf32>, %x: tensor<64x256xf32>) -> (tensor<4x256xf32>, tensor<64xf32>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x256xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x256xf32>) -> tensor<4x256xf32>
  %first = linalg.matmul ins(%a, %b : tensor<4x256xf32>, tensor<256x256xf32>) outs(%start : tensor<4x256xf32>) -> tensor<4x256xf32>
  %second = linalg.matmul ins(%first, %b : tensor<4x256xf32>, tensor<256x256xf32>) outs(%start : tensor<4x256xf32>) -> tensor<4x256xf32>
  %few = tensor.empty() : tensor<64xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%few : tensor<64xf32>) -> tensor<64xf32>
  %sums = linalg.reduce { arith.addf } ins(%x : tensor<64x256xf32>) outs(%zeros : tensor<64xf32>) dimensions = [1]
  return %second, %sums : tensor<4x256xf32>, tensor<64xf32>
}
