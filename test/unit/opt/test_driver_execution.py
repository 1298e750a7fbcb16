"""Pipelines of passes of the compiler and in Python, in this process."""

from __future__ import annotations

import subprocess
import sys
import threading
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest
from iree.compiler import ir

from tuninglink.compiler import handled
from tuninglink.errors import Diagnostic, PipelineError, Severity, TuninglinkError
from tuninglink.mlir import DiagnosticSink, Pass, error, option
from tuninglink.opt import (
    UNPRINTABLE,
    CompilerPasses,
    Element,
    Execution,
    OpPipeline,
    PassRegistry,
    parse_pipeline,
    pass_registry as compiler_passes,
    run_pass,
)

log: list[str] = []


@dataclass(frozen=True)
class Log(Pass):
    """Logs its operations and threads."""

    name: ClassVar[str] = "test-log"
    anchor: ClassVar[str | None] = None
    tag: str = option("", "what to write in front")

    def apply(self, operation: ir.Operation, _diagnostics: DiagnosticSink) -> None:
        assert threading.current_thread() is threading.main_thread()
        symbol = operation.attributes.get("sym_name")
        log.append(f"{self.tag}{operation.name}{symbol or ''}")


@dataclass(frozen=True)
class FunctionLog(Log):
    """Logs functions and threads."""

    name: ClassVar[str] = "test-function-log"
    anchor: ClassVar[str | None] = "func.func"


@dataclass(frozen=True)
class Fail(Pass):
    """Fails in one of several ways."""

    name: ClassVar[str] = "test-fail"
    how: str = option("raise", "the way")

    def apply(self, operation: ir.Operation, diagnostics: DiagnosticSink) -> None:
        if self.how == "raise":
            raise TuninglinkError(error("first", operation), error("second"))
        if self.how == "emit":
            diagnostics.error("emitted", operation)
        if self.how == "mlir":
            ir.Module.parse("module {", operation.context)
        if self.how == "bug":
            raise IndexError("a bug")
        if self.how == "interrupt":
            raise KeyboardInterrupt
        if self.how == "handled":
            # An error of the bindings that a pass expects is not a failure.
            with pytest.raises(ir.MLIRError):
                ir.Module.parse("module {", operation.context)


@dataclass(frozen=True)
class CseImpostor(Log):
    """A pass with the name of one of the compiler."""

    name: ClassVar[str] = "cse"


@dataclass
class Session:
    """A context with its diagnostics, and a module."""

    source: str
    emitted: list[Diagnostic] = field(default_factory=list)

    def __post_init__(self) -> None:
        log.clear()
        self.context = ir.Context()
        self.sink = DiagnosticSink(self.emitted.append)
        self.module = ir.Module.parse(self.source, self.context)
        passes = (Log, FunctionLog, Fail, CseImpostor)
        self.registry = PassRegistry(
            {pass_type.name: pass_type for pass_type in passes}, self.emitted.append, lambda: ()
        )

    def run(self, pipeline: str | OpPipeline, **how: Any) -> bool:
        tree = parse_pipeline(pipeline) if isinstance(pipeline, str) else pipeline
        execution = Execution(tree, self.context, self.registry, self.sink, **how)
        with handled(self.context, self.sink.emit):
            return execution.run(self.module.operation)

    def refusal(self, pipeline: str | OpPipeline, **how: Any) -> Diagnostic:
        with pytest.raises(PipelineError) as caught:
            self.run(pipeline, **how)
        return caught.value.diagnostics[0]


NESTED = """
module @m {
  func.func @f() { %unused = arith.constant 0 : i32 return }
  module @inner { func.func @g() { return } func.func @h() { return } }
}
"""


@pytest.mark.parametrize(
    ("pipeline", "expected"),
    [
        ("builtin.module(test-log)", ['builtin.module"m"']),
        ("any(test-log)", ['builtin.module"m"']),
        ("builtin.module(func.func(test-log))", ['func.func"f"']),
        ("builtin.module(builtin.module(test-log))", ['builtin.module"inner"']),
        (
            "builtin.module(builtin.module(func.func(test-log{tag=1},cse,test-log{tag=2})))",
            ['1func.func"g"', '2func.func"g"', '1func.func"h"', '2func.func"h"'],
        ),
        ("builtin.module(any(test-log))", ['func.func"f"', 'builtin.module"inner"']),
        ("builtin.module(any(func.func(test-log)))", ['func.func"g"', 'func.func"h"']),
        # Neighbors in the pipeline run on one operation after the other, as in MLIR.
        (
            "builtin.module(func.func(test-log{tag=1}),builtin.module(test-log{tag=2}))",
            ['1func.func"f"', '2builtin.module"inner"'],
        ),
        ("builtin.module(hal.executable(test-log))", []),
    ],
)
def test_runs_on_direct_children(pipeline: str, expected: list[str]) -> None:
    session = Session(NESTED)
    assert session.run(pipeline)
    assert log == expected


def test_runs_passes_in_order_on_the_same_ir() -> None:
    session = Session(NESTED)
    assert session.run("builtin.module(func.func(canonicalize),test-log,cse)")
    assert "arith.constant" not in str(session.module)


def test_nests_flags_where_they_belong() -> None:
    session = Session(NESTED)
    flags = OpPipeline(
        "builtin.module", (Element("test-function-log"), Element("cse"), Element("test-log"))
    )
    assert session.run(flags, nest_implicitly=True)
    assert log == ['func.func"f"', 'builtin.module"m"']


def test_the_compiler_comes_first_where_both_know_a_name() -> None:
    session = Session(NESTED)
    assert session.run("builtin.module(cse)")
    assert log == []


@pytest.mark.parametrize(
    ("how", "messages"),
    [
        ("raise", ["first", "second"]),
        ("emit", ["emitted"]),
        ("mlir", ["expected operation name in quotes"]),
        ("bug", ["pass 'test-fail' has a bug, it raised IndexError: a bug"]),
    ],
)
def test_a_failing_pass_ends_the_run(
    how: str, messages: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    session = Session(NESTED)
    assert not session.run(f"builtin.module(test-fail{{how={how}}},test-log)")
    assert [diagnostic.message for diagnostic in session.emitted] == messages
    assert log == []
    assert ("Traceback" in capfd.readouterr().err) == (how == "bug")


def test_an_error_that_a_pass_handles_is_none() -> None:
    session = Session(NESTED)
    assert session.run("builtin.module(test-fail{how=handled})")
    assert session.emitted == []


def test_an_interrupt_comes_out_of_the_run() -> None:
    with pytest.raises(KeyboardInterrupt):
        Session(NESTED).run("builtin.module(test-fail{how=interrupt},test-log)")
    assert log == []


def test_run_pass_tells_success_from_failure() -> None:
    session = Session(NESTED)
    assert run_pass(Log(), session.module.operation, session.sink)
    assert not run_pass(Fail(), session.module.operation, session.sink)


def test_delivers_warnings_of_the_compiler_with_notes() -> None:
    session = Session("func.func @f() { return }\nfunc.func @g() { return }")
    module = session.module.operation
    # Two functions of one name: the verifier's error has a note at the other one.
    with session.context:
        module.regions[0].blocks[0].operations[1].attributes["sym_name"] = ir.StringAttr.get("f")
    assert not session.run("builtin.module(test-log)")
    errors = [diagnostic for diagnostic in session.emitted if diagnostic.severity is Severity.ERROR]
    assert [diagnostic.message for diagnostic in errors] == ["redefinition of symbol named 'f'"]
    assert any("see existing symbol" in note.message for note in errors[0].notes)


@pytest.mark.parametrize(
    ("pipeline", "message"),
    [
        ("builtin.module(tset-log)", "'tset-log' does not refer to a registered pass or pass pipeline; did you mean 'test-log'?"),
        ("builtin.module(func.func(cze))", "'cze' does not refer to a registered pass or pass pipeline"),
        ("builtin.module(test-function-log)", "Can't add pass 'FunctionLog' restricted to 'func.func'"),
        ("func.func(iree-codegen-link-tuning-specs)", "Can't add pass 'iree-codegen-link-tuning-specs' restricted to 'builtin.module'"),
        ("builtin.module(test-log{tga=1})", "'test-log' has no option 'tga'; did you mean 'tag'?"),
    ],
)  # fmt: skip
def test_refuses(pipeline: str, message: str) -> None:
    session = Session(NESTED)
    diagnostic = session.refusal(pipeline)
    assert diagnostic.message.startswith(message)
    assert diagnostic.place is not None
    assert diagnostic.place.column > 1


def test_a_misplaced_pipeline_of_the_compiler_does_not_crash() -> None:
    diagnostic = Session(NESTED).refusal(
        "builtin.module(func.func(iree-abi-transformation-pipeline))"
    )
    assert "restricted to 'builtin.module'" in diagnostic.message


MANY = "\n".join(f"func.func @f{index}() {{ return }}" for index in range(200))


def test_many_operations_are_run_on_one_after_the_other_by_python() -> None:
    session = Session(MANY)
    assert session.run("builtin.module(func.func(canonicalize,test-log,cse))")
    assert log == [f'func.func"f{index}"' for index in range(200)]


def test_the_compilers_threads_report_without_a_deadlock() -> None:
    session = Session(MANY)
    with session.context:
        wrong = ir.TypeAttr.get(ir.FunctionType.get([], [ir.IndexType.get()]))
    for function in session.module.body.operations:
        function.attributes["function_type"] = wrong
    for _ in range(5):
        assert not session.run("builtin.module(func.func(cse,canonicalize))")
    assert session.emitted
    for diagnostic in session.emitted:
        assert diagnostic.message.startswith(
            "'func.return' op has 0 operands, but enclosing function (@f"
        )
        assert diagnostic.place


def test_every_pass_of_the_compiler_is_found_without_a_crash() -> None:
    """Exactly the passes whose options cannot be printed are skipped.

    They print memory that was never set: the compiler crashes, or the bindings refuse the text.
    """
    script = (
        "import sys\n"
        "from iree.compiler import ir\n"
        "from iree.compiler.passmanager import PassManager\n"
        "context = ir.Context()\n"
        "for name in sys.argv[1:]:\n"
        "    str(PassManager.parse(f'any({name})', context))\n"
    )

    def fails(names: list[str]) -> bool:
        command = [sys.executable, "-c", script, *names]
        return subprocess.run(command, capture_output=True, check=False).returncode != 0

    passes = CompilerPasses(ir.Context())
    pass_names = [name for name in compiler_passes.pass_names() if passes.knows(name)]
    assert len(pass_names) > 500
    assert not fails([name for name in pass_names if name not in UNPRINTABLE])
    assert all(fails([name]) for name in UNPRINTABLE)
    for name in pass_names:
        assert passes.expand(Element(name))
    assert passes.expand(Element("cse")) == (Element("cse"),)
    assert passes.options("canonicalize")["max-iterations"] == "10"
