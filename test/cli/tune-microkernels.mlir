// Where the compiler chooses a microkernel, candidates take its place.

// RUN: tuninglink tune %examples/mmt_2048x1280x5120.mlir --jobs 1 --stop-after compilation --trials 2 --pipeline TileAndFuse --target gfx950 --iree-rocm-enable-tensor-ukernels -o %t | filecheck %s
// RUN: filecheck %s --check-prefix=SPEC < %t/linear_dispatch_0-1.mlir
// RUN: iree-compile %examples/mmt_2048x1280x5120.mlir --iree-codegen-tuning-spec-path=%t/linear_dispatch_0-1.mlir --iree-hal-target-device=hip --iree-rocm-target=gfx950 --iree-rocm-enable-tensor-ukernels --compile-to=executable-configurations -o %t.configured.mlir
// RUN: filecheck %s --check-prefix=CONFIGURED < %t.configured.mlir

// CHECK: @linear_dispatch_0 {{ *}}1 {{ *}}compiles {{ *}}TileAndFuse
// CHECK: @linear_dispatch_0 {{ *}}2 {{ *}}compiles {{ *}}TileAndFuse
// SPEC: transform.annotate %arg0 "iree_codegen.ukernel"
// SPEC-NOT: has_no_lowering_config
// CONFIGURED: linalg.generic {{.*}}iree_codegen.ukernel, lowering_config = #iree_gpu.lowering_config<{mma_kind
