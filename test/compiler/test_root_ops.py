"""Root ops: the rules against the compiler's own marks, and what is configured already."""

import inspect
from collections.abc import Iterator
from random import Random

import pytest
from generated_dispatches import random_functions
from iree.compiler import ir as mlir
from iree.compiler.dialects import _linalg_ops_gen, _tensor_ops_gen, iree_codegen
from iree.compiler.dialects.transform import interpreter
from programs import MARK_ROOT_OPS, TARGETS, configured_programs, numbered_marks, run

from tuninglink.errors import SpecError
from tuninglink.iree import find_root_ops, is_computing
from tuninglink.mlir import DiagnosticSink, collect, names, symbol_name, visit
from tuninglink.passes.annotate_root_ops import AnnotateRootOps
from tuninglink.passes.strip_configs import strip_configurations


@pytest.fixture
def context() -> Iterator[mlir.Context]:
    with mlir.Context() as context, mlir.Location.unknown():
        yield context


def fail(diagnostic: object) -> None:
    raise AssertionError(diagnostic)


def annotate(module: mlir.Operation, *, keep_existing: bool = False) -> None:
    AnnotateRootOps(keep_existing=keep_existing).apply(module, DiagnosticSink(fail))
    assert module.verify()


@pytest.mark.parametrize("target", TARGETS)
def test_agrees_with_the_compiler(context: mlir.Context, target: str) -> None:
    marked = mlir.Module.parse(configured_programs(target, MARK_ROOT_OPS), context).operation
    expected = numbered_marks(marked)
    assert len(expected) >= 69
    assert sum(bool(marks) for _, marks in expected) >= 67

    module = mlir.Module.parse(configured_programs(target), context).operation
    assert not any(marks for _, marks in numbered_marks(module))
    annotate(module)
    assert numbered_marks(module) == expected

    # The rule alone, without a look at what the compiler configured.
    strip_configurations(module)
    assert not any(marks for _, marks in numbered_marks(module))
    annotate(module)
    assert numbered_marks(module) == expected


@pytest.mark.parametrize("backend", ["llvm-cpu", "vmvx", "rocm", "cuda", "vulkan", "metal"])
def test_agrees_on_random_functions(context: mlir.Context, backend: str) -> None:
    target, select = SELECTIONS[backend]
    source = random_functions(Random(backend), 60, f"#hal.executable.target<{target}>")
    pipeline = f"--pass-pipeline=builtin.module({select})"
    marked = mlir.Module.parse(run("iree-opt", MARK_ROOT_OPS, pipeline, source=source), context)
    expected = _marks(marked.operation)
    assert all(expected.values())

    module = mlir.Module.parse(source, context).operation
    annotate(module)
    assert _marks(module) == expected


GPU = """iree_codegen.target_info = #iree_gpu.target<
  arch = "gfx942", features = "", wgp = <compute = fp32|fp16|int32|int8, storage = b32|b16|b8,
    subgroup = shuffle|arithmetic, mma = [<MFMA_F32_16x16x4_F32>], subgroup_size_choices = [64],
    max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024,
    max_workgroup_memory_bytes = 65536, max_workgroup_counts = [2147483647, 2147483647, 2147483647],
    max_load_instruction_bits = 128, simds_per_wgp = 4, vgpr_space_bits = 16384>>"""
CPU = """target_triple = "x86_64-unknown-unknown-eabi-elf", native_vector_size = 64 : i64,
  cpu = "znver4", cpu_features = "+avx512f" """
SELECTIONS = {
    "llvm-cpu": (f'"llvm-cpu", "elf", {{{CPU}}}', "iree-llvmcpu-select-lowering-strategy"),
    "vmvx": ('"vmvx", "vm"', "iree-vmvx-select-lowering-strategy"),
    "rocm": (f'"rocm", "hsaco", {{{GPU}}}', "iree-llvmgpu-select-lowering-strategy"),
    "cuda": (f'"cuda", "ptx", {{{GPU}}}', "iree-llvmgpu-select-lowering-strategy"),
    "vulkan": (f'"vulkan-spirv", "spirv", {{{GPU}}}', "iree-spirv-select-lowering-strategy-pass"),
    "metal": (f'"metal-spirv", "msl", {{{GPU}}}', "iree-spirv-select-lowering-strategy-pass"),
}
"""For each backend a target, and the pass that chooses configurations for it."""


def _marks(module: mlir.Operation) -> dict[str, list[tuple[str, int]]]:
    """Return, for each function, its marked operations: name, and how many of that name come before."""
    marks: dict[str, list[tuple[str, int]]] = {}
    for function in collect(module, names.FUNCTION):
        seen: list[str] = []
        found = marks[symbol_name(function) or ""] = []

        def visitor(
            operation: mlir.Operation,
            seen: list[str] = seen,
            found: list[tuple[str, int]] = found,
        ) -> None:
            if names.ROOT_OP in operation.attributes:
                found.append((operation.name, seen.count(operation.name)))
            seen.append(operation.name)

        visit(function, visitor)
    return marks


LINALG_EXT = (
    "arg_compare attention custom_op exp_reduction fft gather im2col index map_load map_store "
    "online_attention scan scatter sort topk topk_v2 winograd.filter_transform "
    "winograd.input_transform winograd.output_transform yield"
)
TILABLE = """
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op) {
    %tilable = transform.structured.match interface{TilingInterface} in %module
        : (!transform.any_op) -> !transform.any_op
    transform.annotate %tilable "tilable" : !transform.any_op
    transform.yield
  }
}"""


def test_knows_which_operations_can_be_tiled(context: mlir.Context) -> None:
    wanted = [f"iree_linalg_ext.{name}" for name in LINALG_EXT.split()]
    for dialect in (_linalg_ops_gen, _tensor_ops_gen, iree_codegen):
        classes = [each for _, each in inspect.getmembers(dialect, inspect.isclass)]
        wanted += {each.OPERATION_NAME for each in classes if hasattr(each, "OPERATION_NAME")}
    assert all(map(context.is_registered_operation, wanted))
    module = mlir.Module.create()
    for name in wanted:
        mlir.Operation.create(name, ip=mlir.InsertionPoint.at_block_begin(module.body))
    library = mlir.Module.parse(TILABLE)
    interpreter.apply_named_sequence(
        module.operation, library.body.operations[0], library.operation
    )
    operations = [operation.operation for operation in module.body.operations]
    tilable = {each.name for each in operations if "tilable" in each.attributes}
    assert len(tilable) > 90
    assert {each.name for each in operations if is_computing(each.name)} == tilable


def roots(source: str) -> list[list[str]]:
    """Return the attribute `name` of each root op, function by function."""
    module = mlir.Module.parse(source).operation
    return [
        [str(root.attributes["name"]).strip('"') for root in function.roots]
        for function in find_root_ops(module)
    ]


ROWS = "tensor<4x4xf32>"


def operation(name: str, *attributes: str) -> str:
    """Return an elementwise operation and its attributes, as text."""
    listed = ", ".join((f'name = "{name}"', *attributes))
    return f"""%{name} = linalg.generic {{
        indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}}
        outs(%input : {ROWS}) attrs = {{{listed}}} {{
      ^bb0(%x: f32):
        linalg.yield %x : f32
      }} -> {ROWS}
      """


def function(*operations: str, name: str = "f") -> str:
    return f"func.func @{name}(%input: {ROWS}) {{ {' '.join(operations)} return }}"


LOWERING = "lowering_config = #iree_codegen.lowering_config<tile_sizes = [[1]]>"
COMPILATION = """compilation_info = #iree_codegen.compilation_info<
  lowering_config = #iree_codegen.lowering_config<tile_sizes = [[1]]>,
  translation_info = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline>>"""


@pytest.mark.usefixtures("context")
class TestConfigured:
    def test_what_a_spec_annotated_is_the_root_op(self) -> None:
        source = function(operation("first", COMPILATION), operation("second"))
        assert roots(source) == [["first"]]

    def test_all_that_a_spec_annotated_are_root_ops(self) -> None:
        source = function(*(operation(name, COMPILATION) for name in ("first", "second")))
        assert roots(source) == [["first", "second"]]

    def test_an_annotation_wins_over_a_configuration(self) -> None:
        source = function(operation("first", COMPILATION), operation("second", LOWERING))
        assert roots(source) == [["first"]]

    def test_the_only_configured_operation_is_the_root_op(self) -> None:
        assert roots(function(operation("first", LOWERING), operation("second"))) == [["first"]]

    def test_of_several_configured_operations_the_rule_finds_the_root_op(self) -> None:
        source = function(*(operation(name, LOWERING) for name in ("first", "second")))
        assert roots(source) == [["second"]]

    def test_without_anything_to_configure_there_is_no_root_op(self) -> None:
        assert roots("func.func @f() { return } func.func private @g()") == [[], []]

    def test_a_function_in_a_spec_is_none_of_a_dispatch(self) -> None:
        source = f"""module attributes {{transform.with_named_sequence}} {{
          {function(operation("first"))}
          transform.named_sequence @match(%op: !transform.any_op {{transform.readonly}}) {{
            transform.yield
          }}
        }}"""
        assert roots(source) == [["first"]]


def executable(count: str, target: str, body: str) -> str:
    return f"""hal.executable private @executable {{
      hal.executable.variant public @variant target(<{target}>) {{
        hal.executable.export public @f ordinal(0)
            layout(#hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer>]>)
            count(%device: !hal.device) -> (index, index, index) {{
          %one = arith.constant 1 : index
          %two = arith.constant 2 : index
          hal.return {count} : index, index, index
        }}
        builtin.module {{ {body} }}
      }}
    }}"""


@pytest.mark.usefixtures("context")
@pytest.mark.parametrize("configured", [False, True])
@pytest.mark.parametrize("backend", ["rocm", "cuda", "vulkan-spirv", "metal-spirv", "llvm-cpu"])
@pytest.mark.parametrize("count", ["%one, %one, %one", "%one, %two, %one"])
def test_a_single_workgroup_is_left_to_one_thread_on_gpus(
    backend: str, count: str, *, configured: bool
) -> None:
    body = function(operation("first", *([LOWERING] if configured else [])))
    source = executable(count, f'"{backend}", "binary"', body)
    has_root = configured or backend == "llvm-cpu" or "%two" in count
    assert roots(source) == [["first"] if has_root else []]


@pytest.mark.usefixtures("context")
def test_a_util_func_belongs_to_a_dispatch_only_inside_a_variant() -> None:
    ukernel = function(operation("inside"), name="ukernel").replace("func.func", "util.func")
    ukernel = ukernel.replace(" return ", " util.return ")
    outside = ukernel.replace("inside", "outside")
    body = function(operation("first")) + ukernel
    source = executable("%two, %two, %two", '"rocm", "binary"', body) + outside
    assert roots(source) == [["first"], ["inside"]]


def marked(module: mlir.Operation) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []

    def visitor(operation: mlir.Operation) -> None:
        if names.ROOT_OP in operation.attributes:
            attributes = operation.attributes
            found.append((str(attributes["name"]).strip('"'), str(attributes[names.ROOT_OP])))

    visit(module, visitor)
    return found


SET_0 = "#iree_codegen.root_op<set = 0>"
SET_7 = "#iree_codegen.root_op<set = 7>"


@pytest.mark.usefixtures("context")
class TestExisting:
    source = (
        function(operation("a", f"root_op = {SET_7}"), operation("b"), name="f")
        + function(operation("c"), name="g")
        + function(operation("d", f"root_op = {SET_7}"), name="h")
    )

    def test_marks_are_replaced(self) -> None:
        module = mlir.Module.parse(self.source).operation
        annotate(module)
        expected = [("b", SET_0), ("c", SET_0), ("d", SET_0)]
        assert marked(module) == expected
        annotate(module)
        assert marked(module) == expected

    def test_marks_are_kept_on_demand(self) -> None:
        module = mlir.Module.parse(self.source).operation
        annotate(module, keep_existing=True)
        assert marked(module) == [("a", SET_7), ("c", SET_0), ("d", SET_7)]

    def test_marks_of_functions_that_compute_nothing_any_more_go(self) -> None:
        source = 'func.func @f() { %0 = arith.constant {name = "x", root_op = SET} 1 : i32 return }'
        module = mlir.Module.parse(source.replace("SET", SET_0)).operation
        annotate(module)
        assert marked(module) == []


@pytest.mark.usefixtures("context")
def test_runs_on_a_single_function() -> None:
    module = mlir.Module.parse(TestExisting.source)
    annotate(module.body.operations[1].operation)
    assert marked(module.operation) == [("a", SET_7), ("c", SET_0), ("d", SET_7)]


@pytest.mark.usefixtures("context")
def test_refuses_a_spec() -> None:
    source = """module attributes {transform.with_named_sequence} {
      transform.named_sequence @main(%v: !transform.any_op {transform.readonly}) -> !transform.any_op
          attributes {iree_codegen.tuning_spec_entrypoint} {
        transform.yield %v : !transform.any_op
      }
    }"""
    module = mlir.Operation.parse(source).operation
    with pytest.raises(SpecError, match="expected a program, found a tuning spec"):
        AnnotateRootOps().apply(module, DiagnosticSink(fail))
