"""Explanations: their contents on dispatches, specs and bad input, and their agreement with the compiler."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import jsonschema
import pytest
from elementwise_specs import PROGRAM, matcher, matcher_list, spec
from iree.compiler import ir as mlir
from json_schema import schema_of
from matched_operations import compile_with_dumps
from programs import EXAMPLES, PROGRAMS, TARGETS, run
from tuning_programs import matmul

import tuninglink
from tuninglink.compiler import DispatchSources, compilation, prepare_dispatches
from tuninglink.errors import CompileError, TuninglinkError
from tuninglink.explaining import Explanation, Profile, Status, read_profile, with_times
from tuninglink.iree import find_dispatches
from tuninglink.mlir import (
    DiagnosticSink,
    collect,
    error,
    names,
    symbol_name,
    thread_context,
    visit,
)
from tuninglink.passes.strip_configs import strip_configurations
from tuninglink.plain_data import to_json_by_line

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tuninglink.compiler import Phase, Session
    from tuninglink.explaining import DispatchReport

HIP = TARGETS["hip"]
VMVX = TARGETS["vmvx"]
MATMUL = (EXAMPLES / "mmt_2048x1280x5120.mlir").read_text()
MATMUL_NAME = "linear_dispatch_0_matmul_like_2048x1280x5120_f16xf16xf32"
MATMUL_SPEC = (EXAMPLES / "spec_gfx942.mlir").read_text()


SCHEMA = schema_of(Explanation)


def explain(source: str, *specs: str, flags: tuple[str, ...] = HIP) -> Explanation:
    """Explain a program, and check that the explanation is of the documented form."""
    explained = tuninglink.explain(
        source.encode(),
        specs=[each.encode() for each in specs],
        default_specs=False,
        flags=flags,
        diagnostics=DiagnosticSink(lambda _: None),
    )
    jsonschema.validate(json.loads(to_json_by_line(explained)), SCHEMA)
    return explained


def only(explained: Explanation) -> DispatchReport:
    (dispatch,) = explained.dispatches
    return dispatch


# --- What a dispatch computes ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "matmul",
            [
                "matmul 64x96x128 f32·f32→f32",
                "matmul 128x128x256 f16·f16→f32",
                "matmul 128x64x256 bf16·bf16→f32, rhs transposed",
                "matmul 64x128x96 f16·f16→f32, lhs transposed",
                "matmul 128x32x64 i8·i8→i32, lhs transposed, rhs transposed",
                "batch matmul 4x64x96x128 f16·f16→f32",
                "matvec 256x512 f32·f32→f32",
                "matmul 32x32x64 i8·i8→i32",
                "matmul ?x?x128 f32·f32→f32",
                "matmul 128x128x64 f16·f16→f32",
                "matmul 128x256x64 f32·f32→f32",
                "reduction 128x256 over 256 f32→f32",
            ],
        ),
        (
            "convolution",
            [
                "convolution 16x16x32 f16·f16→f32, hwc_hwcf, filter 3x3, input channels 64",
                "convolution 16x16x32 f32·f32→f32, chw_fchw, filter 3x3, input channels 16",
                "convolution 2x8x8x16 f16·f16→f32, nhwc_hwcf, filter 3x3, input channels 32, strides 2x2",
                "depthwise convolution 16x16x32 f32·f32→f32, hwc_hwc, filter 3x3",
                "convolution 2x8x8x64 f16·f16→f32, nhwc_fhwc, filter 3x3, input channels 32",
                "pooling 32x8x8 f32·f32→f32, filter 2x2, strides 2x2",
            ],
        ),
        (
            "attention",
            [
                "online attention batch 4, m 128, n 64, k1 64, k2 256 f16·f16·f16→f32",
                "online attention batch 4, m 64, n 64, k1 64, k2 128 f16·f16·f16→f32",
                "online attention batch 2, m 32, n 32, k1 32, k2 64 f32·f32·f32→f32",
                "online attention batch 4, m 128, n 64, k1 64, k2 256 f16·f16·f16→f32",
            ],
        ),
    ],
)
def test_operations_are_put_into_words(name: str, words: list[str]) -> None:
    explained = explain((PROGRAMS / f"{name}.mlir").read_text())
    assert [each.words for one in explained.dispatches for each in one.operations] == words
    assert {one.status for one in explained.dispatches} == {Status.NO_ENTRY}


GROUPED = """
func.func @grouped(%image: tensor<1x4x8x30x30xf32>, %filter: tensor<4x16x8x3x3xf32>) -> tensor<1x4x16x28x28xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x4x16x28x28xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x4x16x28x28xf32>) -> tensor<1x4x16x28x28xf32>
  %result = linalg.conv_2d_ngchw_gfchw
      {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
      ins(%image, %filter : tensor<1x4x8x30x30xf32>, tensor<4x16x8x3x3xf32>)
      outs(%fill : tensor<1x4x16x28x28xf32>) -> tensor<1x4x16x28x28xf32>
  return %result : tensor<1x4x16x28x28xf32>
}
"""


ONE_CHANNEL = """
func.func @one(%image: tensor<44x44xf32>, %filter: tensor<5x5xf32>) -> tensor<40x40xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<40x40xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<40x40xf32>) -> tensor<40x40xf32>
  %result = linalg.conv_2d ins(%image, %filter : tensor<44x44xf32>, tensor<5x5xf32>)
      outs(%fill : tensor<40x40xf32>) -> tensor<40x40xf32>
  return %result : tensor<40x40xf32>
}
"""

POOLING = """
func.func @pool(%image: tensor<1x40x40x8xf32>) -> tensor<1x20x20x8xf32> {
  %zero = arith.constant 0.0 : f32
  %window = tensor.empty() : tensor<2x2xf32>
  %empty = tensor.empty() : tensor<1x20x20x8xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x20x20x8xf32>) -> tensor<1x20x20x8xf32>
  %result = linalg.pooling_nhwc_sum {strides = dense<2> : tensor<2xi64>}
      ins(%image, %window : tensor<1x40x40x8xf32>, tensor<2x2xf32>)
      outs(%fill : tensor<1x20x20x8xf32>) -> tensor<1x20x20x8xf32>
  return %result : tensor<1x20x20x8xf32>
}
"""


@pytest.mark.parametrize(
    ("program", "words"),
    [(ONE_CHANNEL, "convolution 40x40 f32"), (POOLING, "pooling 8x20x20 f32")],
)
def test_a_convolution_of_one_channel_is_not_a_pooling(program: str, words: str) -> None:
    (operation,) = only(explain(program)).operations
    assert operation.words.startswith(words)


def test_a_convolution_with_groups_of_channels_is_not_depthwise() -> None:
    (operation,) = only(explain(GROUPED)).operations
    assert operation.words.startswith("grouped convolution 28x28x16x4 f32")
    assert "input channels 8" in operation.words


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("llvm-cpu", "convolution"),
        ("llvm-cpu", "attention"),
        ("llvm-cpu", "formed"),
        ("vmvx", "attention"),
        ("hip", "layout"),
        ("vulkan", "convolution"),
    ],
)
def test_what_is_explained_is_what_matchers_see(target: str, name: str) -> None:
    """The compiler prints what matchers see: dispatches are prepared as it prepares them."""
    flags = TARGETS[target]
    source = (PROGRAMS / f"{name}.mlir").read_text()
    sources = run("iree-compile", "--compile-to=executable-sources", *flags, "-o=-", source=source)
    phases = ("--compile-from=executable-sources", "--compile-to=executable-configurations")
    configured, seen = compile_with_dumps("iree-compile", *flags, *phases, "-o=-", source=sources)
    expected = {names_of(each): operations_of(each) for each in seen}
    context = thread_context()
    before = mlir.Module.parse(sources, context)
    after = mlir.Module.parse(configured, context)
    strip_configurations(after.operation)
    dispatches = find_dispatches(after.operation)
    prepared = prepare_dispatches(dispatches, DispatchSources(before.operation))
    modules = prepared.modules.values()
    found = {names_of(each): operations_of(each) for each in modules if each is not None}
    assert found == expected


def names_of(module: mlir.Operation) -> str:
    return " ".join(symbol_name(each) or "" for each in collect(module, names.FUNCTION))


def operations_of(module: mlir.Operation) -> list[tuple[str, list[str], dict[str, str]]]:
    found: list[tuple[str, list[str], dict[str, str]]] = []

    def visitor(operation: mlir.Operation) -> None:
        if operation.name.startswith(("linalg.", "iree_linalg_ext.", "tensor.")):
            attributes = {name: str(value) for name, value in operation.attributes.items()}
            found.append(
                (operation.name, [str(each.type) for each in operation.operands], attributes)
            )

    visit(module, visitor)
    return found


# --- What became of it -------------------------------------------------------------------------------------


def test_a_tuned_dispatch_has_its_entry_and_the_compilers_choice() -> None:
    dispatch = only(explain(MATMUL, MATMUL_SPEC))
    (operation,) = dispatch.operations
    assert dispatch.status is Status.TUNED
    assert dispatch.target == "gfx942"
    assert operation.words == "matmul 2048x1280x5120 f16·f16→f32, rhs transposed"
    assert operation.match is not None
    assert operation.match.is_own
    assert operation.match.entry is not None
    assert operation.match.entry.matcher == "match_linear_2048x1280x5120"
    assert "VectorDistribute" in operation.configuration.translation_info
    untuned = only(explain(MATMUL)).operations[0]
    assert operation.compilers_choice == untuned.configuration
    assert untuned.match is untuned.compilers_choice is None


def test_the_first_condition_that_failed_is_named() -> None:
    near = MATMUL_SPEC.replace("dims_equal %n, [1280]", "dims_equal %n, [1281]")
    explained = explain(MATMUL, near)
    (miss,) = only(explained).operations[0].nearest
    assert str(miss) == "n: 1280, the entry has 1281"
    assert explained.specs[0].used == 0


def test_a_later_entry_that_matches_as_well_is_shadowed() -> None:
    specs = [matcher_list(name, {name: matcher(name, "vmvx")}) for name in ("first", "second")]
    explained = explain(PROGRAM, *specs, flags=VMVX)
    (operation,) = only(explained).operations
    assert [each.matcher for each in operation.shadowed] == ["second"]
    first, second = explained.specs
    assert (first.used, first.shadowed, first.covered) == (1, 0, 1)
    assert (second.used, second.shadowed, second.covered) == (0, 1, 0)
    assert [each.matcher for each in second.usages[0].shadowed_by] == ["first"]


def test_an_entry_that_can_never_be_reached_is_unreachable() -> None:
    """The proof is that of `tuninglink.matching`, and holds for every program: this one has no such operation."""
    packs = {name: matcher(name, "vmvx", "linalg.pack") for name in ("first", "again")}
    explained = explain(PROGRAM, matcher_list("packs", packs), flags=VMVX)
    (spec_report,) = explained.specs
    assert (spec_report.used, spec_report.shadowed, spec_report.unreachable) == (0, 0, 1)
    first, again = spec_report.usages
    assert (first.unreachable, again.unreachable) == (
        "",
        "'@first' comes first and matches all ops that it matches",
    )


def test_a_dispatch_that_was_configured_before_keeps_that() -> None:
    compiled = tuninglink.compile(
        PROGRAM.encode(), specs=[spec("vmvx", "before").encode()], flags=[*VMVX, CONFIGURED]
    )
    explained = explain(compiled.output.decode(), spec("vmvx", "late"), flags=(*VMVX, FROM_SOURCES))
    assert only(explained).status is Status.KEPT
    assert only(explained).operations[0].compilers_choice is None


TWO_DISPATCHES = """
func.func @add(%a: tensor<16xf32>, %b: tensor<16xf32>) -> tensor<16xf32> {
  %sum = arith.addf %a, %b : tensor<16xf32>
  return %sum : tensor<16xf32>
}
func.func @pack(%a: tensor<128x256xf32>, %out: tensor<8x16x16x16xf32>) -> tensor<8x16x16x16xf32> {
  %packed = linalg.pack %a inner_dims_pos = [0, 1] inner_tiles = [16, 16] into %out
      : tensor<128x256xf32> -> tensor<8x16x16x16xf32>
  return %packed : tensor<8x16x16x16xf32>
}
"""


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize(
    ("operations", "asked"),
    [((), []), (("linalg.generic",), [1]), (("linalg.generic", "linalg.pack"), [2])],
)
def test_the_compiler_is_asked_once_more_only_about_what_is_tuned(
    operations: tuple[str, ...],
    asked: list[int],
    monkeypatch: pytest.MonkeyPatch,
    *,
    fails: bool,
) -> None:
    """Where it fails without specs, each dispatch is asked about alone, so that the others have an answer."""
    found: list[int] = []
    compile_executables = compilation.compile_executables

    def ask(
        session: Session, last: Phase, program: bytes, look: Callable[[mlir.Operation], None]
    ) -> object:
        module = mlir.Module.parse(program, thread_context())
        executables = [symbol_name(each) for each in collect(module.operation, names.EXECUTABLE)]
        found.append(len(executables))
        if fails and "add_dispatch_0" in executables:
            return (error("no"),)
        return compile_executables(session, last, program, look)

    monkeypatch.setattr(compilation, "compile_executables", ask)
    matchers = {f"m{n}": matcher(f"m{n}", "vmvx", each) for n, each in enumerate(operations)}
    specs = [matcher_list("mine", matchers)] if matchers else []
    explained = explain(TWO_DISPATCHES, *specs, flags=VMVX)
    alone = [1] * sum(asked) if fails else []
    assert found == asked + alone
    for dispatch in explained.dispatches:
        (operation,) = dispatch.operations
        is_failing = fails and "add" in dispatch.name
        is_tuned = dispatch.status is Status.TUNED
        assert bool(operation.compilers_choice) == (is_tuned and not is_failing)
        reason = "what the compiler would have chosen: without the spec it fails: no"
        assert operation.cannot_tell == ((reason,) if is_tuned and is_failing else ())


CONFIGURED = "--compile-to=executable-configurations"
FROM_SOURCES = "--compile-from=executable-sources"


def test_many_copies_of_a_dispatch_are_configured_twice_each_at_most() -> None:
    """Ten copies, as the compiler drops copies that it makes itself."""
    sources = tuninglink.compile(
        PROGRAM.encode(), flags=[*VMVX, "--compile-to=executable-sources"], default_specs=False
    )
    module = mlir.Module.parse(sources.output.decode(), thread_context())
    (executable,) = collect(module.operation, names.EXECUTABLE)
    for number in range(9):
        copy = executable.clone(mlir.InsertionPoint(executable))
        copy.attributes["sym_name"] = mlir.StringAttr.get(f"copy{number}", module.context)
    flags = (*VMVX, FROM_SOURCES)
    explained = explain(str(module), spec("vmvx", "mine"), flags=flags)
    assert [each.status for each in explained.dispatches] == [Status.TUNED] * 10
    choices = {each.operations[0].compilers_choice for each in explained.dispatches}
    assert len(choices) == 1
    assert None not in choices


# --- Bad input ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source",
    ["module {}", "func.func @f() -> i32 {\n%c = arith.constant 1 : i32\nreturn %c : i32\n}"],
)
def test_a_program_without_dispatches_says_so(source: str) -> None:
    explained = explain(source, MATMUL_SPEC)
    assert explained.dispatches == ()
    assert explained.notes == ("there is no dispatch to configure",)


def test_entries_that_cannot_be_read_are_not_called_near_or_far() -> None:
    """All the matchers begin with an operation that is not understood."""
    opaque = MATMUL_SPEC.replace(
        "  %batch, %m, %n, %k = transform.iree.match.contraction",
        "  transform.match.operation_empty %op : !transform.any_op\n"
        "  %batch, %m, %n, %k = transform.iree.match.contraction",
    )
    explained = explain(MATMUL, opaque)
    (operation,) = only(explained).operations
    assert operation.nearest == ()
    assert operation.cannot_tell == ("whether an entry nearly matches: some cannot be read",)
    (said,) = explained.notes
    assert said.startswith("cannot tell what an entry of '<memory>' would match: ")
    assert said.endswith("'transform.match.operation_empty' is not understood")


def test_what_a_dynamic_size_is_known_to_be_cannot_be_told() -> None:
    near = matcher("near", "hip").replace(
        "    %configuration",
        "    %v = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value\n"
        "    transform.iree.match.dim_is_multiple_of %v[0], 64 : !transform.any_value\n"
        "    %configuration",
    )
    source = PROGRAM.replace("16xf32", "?xf32")
    (operation,) = only(explain(source, matcher_list("near", {"near": near}))).operations
    (miss,) = operation.nearest
    assert "?" in operation.words
    assert miss.differences == ()
    assert str(miss).startswith("cannot tell: operand 0 dimension 0 is dynamic")


CONVOLUTION = """
func.func @f(%image: tensor<1x18x18x64xf32>, %filter: tensor<3x3x64x32xf32>, %out: tensor<1x16x16x32xf32>)
    -> tensor<1x16x16x32xf32> {
  %sum = linalg.conv_2d_nhwc_hwcf
      ins(%image, %filter : tensor<1x18x18x64xf32>, tensor<3x3x64x32xf32>)
      outs(%out : tensor<1x16x16x32xf32>) -> tensor<1x16x16x32xf32>
  return %sum : tensor<1x16x16x32xf32>
}
"""


def test_convolutions_differ_by_layout_not_by_maps() -> None:
    filters = "tensor<3x3x64x32xf32>", "tensor<32x64x3x3xf32>"
    images = ("tensor<1x18x18x64xf32>", "tensor<1x64x18x18xf32>")
    outputs = ("tensor<1x16x16x32xf32>", "tensor<1x32x16x16xf32>")
    other = CONVOLUTION.replace("nhwc_hwcf", "nchw_fchw")
    for before, after in (filters, images, outputs):
        other = other.replace(before, after)
    start = tuninglink.init_spec(other.encode(), flags=HIP).text
    (operation,) = only(explain(CONVOLUTION, start)).operations
    first, *_ = operation.nearest[0].differences
    assert str(first) == "layout: hwc_hwcf, the entry has chw_fchw"


def test_an_entry_that_matches_and_configures_nothing_says_so() -> None:
    """Its action annotates, as a misspelled one does, something that no compiler reads."""
    silent = MATMUL_SPEC.replace('"compilation_info"', '"compilation_infos"')
    dispatch = only(explain(MATMUL, silent))
    assert dispatch.status is Status.NO_EFFECT
    (miss,) = dispatch.operations[0].nearest
    assert (
        str(miss) == "matched and configured nothing: its action annotates 'compilation_infos' only"
    )


def test_what_matters_most_comes_first_and_equal_problems_are_one_row() -> None:
    names_of_parts = ("small", "large", "again")
    sizes = ((64, 64, 64), (128, 256, 512), (64, 64, 64))
    parts = [matmul(*size, "f16", name) for size, name in zip(sizes, names_of_parts, strict=True)]
    source = tuninglink.compile(
        "\n".join(parts).encode(),
        flags=[*HIP, "--compile-to=executable-sources"],
        default_specs=False,
    )
    explained = explain(source.output.decode(), flags=(*HIP, FROM_SOURCES))
    first, *others = explained.rows
    assert "128x256x512" in first.dispatches[0].operations[0].words
    assert explained.share(first.weight) == pytest.approx(33_554_432 / (33_554_432 + 2 * 524_288))
    assert sum(row.weight.calls for row in others) == 2
    assert explained.measure == "FLOPs"


def test_times_are_read_from_an_explanation(tmp_path: Path) -> None:
    file = tmp_path / "profile"
    (dispatch,) = explain(MATMUL).dispatches
    document = {
        "format": "tuninglink.explanation",
        "dispatches": [{"name": dispatch.name, "calls": 1, "microseconds": 125}],
    }
    file.write_text(json.dumps(document))
    timed = with_times(explain(MATMUL), [read_profile(str(file))])
    assert only(timed).microseconds == 125.0
    assert timed.measure == "time"


def test_shares_of_times_that_are_known_in_part_are_named_so() -> None:
    explained = explain(MATMUL)
    (first,) = explained.dispatches
    both = replace(
        explained, dispatches=(first, replace(first, name="@other", functions=("other",)))
    )
    timed = with_times(both, [Profile({MATMUL_NAME: 125.0})])
    assert timed.measure == "measured time"
    assert timed.share(timed.dispatches[0].weight) == 1.0
    assert any("times are known of 1 of 2 dispatches" in note for note in timed.notes)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{}",
        "[1]",
        "name,src_file,total_ns,counts\nx,x,250000,2\n",
        '{"benchmarks": [{"name": "BM_x", "real_time": 1, "time_unit": "us"}]}',
        '{"format": "tuninglink.tuning", "dispatches": []}',
    ],
)
def test_what_is_no_profile_is_one_diagnostic(content: str, tmp_path: Path) -> None:
    file = tmp_path / "profile"
    file.write_text(content)
    with pytest.raises(TuninglinkError) as raised:
        read_profile(str(file))
    assert len(raised.value.diagnostics) == 1


def test_what_a_backend_rewrites_may_have_lost_its_configuration() -> None:
    """llvm-cpu gives a convolution of one image its batch dimension back, in a new operation without attributes."""
    generics = matcher_list("generics", {"generics": matcher("generics", "llvm-cpu")})
    (rewritten,) = only(explain(CONVOLUTION, generics, flags=TARGETS["llvm-cpu"])).operations
    assert rewritten.match is None
    assert [str(each) for each in rewritten.nearest] == [
        "cannot tell: all that is known of its matcher holds"
    ]
    assert rewritten.cannot_tell == (
        "whether an entry configured it: the backend rewrote it afterwards, which loses what specs give",
    )


def test_each_of_several_targets_is_explained() -> None:
    flags = (
        *("--iree-hal-target-backends=llvm-cpu", "--iree-hal-target-backends=vmvx"),
        "--iree-llvmcpu-target-cpu=generic",
    )
    explained = explain(PROGRAM, spec("vmvx", "mine"), flags=flags)
    assert len({each.name for each in explained.dispatches}) == 2
    assert len({each.target for each in explained.dispatches}) == 2
    # The configuration of one backend is foreign to the other.
    assert explained.specs[0].covered == 1


@pytest.mark.parametrize(
    ("flag", "reason"),
    [
        ("--compile-to=flow", "the compilation ends before 'executable-configurations'"),
        ("--compile-from=hal", "the input is past 'executable-sources' already"),
        ("--compile-mode=precompile", "nothing is configured in --compile-mode=precompile"),
    ],
)
def test_a_compilation_that_applies_no_spec_is_not_explained(flag: str, reason: str) -> None:
    with pytest.raises(CompileError, match=reason):
        explain(PROGRAM, flags=(*VMVX, flag))


def test_a_target_that_nobody_knows_is_an_error() -> None:
    sources = tuninglink.compile(
        PROGRAM.encode(), flags=[*VMVX, "--compile-to=executable-sources"], default_specs=False
    )
    unknown = sources.output.decode().replace('<"vmvx"', '<"nobody"')
    with pytest.raises(CompileError, match='unregistered target backend "nobody"'):
        explain(unknown, flags=(*VMVX, FROM_SOURCES))
