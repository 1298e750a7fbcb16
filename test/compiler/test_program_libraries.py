"""Libraries whose spec is made for the program that is compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from contraction_programs import ROWS as ROWS_PROGRAM
from elementwise_specs import PROGRAM, spec
from iree.compiler import ir as mlir
from places import ROOT
from programs import TARGETS

import tuninglink
from tuninglink.errors import CompileError, Diagnostic, Severity, SpecError
from tuninglink.iree import find_dispatches
from tuninglink.mlir import DiagnosticSink, collect, error, names
from tuninglink.specs import MAKERS, SpecMaker, load_spec

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tuninglink.iree import Target

PROGRAMS = PROGRAM.encode()
TRANSLATED = "--compile-to=executable-targets"
VMVX = (*TARGETS["vmvx"], TRANSLATED)
X86_64 = (*TARGETS["llvm-cpu"], "--iree-llvmcpu-target-triple=x86_64-linux-gnu", TRANSLATED)


class Maker:
    """Makes a spec for vmvx, and keeps what it was given."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.forms = ""
        self.dispatches: list[str] = []
        self.configured: list[str] = []

    def replacing(self, program: mlir.Operation, targets: Sequence[Target], /) -> str:
        assert collect(program, names.UTIL_FUNCTION)
        assert len(targets) == 1
        return self.forms

    def configuring(
        self,
        sources: bytes,
        configure: Callable[[bytes], bytes],
        report: Callable[[Diagnostic], None],
        /,
    ) -> str:
        program = mlir.Module.parse(sources, mlir.Context()).operation
        self.dispatches = [dispatch.name for dispatch in find_dispatches(program)]
        configured = mlir.Module.parse(configure(sources), mlir.Context()).operation
        self.configured = [
            str(function.attributes[names.TRANSLATION_INFO])
            for function in collect(configured, names.FUNCTION)
        ]
        report(Diagnostic(Severity.REMARK, "made it"))
        return self.text


@pytest.fixture
def maker(monkeypatch: pytest.MonkeyPatch) -> Maker:
    result = Maker(spec("vmvx", "made"))
    monkeypatch.setitem(MAKERS, "made", SpecMaker(result.replacing, result.configuring))
    return result


def test_a_spec_is_made_for_the_dispatches_of_a_program(maker: Maker) -> None:
    said: list[str] = []
    made = tuninglink.compile(
        PROGRAMS,
        specs="library:made",
        flags=VMVX,
        diagnostics=DiagnosticSink(lambda each: said.append(str(each))),
    )
    assert maker.dispatches == ["@add_dispatch_0::@vmvx_bytecode_fb"]
    assert len(maker.configured) == 1
    assert said == ["remark: made it"]
    (applied,) = made.applied
    assert (applied.position, applied.spec, applied.is_own) == (0, "library:made", True)
    assert applied.entry
    assert applied.entry.matcher == "match_made"
    given = tuninglink.compile(PROGRAMS, specs=maker.text.encode(), flags=VMVX)
    assert made.output == given.output
    assert made.output != tuninglink.compile(PROGRAMS, flags=VMVX).output


def test_it_has_its_place_among_the_specs(maker: Maker) -> None:
    mine = spec("vmvx", "mine").encode()
    for specs, name in (([mine, "library:made"], "mine"), (["library:made", mine], "made")):
        (applied,) = tuninglink.compile(PROGRAMS, specs=specs, flags=VMVX).applied
        assert applied.spec_name == name
    (bound,) = tuninglink.compile(PROGRAMS, specs=["vmvx=library:made"], flags=VMVX).applied
    assert bound.spec_name == "made"
    assert not tuninglink.compile(PROGRAMS, specs=["gfx942=library:made"], flags=VMVX).applied
    assert maker.dispatches


def test_an_explanation_has_its_entries(maker: Maker) -> None:
    explained = tuninglink.explain(PROGRAMS, specs="library:made", flags=TARGETS["vmvx"])
    (summary,) = explained.specs
    assert (summary.source, summary.used) == ("library:made", 1)
    assert maker.dispatches


def test_a_frozen_spec_has_its_entries(maker: Maker) -> None:
    frozen = tuninglink.init_spec(
        PROGRAMS, frozen=True, specs="library:made", flags=TARGETS["vmvx"]
    )
    assert "@match_made" in frozen.text
    assert maker.dispatches


ROWS = (ROOT / "test" / "cli" / "Inputs" / "replace-rows.mlir").read_text()
MATMUL = ROWS_PROGRAM.encode()


def test_it_may_replace_ops(maker: Maker) -> None:
    maker.forms, maker.text = ROWS, spec("llvm-cpu", "made")
    program = MATMUL + b"// -----" + PROGRAMS + b"// -----" + MATMUL
    flags = (*X86_64, "--split-input-file")
    said: list[str] = []
    sink = DiagnosticSink(lambda each: said.append(each.message))
    made = tuninglink.compile(program, specs="library:made", flags=flags, diagnostics=sink)
    specs = [ROWS.encode(), maker.text.encode()]
    given = tuninglink.compile(program, specs=specs, flags=flags)
    assert made.output == given.output
    assert [(op.spec, op.position, op.entry.matcher) for op in made.replaced] == 2 * [
        ("library:made", 0, "match_rows")
    ]
    # It need not replace anything.
    assert (
        tuninglink.compile(PROGRAMS, specs="library:made", flags=X86_64, diagnostics=sink).replaced
        == ()
    )
    assert {*said} == {"made it"}
    bound = tuninglink.compile(MATMUL, specs="gfx942=library:made", flags=X86_64)
    assert bound.replaced == ()
    # Of several specs, the first replaces an op.
    both = tuninglink.compile(MATMUL, specs=[ROWS.encode(), "library:made"], flags=X86_64)
    assert [op.position for op in both.replaced] == [0]


def test_a_program_without_a_failing_entry_keeps_what_it_replaced(maker: Maker) -> None:
    maker.forms = ROWS
    maker.text = spec("llvm-cpu", "made").replace("distribution = [8]", "distribution = [-8]")
    program = MATMUL.replace(b"@main", b"@rows_of") + PROGRAMS
    made = tuninglink.compile(program, specs="library:made", flags=X86_64)
    assert made.output == tuninglink.compile(program, specs=ROWS.encode(), flags=X86_64).output
    assert len(made.replaced) == 1


def test_a_frozen_spec_has_what_it_replaces(maker: Maker) -> None:
    maker.forms = ROWS
    flags = TARGETS["vmvx"]
    frozen = load_spec(
        tuninglink.init_spec(MATMUL, frozen=True, specs="library:made", flags=flags).text.encode()
    )
    assert [entry.matcher for entry in frozen.replace_entries] == ["match_rows"]
    assert len(frozen.entries) == 1


def test_where_no_program_is_compiled_it_is_refused(maker: Maker) -> None:
    with pytest.raises(SpecError, match="'library:made' cannot be used here"):
        tuninglink.link("library:made")
    with pytest.raises(SpecError, match="'library:made' has no hash"):
        tuninglink.compile(PROGRAMS, specs=f"library:made#sha256={64 * '0'}", flags=VMVX)
    assert not maker.dispatches


def test_a_dispatch_that_fails_with_its_entry_is_compiled_without(maker: Maker) -> None:
    made = spec("llvm-cpu", "made").replace("distribution = [8]", "distribution = [-8]")
    maker.text = made
    said: list[str] = []
    tuned = tuninglink.compile(
        PROGRAMS,
        specs="library:made",
        flags=X86_64,
        diagnostics=DiagnosticSink(lambda each: said.append(each.message)),
    )
    (skipped,) = (message for message in said if "is skipped" in message)
    assert skipped.startswith("entry 'match_made' is skipped in @add_dispatch_0::")
    assert tuned.output == tuninglink.compile(PROGRAMS, flags=X86_64).output
    with pytest.raises(CompileError, match="non-negative"):
        tuninglink.compile(PROGRAMS, specs=made.encode(), flags=X86_64)


def test_its_errors_end_the_compilation(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> str:
        raise SpecError(error("it cannot be made"))

    monkeypatch.setitem(MAKERS, "failing", SpecMaker(failing, failing))
    with pytest.raises(SpecError, match="it cannot be made"):
        tuninglink.compile(PROGRAMS, specs="library:failing", flags=VMVX)
