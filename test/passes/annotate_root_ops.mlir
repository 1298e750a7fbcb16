// Each backend by its own rule, which the target around the function decides. The pass nests under any anchor.
// RUN: tuninglink-opt --split-input-file --tuninglink-annotate-root-ops %s | filecheck %s --check-prefixes=CHECK,REPLACE
// RUN: tuninglink-opt --split-input-file --pass-pipeline='builtin.module(hal.executable(hal.executable.variant(builtin.module(tuninglink-annotate-root-ops))),func.func(tuninglink-annotate-root-ops))' %s \
// RUN:   | filecheck %s --check-prefixes=CHECK,REPLACE
// RUN: tuninglink-opt --split-input-file --tuninglink-annotate-root-ops=keep-existing=true %s | filecheck %s --check-prefixes=CHECK,KEEP

// Twice is once.
// RUN: tuninglink-opt --split-input-file --tuninglink-annotate-root-ops %s -o %t.once
// RUN: tuninglink-opt --split-input-file --tuninglink-annotate-root-ops %t.once -o %t.twice
// RUN: cmp %t.once %t.twice

// What reduces comes before what only fills, moves, or computes element by element.

// CHECK-LABEL: func.func @matmul_relu(
// CHECK:         linalg.fill ins
// CHECK:         linalg.matmul {root_op = #iree_codegen.root_op<set = 0>} ins
// CHECK:         linalg.elementwise <exp> ins
// CHECK-LABEL: func.func @elementwise(
// CHECK:         linalg.fill ins
// CHECK:         linalg.generic
// CHECK-SAME:      root_op = #iree_codegen.root_op<set = 0>
// CHECK-LABEL: func.func @fill(
// CHECK:         linalg.fill {root_op = #iree_codegen.root_op<set = 0>} ins
// CHECK-LABEL: func.func @nothing(
// CHECK-NOT:     root_op
// CHECK:         return
func.func @matmul_relu(%a: tensor<8x8xf32>, %zero: f32) -> tensor<8x8xf32> attributes {hal.executable.target = #hal.executable.target<"llvm-cpu", "elf">} {
  %fill = linalg.fill ins(%zero : f32) outs(%a : tensor<8x8xf32>) -> tensor<8x8xf32>
  %product = linalg.matmul ins(%a, %a : tensor<8x8xf32>, tensor<8x8xf32>) outs(%fill : tensor<8x8xf32>) -> tensor<8x8xf32>
  %exp = linalg.elementwise <exp> ins(%product : tensor<8x8xf32>) outs(%a : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %exp : tensor<8x8xf32>
}
func.func @elementwise(%a: tensor<8x8xf32>, %zero: f32) -> tensor<8x8xf32> {
  %fill = linalg.fill ins(%zero : f32) outs(%a : tensor<8x8xf32>) -> tensor<8x8xf32>
  %double = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<8x8xf32>) outs(%fill : tensor<8x8xf32>) {
  ^bb0(%x: f32, %o: f32):
    %sum = arith.addf %x, %x : f32
    linalg.yield %sum : f32
  } -> tensor<8x8xf32>
  return %double : tensor<8x8xf32>
}
func.func @fill(%a: tensor<8x8xf32>, %zero: f32) -> tensor<8x8xf32> {
  %fill = linalg.fill ins(%zero : f32) outs(%a : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %fill : tensor<8x8xf32>
}
func.func @nothing(%a: tensor<8x8xf32>) -> tensor<4x4xf32> {
  %slice = tensor.extract_slice %a[0, 0] [4, 4] [1, 1] : tensor<8x8xf32> to tensor<4x4xf32>
  return %slice : tensor<4x4xf32>
}

// -----

// Each variant by the rule of its target: on a GPU padding has a configuration of its own.

// CHECK-LABEL: hal.executable private @pad {
// CHECK:         hal.executable.variant public @cpu
// CHECK:           tensor.pad
// CHECK:           } : tensor<6x6xf32> to tensor<8x8xf32>
// CHECK:           linalg.elementwise <exp> {root_op = #iree_codegen.root_op<set = 0>} ins
// CHECK:         hal.executable.variant public @gpu
// CHECK:           tensor.pad
// CHECK:           } {root_op = #iree_codegen.root_op<set = 0>} : tensor<6x6xf32> to tensor<8x8xf32>
// CHECK:           linalg.copy ins
hal.executable private @pad {
  hal.executable.variant public @cpu target(<"llvm-cpu", "elf">) {
    hal.executable.export public @pad ordinal(0) layout(#hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer>]>)
    builtin.module {
      func.func @pad(%a: tensor<6x6xf32>, %o: tensor<8x8xf32>, %zero: f32) -> tensor<8x8xf32> {
        %pad = tensor.pad %a low[1, 1] high[1, 1] {
        ^bb0(%i: index, %j: index):
          tensor.yield %zero : f32
        } : tensor<6x6xf32> to tensor<8x8xf32>
        %exp = linalg.elementwise <exp> ins(%pad : tensor<8x8xf32>) outs(%o : tensor<8x8xf32>) -> tensor<8x8xf32>
        return %exp : tensor<8x8xf32>
      }
    }
  }
  hal.executable.variant public @gpu target(<"rocm", "hsaco">) {
    hal.executable.export public @pad ordinal(0) layout(#hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer>]>)
    builtin.module {
      func.func @pad(%a: tensor<6x6xf32>, %o: tensor<8x8xf32>, %zero: f32) -> tensor<8x8xf32> {
        %pad = tensor.pad %a low[1, 1] high[1, 1] {
        ^bb0(%i: index, %j: index):
          tensor.yield %zero : f32
        } : tensor<6x6xf32> to tensor<8x8xf32>
        %copy = linalg.copy ins(%pad : tensor<8x8xf32>) outs(%o : tensor<8x8xf32>) -> tensor<8x8xf32>
        return %copy : tensor<8x8xf32>
      }
    }
  }
}

// -----

// What a spec configured is the root op, whatever the rule says.

// CHECK-LABEL: func.func @configured(
// CHECK:         linalg.fill {compilation_info = #{{[a-z_]+}}, root_op = #iree_codegen.root_op<set = 0>} ins
// CHECK:         linalg.matmul ins
func.func @configured(%a: tensor<8x8xf32>, %zero: f32) -> tensor<8x8xf32> {
  %fill = linalg.fill {compilation_info = #iree_codegen.compilation_info<lowering_config = #iree_codegen.lowering_config<tile_sizes = [[4, 4]]>, translation_info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline>>}
      ins(%zero : f32) outs(%a : tensor<8x8xf32>) -> tensor<8x8xf32>
  %product = linalg.matmul ins(%a, %a : tensor<8x8xf32>, tensor<8x8xf32>) outs(%fill : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %product : tensor<8x8xf32>
}

// -----

// Marks that are there are replaced, or decide about their function.

// CHECK-LABEL:  func.func @marked(
// REPLACE:        linalg.fill ins
// REPLACE:        linalg.matmul {root_op = #iree_codegen.root_op<set = 0>} ins
// KEEP:           linalg.fill {root_op = #iree_codegen.root_op<set = 1>} ins
// KEEP:           linalg.matmul ins
// CHECK-LABEL:  func.func @unmarked(
// CHECK:          linalg.copy {root_op = #iree_codegen.root_op<set = 0>} ins
func.func @marked(%a: tensor<8x8xf32>, %zero: f32) -> tensor<8x8xf32> {
  %fill = linalg.fill {root_op = #iree_codegen.root_op<set = 1>} ins(%zero : f32) outs(%a : tensor<8x8xf32>) -> tensor<8x8xf32>
  %product = linalg.matmul ins(%a, %a : tensor<8x8xf32>, tensor<8x8xf32>) outs(%fill : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %product : tensor<8x8xf32>
}
func.func @unmarked(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %copy = linalg.copy ins(%a : tensor<8x8xf32>) outs(%a : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %copy : tensor<8x8xf32>
}
