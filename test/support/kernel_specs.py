"""Specs with a kernel written by hand, and a program that they apply to."""

from __future__ import annotations

PTX = """//
.version 8.4
.target sm_80
.address_size 64

.extern .shared .align 16 .b8 dynamic[];
.visible .entry add(
	.param .u64 .ptr .global .align 16 add_param_0,
	.param .u64 .ptr .global .align 16 add_param_1,
	.param .u64 .ptr .global .align 16 add_param_2
)
.reqntid 128
{
	ret;
}
"""
"""A kernel that declares what it takes, and computes nothing."""

TYPE = "tensor<8x16xf32>"

PROGRAM = f"""
func.func @main(%a: {TYPE}, %b: {TYPE}) -> {TYPE} {{
  %e = tensor.empty() : {TYPE}
  %c = linalg.generic {{indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}}
      ins(%a, %b : {TYPE}, {TYPE}) outs(%e : {TYPE}) {{
  ^bb0(%x: f32, %y: f32, %z: f32):
    %s = arith.addf %x, %y : f32
    linalg.yield %s : f32
  }} -> {TYPE}
  return %c : {TYPE}
}}
"""


def kernel_spec(ptx: bytes | str = PTX, *, shown: str = TYPE, attributes: str = "") -> str:
    """Return a spec whose entry replaces the op of the program by a kernel.

    Args:
        ptx: the object.
        shown: the type that the matcher shows.
        attributes: discardable attributes of the matcher.
    """
    content = ptx.encode() if isinstance(ptx, str) else ptx
    data = f'dense<"0x{content.hex()}"> : vector<{len(content)}xi8>'
    return f"""
module attributes {{transform.with_named_sequence}} {{
  util.func private @call(%a: {TYPE}, %b: {TYPE}, %e: {TYPE}) -> {TYPE} {{
    %0 = "hal.dispatch.extern"(%a, %b) <{{export_name = "add",
      layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer, ReadOnly>, #hal.pipeline.binding<storage_buffer, ReadOnly>, #hal.pipeline.binding<storage_buffer>]>,
      operandSegmentSizes = array<i32: 0, 2, 0, 0>,
      targets = [#hal.executable.target<"cuda", "cuda-nvptx-fb">], target_ordinals = [0 : index],
      target_objects = [[#hal.executable.object<{{path = "add.ptx", data = {data}}}>]],
      tied_operands = [-1 : index],
      workgroup_size = [128 : index, 1 : index, 1 : index], workgroup_local_memory = 4096 : index}}> ({{
    ^bb0(%device: !hal.device):
      %x = arith.constant 1 : index
      hal.return %x, %x, %x : index, index, index
    }}, {{
    }}) : ({TYPE}, {TYPE}) -> {TYPE}
    util.return %0 : {TYPE}
  }}
  transform.named_sequence @match(%root: !transform.any_op {{transform.readonly}}) -> (!transform.any_op, !transform.any_value, !transform.any_value) attributes {{{attributes}}} {{
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %root {{
    ^bb0(%a: {shown}, %b: {shown}, %e: {shown}):
      %c = linalg.generic {{indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}}
          ins(%a, %b : {shown}, {shown}) outs(%e : {shown}) {{
      ^bb0(%x: f32, %y: f32, %z: f32):
        %s = arith.addf %x, %y : f32
        linalg.yield %s : f32
      }} -> {shown}
    }} : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
    transform.yield %root, %ins, %outs : !transform.any_op, !transform.any_value, !transform.any_value
  }}
  transform.named_sequence @replace(%root: !transform.any_op {{transform.readonly}}, %ins: !transform.any_value {{transform.readonly}}, %out: !transform.any_value {{transform.readonly}}) {{
    %module = transform.util.get_nearest_symbol_table %root : (!transform.any_op) -> !transform.any_op
    %func = transform.util.import_symbol @call into %module if undefined : (!transform.any_op) -> !transform.any_op
    transform.util.cast_and_call %func(%ins) -> %out after %root {{ transform.type_conversion.tensor.cast_shape_dynamic_dims }} : (!transform.any_op, !transform.any_value, !transform.any_value, !transform.any_op) -> !transform.any_op
    transform.yield
  }}
  transform.named_sequence @__transform_main(%module: !transform.any_op {{transform.consumed}}) {{
    %funcs = transform.structured.match ops{{["util.func"]}} in %module : (!transform.any_op) -> !transform.any_op
    transform.foreach %funcs : !transform.any_op {{
    ^bb1(%f: !transform.any_op):
      transform.foreach_match in %f @match -> @replace : (!transform.any_op) -> !transform.any_op
    }}
    transform.apply_dce to %module : !transform.any_op
    %inlined = transform.apply_registered_pass "inline" to %module : (!transform.any_op) -> !transform.any_op
    transform.yield
  }}
}}
"""
