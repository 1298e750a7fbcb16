// `tuninglink init` writes a spec to start from: it passes `check`, and changes not a byte until it is edited.

// RUN: rm -rf %t && mkdir -p %t
// RUN: tuninglink init %S/explain.mlir --iree-hal-target-device=hip --iree-rocm-target=gfx942 --dispatch tuned -o %t/start.mlir 2>%t/said
// RUN: not grep . %t/said
// RUN: filecheck %s --input-file=%t/start.mlir
// CHECK: // The compiler's own configurations of '{{.*}}explain.mlir' for gfx942, written by `tuninglink init`.
// CHECK: // matmul 128x64x256 f16·f16→f32, rhs transposed
// CHECK-NEXT: // @tuned_dispatch_0::@rocm_hsaco_fb: called once; 4,194,304 operations and 131,072 bytes a call
// CHECK-NEXT: transform.named_sequence @match_tuned_dispatch_0_
// CHECK: transform.iree.match.dims_equal %m_dims, [128]
// CHECK-NEXT: transform.iree.match.dims_equal %n_dims, [64]
// CHECK-NEXT: transform.iree.match.dims_equal %k_dims, [256]
// CHECK: // Each knob with its value and its meaning
// CHECK: //   reduction[2] = {{[0-9]+}}  (tile of a step of the reduction; with an mma_kind in intrinsics: k = 256)
// CHECK-NEXT: //       also:
// CHECK: transform.param.constant #iree_codegen.compilation_info<

// RUN: tuninglink check %t/start.mlir --target gfx942
// RUN: tuninglink compile %S/explain.mlir --no-default-specs --iree-hal-target-device=hip --iree-rocm-target=gfx942 -o %t/plain.vmfb
// RUN: tuninglink compile %S/explain.mlir --no-default-specs --spec %t/start.mlir --iree-hal-target-device=hip --iree-rocm-target=gfx942 -o %t/tuned.vmfb
// RUN: cmp %t/plain.vmfb %t/tuned.vmfb

// What is not there cannot be started from.
