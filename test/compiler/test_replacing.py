"""Replacement of ops by functions of specs within a compilation, compared with the compiler's own preprocessing."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from contraction_programs import ROWS as PROGRAM
from places import ROOT
from programs import TARGETS, iree_compile

import tuninglink
from tuninglink import preprocessing
from tuninglink.errors import CompileError, Diagnostic, Place, Severity
from tuninglink.forms import PaddedContraction
from tuninglink.mlir import DiagnosticSink
from tuninglink.replacing import MATMUL, Contraction, spec as spec_of
from tuninglink.specs import load_spec

if TYPE_CHECKING:
    from pathlib import Path

    from tuninglink.compiler import Compilation

INPUTS = ROOT / "test" / "cli" / "Inputs"
REPLACING = INPUTS / "replace-rows.mlir"
BOTH = INPUTS / "replace-and-configure.mlir"
CPU = (*TARGETS["llvm-cpu"], "--iree-llvmcpu-target-cpu=znver4")
PREPROCESSED = "--compile-to=preprocessing"
CONFIGURED = "--compile-to=executable-configurations"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.mlir"
    path.write_text(PROGRAM)
    return path


def padded(rows: int, matched: int = 34) -> bytes:
    """Return the spec with another number of rows."""
    text = re.sub(
        r"\b48(x48xf32> \{|x48xf32>, tensor<48x32xf32>\) outs)", rf"{rows}\1", REPLACING.read_text()
    )
    text = re.sub(r"to tensor<48x", f"to tensor<{rows}x", text)
    text = re.sub(r"(outs\(%p1 : |-> |%o\[0, 0\] .*: )tensor<48x32", rf"\1tensor<{rows}x32", text)
    text = text.replace("ins(%p0, %a1 : tensor<48x48", f"ins(%p0, %a1 : tensor<{rows}x48")
    text = text.replace("high[14, 0]", f"high[{rows - matched}, 0]")
    return (
        text.replace("34x", f"{matched}x")
        .replace("[34]", f"[{matched}]")
        .replace("[34, 32]", f"[{matched}, 32]")
        .encode()
    )


def compiled(
    program: Path | bytes, *specs: object, flags: tuple[str, ...] = (), **options: object
) -> tuple[Compilation, list[Diagnostic]]:
    """Return a compilation for llvm-cpu, and its diagnostics."""
    diagnostics: list[Diagnostic] = []
    sink = DiagnosticSink(diagnostics.append)
    result = tuninglink.compile(
        program, specs=specs, flags=(*CPU, *flags), diagnostics=sink, **options
    )  # type: ignore[arg-type]
    return result, diagnostics


def products(compilation: Compilation) -> list[str]:
    """Return the types of the left operands of the products in a program."""
    return re.findall(
        r"linalg\.(?:matmul|generic) .*?ins\(%\S+ ?,.*? : (tensor<\S+)>,",
        compilation.output.decode(),
    )


def test_the_result_is_that_of_the_compilers_own_preprocessing(program: Path) -> None:
    flag = f"--iree-preprocessing-transform-spec-filename={REPLACING}"
    for phase in ("preprocessing", "flow", "end"):
        until = f"--compile-to={phase}"
        ours, diagnostics = compiled(program, REPLACING, flags=(until,))
        assert ours.output == iree_compile(program, *CPU, flag, until)
        assert ours.output != compiled(program, flags=(until,))[0].output
        assert not diagnostics
    (replaced,) = ours.replaced
    assert (replaced.operation, replaced.function) == ("linalg.matmul", "main")
    assert replaced.place == Place(str(program), 6, 8)
    assert (replaced.spec, replaced.position) == (str(REPLACING), 0)
    assert (replaced.entry.matcher, replaced.entry.function) == ("match_rows", "rows")


def test_both_kinds_of_entries_take_effect(program: Path, tmp_path: Path) -> None:
    result, diagnostics = compiled(
        program, BOTH, flags=(CONFIGURED,), dump_specs_to=tmp_path / "dump"
    )
    assert not diagnostics
    assert [replaced.entry.matcher for replaced in result.replaced] == ["match_rows"]
    assert [applied.entry and applied.entry.matcher for applied in result.applied] == ["match_conf"]
    assert b"distribution = [16, 16, 0]" in result.output
    assert b"tuninglink" not in result.output
    # What is dumped has the same effect in the stock compiler.
    index = json.loads((tmp_path / "dump" / "index.json").read_text())
    uses = {use["dispatch"]: use["spec"] for use in index["dispatches"]}
    assert list(uses) == ["preprocessing", "@main_dispatch_0::@embedded_elf_x86_64"]
    paths = [tmp_path / "dump" / file for file in uses.values()]
    flags = (
        f"--iree-preprocessing-transform-spec-filename={paths[0]}",
        f"--iree-codegen-tuning-spec-path={paths[1]}",
    )
    assert iree_compile(program, *CPU, *flags, CONFIGURED) == result.output


def test_an_explanation_names_the_replaced_operations(program: Path) -> None:
    unused = padded(64, matched=35)
    explanation = tuninglink.explain(program, specs=[unused, REPLACING], flags=CPU)
    (replaced,) = explanation.replaced
    assert (replaced.operation, replaced.function, replaced.called) == (
        "linalg.matmul",
        "main",
        "rows",
    )
    assert replaced.place == Place(str(program), 6, 8)
    assert (replaced.spec, replaced.matcher) == (str(REPLACING), "match_rows")
    assert replaced.matcher_place == Place(str(REPLACING), 16, 3)
    (sentence,) = explanation.replacements
    assert sentence == (
        f"replaced linalg.matmul at {program}:6:8 by @rows: entry @match_rows ({REPLACING}:16:3) of '{REPLACING}'"
    )
    # The product of the function is one of the program now, and can be configured.
    assert [dispatch.words for dispatch in explanation.dispatches] == [
        "matmul 48x32x48 f32·f32→f32"
    ]
    assert [spec.kind for spec in explanation.specs] == ["preprocessing spec"] * 2
    plain = tuninglink.explain(program, flags=CPU)
    assert not plain.replaced
    assert not any("replaced" in note for note in plain.remarks())


def test_an_explanation_describes_forms(program: Path) -> None:
    problem = Contraction(("mk", "kn", "mn"), ("f32",) * 3, "mnk", (34, 32, 48), MATMUL)
    text = spec_of([PaddedContraction(problem, (("m", 48),))])
    explanation = tuninglink.explain(program, specs=[text.encode()], flags=CPU)
    (sentence,) = explanation.replacements
    assert re.search(
        r" by @pad_matmul_\w+ \(padded: 34 to 48 along m\): entry @match_pad_", sentence
    )


def test_a_dispatch_that_fails_with_its_entry_is_compiled_without_it(program: Path) -> None:
    failing = BOTH.read_text().replace(
        "vector_reduction = [0, 0, 4]", "vector_reduction = [0, 0, -4]"
    )
    with pytest.raises(CompileError, match="expected sizes to be non-negative"):
        compiled(program, failing.encode())
    result, diagnostics = compiled(program, failing.encode(), flags=("--skip-failing-entries",))
    # The op is replaced in the second compilation, too, and reported once.
    assert len(result.replaced) == 1
    assert any("match_conf" in str(diagnostic) for diagnostic in diagnostics)
    assert not result.applied


def test_the_first_spec_wins(program: Path) -> None:
    for specs, rows in (((padded(64), BOTH), 64), ((BOTH, padded(64)), 48)):
        result, _ = compiled(program, *specs, flags=(PREPROCESSED,))
        assert products(result) == [f"tensor<{rows}x48xf32"]
        assert [replaced.position for replaced in result.replaced] == [0]


def test_the_users_own_preprocessing_comes_first(program: Path, tmp_path: Path) -> None:
    # Its pass pipeline, which pads to 40 rows, then its spec, which pads these to 56, then replace entries.
    pipeline = "--iree-preprocessing-pass-pipeline=builtin.module(util.func(iree-preprocessing-pad-linalg-ops{pad-size=8}))"
    own = tmp_path / "own.mlir"
    own.write_bytes(padded(56, matched=40))
    flag = f"--iree-preprocessing-transform-spec-filename={own}"
    last = padded(64, matched=56)
    # The calls are inlined before the next one runs.
    result, diagnostics = compiled(program, last, flags=(pipeline, flag, PREPROCESSED))
    assert products(result) == ["tensor<64x48xf32"]
    assert not diagnostics
    for spec, given in ((last, (pipeline,)), (last, (flag,)), (REPLACING, (pipeline,))):
        result, (warning,) = compiled(program, spec, flags=(*given, PREPROCESSED))
        assert not result.replaced
        assert warning.message.endswith(
            "replaced nothing: its replace entry 'match_rows' was never the first to match"
        )


def test_functions_of_the_program_keep_their_names(program: Path) -> None:
    own = """
util.func private @rows(%l: tensor<34x48xf32>, %r: tensor<48x32xf32>, %a: tensor<34x32xf32>) -> tensor<34x32xf32> attributes {noinline} {
  util.return %a : tensor<34x32xf32>
}
"""
    text = PROGRAM.replace(
        "return %c",
        """%d = util.call @rows(%l, %r, %c) : (tensor<34x48xf32>, tensor<48x32xf32>, tensor<34x32xf32>) -> tensor<34x32xf32>
  return %d""",
    )
    program.write_text(own + text)
    result, _ = compiled(program, REPLACING, flags=(PREPROCESSED,))
    assert products(result) == ["tensor<48x48xf32"]
    assert result.replaced[0].entry.function == "rows"


def test_entries_apply_to_their_targets_only(program: Path) -> None:
    foreign = load_spec(REPLACING, targets=["gfx942"])
    result, (warning,) = compiled(program, foreign, flags=(PREPROCESSED,))
    assert not result.replaced
    assert (
        warning.message
        == f"spec '{REPLACING}' replaced nothing: it is bound to gfx942, the program is for znver4"
    )
    own = load_spec(REPLACING, targets=["znver4", "gfx942"])
    assert compiled(program, foreign, own, flags=(PREPROCESSED,))[0].replaced[0].position == 1
    # Of a program for several targets, ops are replaced for all of them, or not at all.
    both = ("--iree-hal-target-device=cuda", "--iree-cuda-target=sm_80")
    result, warnings = compiled(
        program, load_spec(REPLACING, targets=["znver4"]), flags=(*both, PREPROCESSED)
    )
    assert not result.replaced
    assert (
        warnings[0].message
        == f"replace entry 'match_rows' of '{REPLACING}' is not applied: the program is also for sm_80"
    )
    assert compiled(
        program, load_spec(REPLACING, targets=["znver4", "sm_80"]), flags=(*both, PREPROCESSED)
    )[0].replaced


def test_default_specs_come_last(program: Path, tmp_path: Path) -> None:
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "znver4.mlir").write_bytes(padded(64))
    for specs, position in (((), 0), ((REPLACING,), 0), ((padded(64, matched=35),), 1)):
        result, _ = compiled(
            program, *specs, flags=(PREPROCESSED,), spec_directories=tmp_path / "specs"
        )
        assert [replaced.position for replaced in result.replaced] == [position]
        own = bool(specs) and position == 0
        assert products(result) == [f"tensor<{48 if own else 64}x48xf32"]


def test_each_part_of_a_program_is_replaced(program: Path) -> None:
    program.write_text(f"{PROGRAM}// -----\n{PROGRAM}")
    result, _ = compiled(program, REPLACING, flags=("--split-input-file", PREPROCESSED))
    assert products(result) == ["tensor<48x48xf32"] * 2
    assert [replaced.place and replaced.place.line for replaced in result.replaced] == [6, 7]


@pytest.mark.parametrize(
    ("flag", "reason"),
    [
        ("--compile-to=abi", "the compilation ends before 'preprocessing'"),
        ("--compile-from=preprocessing", "the input is past 'preprocessing' already"),
        ("--compile-mode=precompile", "ops are not replaced in --compile-mode=precompile"),
    ],
)
def test_where_nothing_can_be_replaced(flag: str, reason: str, program: Path) -> None:
    source: Path | bytes = program
    if "from" in flag:
        source = compiled(program, flags=(PREPROCESSED,))[0].output
    for spec in (REPLACING, BOTH):
        result, diagnostics = compiled(source, spec, flags=(flag,))
        assert not result.replaced
        warning, *others = diagnostics
        assert (warning.severity, warning.message) == (
            Severity.WARNING,
            f"spec '{spec}' replaced nothing: {reason}",
        )
        # The configure entry of a spec with both kinds is another matter.
        assert not any("replaced" in other.message for other in others)


@pytest.mark.parametrize("phase", ["flow", "stream", "executable-sources"])
def test_ops_in_dispatches_are_not_replaced(phase: str, program: Path) -> None:
    formed = compiled(program, flags=(f"--compile-to={phase}",))[0].output
    result, (warning, *_) = compiled(formed, REPLACING)
    assert not result.replaced
    assert warning.message.endswith("replaced nothing: its ops are in dispatches")


@pytest.mark.parametrize("phase", ["preprocessing", "executable-sources", "end"])
@pytest.mark.parametrize("spec", [REPLACING, BOTH])
def test_an_entry_that_matches_nothing_is_named(phase: str, spec: Path, program: Path) -> None:
    program.write_text(PROGRAM.replace("34x", "35x"))
    _, diagnostics = compiled(program, spec, flags=(f"--compile-to={phase}",))
    words = [one.message for one in diagnostics if "replaced nothing" in one.message]
    never = "its replace entry 'match_rows' was never the first to match"
    assert words == [f"spec '{spec}' replaced nothing: {never}"]


def test_a_call_that_does_not_fit_is_an_error(program: Path) -> None:
    text = REPLACING.read_text().replace("get_operand %root[all]", "get_operand %root[0, 1]")
    with pytest.raises(CompileError, match="failed on this linalg") as failure:
        compiled(program, text.encode(), flags=(PREPROCESSED,))
    assert len(failure.value.diagnostics) > 1


def test_other_specs_do_not_stop_the_compiler(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        pytest.fail("a spec without replace entries takes a step of its own")

    monkeypatch.setattr("tuninglink.compiler.application.replace_ops", fail)
    configuring = (
        BOTH.read_text().partition("util.func")[0]
        + "transform.named_sequence @configure"
        + BOTH.read_text().partition("transform.named_sequence @configure")[2]
    )
    result, _ = compiled(program, configuring.encode(), flags=(CONFIGURED,))
    assert not result.replaced
    assert preprocessing.replace_ops is not fail
