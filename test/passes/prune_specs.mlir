// What is carried after each way of getting there.
// RUN: tuninglink-opt %s --split-input-file --pass-pipeline='builtin.module(tuninglink-materialize-specs{prune=false specs=%S/Inputs/matmul_specs.mlir},tuninglink-prune-specs,tuninglink-dump-specs)' -o %t.mlir | filecheck %s
// RUN: tuninglink-opt %s --split-input-file --pass-pipeline='builtin.module(tuninglink-materialize-specs{specs=%S/Inputs/matmul_specs.mlir},tuninglink-dump-specs)' -o %t.mlir | filecheck %s
// RUN: tuninglink-opt %s --split-input-file --pass-pipeline='builtin.module(tuninglink-materialize-specs{prune=false specs=%S/Inputs/matmul_specs.mlir},tuninglink-prune-specs,tuninglink-prune-specs,tuninglink-dump-specs)' -o %t.mlir | filecheck %s

// A chain that was linked before stays whole: its guarded lists are opaque.
// RUN: tuninglink-opt %s --split-input-file --pass-pipeline='builtin.module(tuninglink-materialize-specs{prune=false specs=%S/Inputs/opaque_spec.mlir,%S/Inputs/matmul_specs.mlir},tuninglink-prune-specs,tuninglink-dump-specs)' -o %t.mlir | filecheck %s --check-prefix=CHAIN

// What they configure, pruned and whole.
// RUN: tuninglink-opt %s --split-input-file --pass-pipeline='builtin.module(tuninglink-materialize-specs{specs=%S/Inputs/matmul_specs.mlir},hal.executable(hal.executable.variant(builtin.module(iree-codegen-materialize-user-configs))))' -o %t.pruned
// RUN: tuninglink-opt %s --split-input-file --pass-pipeline='builtin.module(tuninglink-materialize-specs{prune=false specs=%S/Inputs/matmul_specs.mlir},hal.executable(hal.executable.variant(builtin.module(iree-codegen-materialize-user-configs))))' -o %t.whole
// RUN: cmp %t.pruned %t.whole
// RUN: filecheck %s --check-prefix=APPLIED --input-file=%t.pruned

// An entry for these very sizes stays, and so does its helper; the sizes of two loops are not enough for it.

// CHECK:      module @matmuls
// CHECK-NOT:    @bf16
// CHECK:        named_sequence @f16_64x32x128(
// CHECK-NEXT:     include @is_f16
// CHECK:        named_sequence @is_f16(
// CHECK:        named_sequence @mark(
// CHECK:        foreach_match in
// CHECK-NEXT:     @f16_64x32x128 -> @mark :

// CHAIN:      module @iree_linked_tuning_spec
// CHAIN:          named_sequence @f16_64x32x128(
// CHAIN:            @is_decided_0 -> @skip_0,
// CHAIN-NEXT:       @f16_64x32x128 -> @mark_0,
// CHAIN:            @attention -> @mark_0 :
// CHAIN:        named_sequence @__kernel_config(
// CHAIN:          include @main failures(suppress)
// CHAIN-NEXT:     include @kernel_config failures(suppress)

// APPLIED-LABEL: func.func @exact
// APPLIED:         who = "f16_64x32x128"
hal.executable private @exact {
  hal.executable.variant public @vmvx target(<"vmvx", "vmvx-bytecode-fb">) {
    builtin.module {
      func.func @exact(%a: tensor<64x128xf16>, %b: tensor<128x32xf16>, %c: tensor<64x32xf32>) -> tensor<64x32xf32> {
        %0 = linalg.matmul ins(%a, %b : tensor<64x128xf16>, tensor<128x32xf16>) outs(%c : tensor<64x32xf32>) -> tensor<64x32xf32>
        return %0 : tensor<64x32xf32>
      }
    }
  }
}

// -----

// A loop of size 1 more, and loops in another order: the compiler may add and remove those.

// CHECK:        foreach_match in
// CHECK-NEXT:     @f16_64x32x128 -> @mark :
hal.executable private @unit_dimension {
  hal.executable.variant public @vmvx target(<"vmvx", "vmvx-bytecode-fb">) {
    builtin.module {
      func.func @unit_dimension(%a: tensor<1x64x128xf16>, %b: tensor<1x128x32xf16>, %c: tensor<1x64x32xf32>) -> tensor<1x64x32xf32> {
        %0 = linalg.batch_matmul ins(%a, %b : tensor<1x64x128xf16>, tensor<1x128x32xf16>) outs(%c : tensor<1x64x32xf32>) -> tensor<1x64x32xf32>
        return %0 : tensor<1x64x32xf32>
      }
    }
  }
}

// -----

// Where an entry leaves a size open, any will do.

// CHECK:        foreach_match in
// CHECK-NEXT:     @f16_any_rows -> @mark :
// APPLIED-LABEL: func.func @open
// APPLIED:         who = "f16_any_rows"
hal.executable private @open {
  hal.executable.variant public @vmvx target(<"vmvx", "vmvx-bytecode-fb">) {
    builtin.module {
      func.func @open(%a: tensor<80x256xf16>, %b: tensor<256x32xf16>, %c: tensor<80x32xf32>) -> tensor<80x32xf32> {
        %0 = linalg.matmul ins(%a, %b : tensor<80x256xf16>, tensor<256x32xf16>) outs(%c : tensor<80x32xf32>) -> tensor<80x32xf32>
        return %0 : tensor<80x32xf32>
      }
    }
  }
}

// -----

// Nothing but the types says something of dynamic sizes. Types may come from anything that is fused.

// CHECK:        foreach_match in
// CHECK-NEXT:     @f16_64x32x128 -> @mark,
// CHECK-NEXT:     @f16_any_rows -> @mark :
hal.executable private @dynamic {
  hal.executable.variant public @vmvx target(<"vmvx", "vmvx-bytecode-fb">) {
    builtin.module {
      func.func @dynamic(%a: tensor<?x128xf16>, %b: tensor<128x32xf16>, %c: tensor<?x32xf32>) -> tensor<?x32xf32> {
        %0 = linalg.matmul ins(%a, %b : tensor<?x128xf16>, tensor<128x32xf16>) outs(%c : tensor<?x32xf32>) -> tensor<?x32xf32>
        return %0 : tensor<?x32xf32>
      }
    }
  }
}

// -----

// Single bits become bytes, so where there are any, all types may be there; sizes still count.

// CHECK:        foreach_match in
// CHECK-NEXT:     @f16_64x32x128 -> @mark,
// CHECK-NEXT:     @bf16 -> @mark :
hal.executable private @bits {
  hal.executable.variant public @vmvx target(<"vmvx", "vmvx-bytecode-fb">) {
    builtin.module {
      func.func @bits(%a: tensor<64x128xi1>, %b: tensor<128x32xi8>, %c: tensor<64x32xi32>) -> tensor<64x32xi32> {
        %0 = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
            iterator_types = ["parallel", "parallel", "reduction"]}
            ins(%a, %b : tensor<64x128xi1>, tensor<128x32xi8>) outs(%c : tensor<64x32xi32>) {
        ^bb0(%x: i1, %y: i8, %z: i32):
          %wide_x = arith.extui %x : i1 to i32
          %wide_y = arith.extsi %y : i8 to i32
          %p = arith.muli %wide_x, %wide_y : i32
          %s = arith.addi %z, %p : i32
          linalg.yield %s : i32
        } -> tensor<64x32xi32>
        return %0 : tensor<64x32xi32>
      }
    }
  }
}

// -----

// The lowering of an unknown operation is unknown: everything stays.

// CHECK:        foreach_match in
// CHECK-NEXT:     @f16_64x32x128 -> @mark,
// CHECK-NEXT:     @f16_any_rows -> @mark,
// CHECK-NEXT:     @bf16 -> @mark,
// CHECK-NEXT:     @attention -> @mark :
hal.executable private @unknown {
  hal.executable.variant public @vmvx target(<"vmvx", "vmvx-bytecode-fb">) {
    builtin.module {
      func.func @unknown(%a: tensor<64x128xf32>, %b: tensor<64x128xf32>) -> tensor<64x128xf32> {
        %0 = linalg.softmax dimension(1) ins(%a : tensor<64x128xf32>) outs(%b : tensor<64x128xf32>) -> tensor<64x128xf32>
        return %0 : tensor<64x128xf32>
      }
    }
  }
}

// -----

// An attention may be taken apart into contractions with some of its loops, of any types.

// CHECK:        foreach_match in
// CHECK-NEXT:     @f16_64x32x128 -> @mark,
// CHECK-NEXT:     @bf16 -> @mark,
// CHECK-NEXT:     @attention -> @mark :
// APPLIED-LABEL: func.func @attention
// APPLIED:         who = "attention"
hal.executable private @attention {
  hal.executable.variant public @vmvx target(<"vmvx", "vmvx-bytecode-fb">) {
    builtin.module {
      func.func @attention(%q: tensor<4x64x128xf32>, %k: tensor<4x32x128xf32>, %v: tensor<4x32x16xf32>, %s: f32, %c: tensor<4x64x16xf32>) -> tensor<4x64x16xf32> {
        %0 = iree_linalg_ext.attention <{indexing_maps = [
            affine_map<(b, m, n, k1, k2) -> (b, m, k1)>, affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>,
            affine_map<(b, m, n, k1, k2) -> (b, k2, n)>, affine_map<(b, m, n, k1, k2) -> ()>,
            affine_map<(b, m, n, k1, k2) -> (b, m, n)>]}>
            ins(%q, %k, %v, %s : tensor<4x64x128xf32>, tensor<4x32x128xf32>, tensor<4x32x16xf32>, f32)
            outs(%c : tensor<4x64x16xf32>) {
        ^bb0(%score: f32):
          iree_linalg_ext.yield %score : f32
        } -> tensor<4x64x16xf32>
        return %0 : tensor<4x64x16xf32>
      }
    }
  }
}
