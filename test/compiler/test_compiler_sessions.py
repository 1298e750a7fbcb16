"""The compiler in this process: the same bytes, flags that stay where they belong, flat memory."""

from __future__ import annotations

import gc
import itertools
import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from elementwise_specs import PROGRAM, spec
from iree.compiler.api import Session as OtherSession
from processes import PATIENCE
from programs import TARGETS, iree_compile

import tuninglink
from tuninglink.compiler import Invocation, Output, Phase, Session
from tuninglink.errors import CompileError, Diagnostic, Place, Severity, UsageError
from tuninglink.mlir import DiagnosticSink

if TYPE_CHECKING:
    from collections.abc import Callable

VMVX = TARGETS["vmvx"]
CONFIGURED = "--compile-to=executable-configurations"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.mlir"
    path.write_text(PROGRAM)
    return path


@pytest.mark.parametrize("target", TARGETS)
def test_without_specs_the_output_is_that_of_iree_compile(target: str, program: Path) -> None:
    flags = TARGETS[target]
    compiled = tuninglink.compile(program, default_specs=False, flags=flags)
    assert compiled.output == iree_compile(program, *flags)
    assert compiled.applied == ()


@pytest.mark.parametrize(
    "flags",
    [
        ["--compile-to=flow"],
        ["--compile-to=stream"],
        ["--compile-to=hal", "--iree-hal-executable-debug-level=3"],
        ["--output-format=vm-asm", "--emit-mlir-bytecode", "--emit-mlir-bytecode-version=5"],
        ["--iree-opt-level=O3", "--iree-opt-strip-assertions"],
        ["--verify=false"],
        ["--compile-mode=precompile"],
    ],
)
def test_every_kind_of_output_is_that_of_iree_compile(flags: list[str], program: Path) -> None:
    compiled = tuninglink.compile(program, flags=[*VMVX, *flags])
    assert compiled.output == iree_compile(program, *VMVX, *flags)


def test_stopping_on_the_way_changes_nothing(program: Path) -> None:
    with (
        Session(VMVX) as session,
        session.open(str(program)) as source,
        Invocation(session, refuse) as invocation,
        Output() as output,
    ):
        invocation.parse(source)
        for first, last in itertools.pairwise(Phase):
            invocation.advance(first, last)
            assert invocation.module.name == "builtin.module"
        invocation.write(output, "VMBytecode")
        assert output.content() == iree_compile(program, *VMVX)


def refuse(diagnostic: Diagnostic) -> None:
    raise AssertionError(diagnostic)


def test_a_content_is_compiled_under_its_name(program: Path) -> None:
    flags = [*VMVX, "--mlir-print-debuginfo"]
    with pytest.raises(CompileError, match=r"'--mlir-print-debuginfo' applies to a whole process"):
        tuninglink.compile(PROGRAM.encode(), flags=flags)
    text = tuninglink.compile(PROGRAM.encode(), flags=VMVX, name=str(program))
    assert text.output == tuninglink.compile(program, flags=VMVX).output
    bytecode = tuninglink.compile(program, flags=["--compile-to=input", "--emit-mlir-bytecode"])
    assert tuninglink.compile(bytecode.output, flags=VMVX).output == text.output


def test_flags_hold_for_one_compilation(program: Path) -> None:
    flags = [*TARGETS["hip"], CONFIGURED]
    plain = tuninglink.compile(program, flags=flags).output
    marked = tuninglink.compile(program, flags=[*flags, "--iree-codegen-add-tuner-attributes"])
    assert b"root_op" in marked.output
    assert tuninglink.compile(program, flags=flags).output == plain


def test_flags_of_other_sessions_do_not_reach_a_compilation(program: Path) -> None:
    flags = [*TARGETS["hip"], CONFIGURED]
    plain = tuninglink.compile(program, flags=flags).output
    other = OtherSession()
    other.set_flags(
        "--iree-codegen-tuning-spec-path=nowhere.mlir", "--iree-codegen-add-tuner-attributes"
    )
    assert tuninglink.compile(program, flags=flags).output == plain


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--iree-opt-level=O9"], "malformed flag: Error parsing flags:"),
        (["--iree-opt-data-tiling=maybe"], "option parse error for: iree-opt-data-tiling=maybe"),
        (["--mlir-timing"], "'--mlir-timing' applies to a whole process"),
        (["--no-such-flag"], "unknown flag '--no-such-flag'"),
        (["program.mlir"], "'program.mlir' is not a flag"),
        (["-o", "out.vmfb"], "'-o' is not supported here"),
        (["--iree-hal-target-backends=vmx"], "target backend 'vmx' is not registered"),
    ],
)
def test_flags_that_make_no_sense_are_refused(
    flags: list[str], message: str, program: Path
) -> None:
    with pytest.raises((CompileError, UsageError), match=message):
        tuninglink.compile(program, flags=flags)


def test_errors_carry_their_place_and_those_who_called() -> None:
    source = b"func.func @f(%a: tensor<?xi3>) -> tensor<?xi3> {\n  return %b : tensor<?xi3>\n}"
    with pytest.raises(CompileError) as caught:
        tuninglink.compile(source, name="f.mlir", flags=VMVX)
    (found,) = caught.value.diagnostics
    assert found.message == "use of undeclared SSA value name"
    assert found.place == Place("f.mlir", 2, 10)


def test_warnings_are_told_and_kept(program: Path) -> None:
    told: list[Diagnostic] = []
    flags = ["--iree-hal-target-backends=llvm-cpu"]
    compiled = tuninglink.compile(program, flags=flags, diagnostics=DiagnosticSink(told.append))
    assert tuple(told) == compiled.diagnostics
    (warning,) = told
    assert warning.severity is Severity.WARNING
    assert "generic CPU" in warning.message
    assert warning.place == Place(str(program), 3, 10)
    assert [(each.message, each.place) for each in warning.notes] == [
        ("called from", Place(str(program), 2, 1))
    ]


def test_an_exception_of_whoever_is_told_comes_out(program: Path) -> None:
    def handler(_: Diagnostic) -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        tuninglink.compile(
            program,
            flags=["--iree-hal-target-backends=llvm-cpu"],
            diagnostics=DiagnosticSink(handler),
        )


def test_errors_of_all_parts_are_reported() -> None:
    source = "func.func @f() { one }\n// -----\n" + PROGRAM + "// -----\nfunc.func @f() { two }"
    with pytest.raises(CompileError) as caught:
        tuninglink.compile(source.encode(), flags=[*VMVX, "--split-input-file"])
    assert ["'one'" in caught.value.diagnostics[0].message, len(caught.value.diagnostics)] == [
        True,
        2,
    ]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (b"", "'p.mlir' is empty"),
        (b"\0\1\2", "'p.mlir' is neither MLIR text nor MLIR bytecode"),
        (b"ML\xefR\0", "p.mlir"),
        (spec("vmvx", "mine").encode(), "this is a tuning spec, not a program"),
    ],
)
def test_what_is_no_program_is_refused(source: bytes, message: str) -> None:
    with pytest.raises(CompileError, match=message):
        tuninglink.compile(source, name="p.mlir", flags=VMVX)


def test_a_repeated_matcher_is_an_error_of_every_function_and_no_crash(tmp_path: Path) -> None:
    """In a process without the flags of commands, the compiler crashes when it verifies the list."""
    text = spec("vmvx", "mine")
    entry = re.search(r"@\w+ -> @\w+", text)
    assert entry
    text = text.replace(entry[0], f"{entry[0]}, {entry[0]}")
    (tmp_path / "twice.mlir").write_text(text)
    (tmp_path / "marked.mlir").write_text("\ufeff" + text)
    script = f"""
import tuninglink
from pathlib import Path
from tuninglink.mlir import parse_module, thread_context

flags = {VMVX!r}
paths = "twice.mlir", "marked.mlir"
for source in (*paths, *(Path(path).read_bytes() for path in paths)):
    for call in (
        lambda: tuninglink.load_spec(source),
        lambda: tuninglink.link([source]),
        lambda: tuninglink.upgrade(source),
        lambda: tuninglink.compile({PROGRAM.encode()!r}, specs=[source], flags=flags),
        lambda: tuninglink.compile(source, flags=flags),
        lambda: tuninglink.explain(source, flags=flags),
        lambda: tuninglink.verify(source, flags=flags),
        lambda: tuninglink.run_passes(source, "canonicalize"),
        lambda: parse_module(Path(paths[0]).read_bytes(), "twice.mlir", thread_context()),
    ):
        try:
            call()
        except tuninglink.SpecError as failure:
            print(failure)
"""
    finished = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        timeout=PATIENCE,
    )
    assert finished.returncode == 0, finished.stderr[-2000:]
    lines = finished.stdout.splitlines()
    assert len(lines) == 4 * 9
    assert all(re.search(r":\d+:\d+: error: matcher '@\w+' is used more", line) for line in lines)


def test_programs_without_dispatches_compile() -> None:
    source = b"func.func @f(%a: i32) -> i32 {\n  return %a : i32\n}"
    compiled = tuninglink.compile(source, specs=[spec("vmvx", "mine").encode()], flags=VMVX)
    assert compiled.output == tuninglink.compile(source, default_specs=False, flags=VMVX).output
    (warning,) = compiled.diagnostics
    assert "configured nothing" in warning.message


def resident_mebibytes() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux's /proc")
def test_memory_stays_flat() -> None:
    large = "".join(PROGRAM.replace("@add", f"@add{i}") for i in range(500)).encode()
    mine = tuninglink.load_spec(spec("vmvx", "mine").encode())

    def once() -> None:
        tuninglink.compile(large, flags=["--compile-to=input"])
        tuninglink.compile(PROGRAM.encode(), specs=[mine], flags=[*VMVX, CONFIGURED])
        with pytest.raises(CompileError):
            tuninglink.compile(b"nonsense", flags=VMVX)

    def grown(times: int) -> float:
        before = resident_mebibytes()
        for _ in range(times):
            once()
        gc.collect()
        return resident_mebibytes() - before

    grown(5)
    # A large module that is not given back takes more than a MiB.
    assert grown(15) < 10


def in_threads(*works: Callable[[], None]) -> None:
    failures: list[BaseException] = []

    def guarded(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as failure:  # noqa: BLE001 - it is raised again below
            failures.append(failure)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def test_threads_compile_at_the_same_time() -> None:
    def work(target: str) -> Callable[[], None]:
        def body() -> None:
            outputs = set()
            for _ in range(2):
                compiled = tuninglink.compile(
                    PROGRAM.encode(), specs=[spec(target, "mine").encode()], flags=TARGETS[target]
                )
                assert [each.is_own for each in compiled.applied] == [True]
                outputs.add(compiled.output)
            assert len(outputs) == 1

        return body

    in_threads(*map(work, ("vmvx", "vulkan", "metal", "llvm-cpu")))


OWNERSHIP = """
import gc
from iree.compiler import ir
from tuninglink.compiler.session import Invocation, Session
with (
    Session() as session,
    session.open(b"module {}\\0", "p.mlir") as source,
    Invocation(session, print) as invocation,
):
    invocation.parse(source)
    assert invocation.module.context is not None
    gc.collect()
    print(ir.Context._get_live_count(), invocation.module.verify())
"""


def test_contexts_of_sessions_are_never_pythons() -> None:
    """The statement about ownership in `Invocation.module`: this shows whether it still holds after an upgrade."""
    # In a separate process: contexts are counted by address, and addresses are used again.
    result = subprocess.run(
        [sys.executable, "-c", OWNERSHIP], capture_output=True, text=True, check=True
    )
    assert result.stdout == "1 True\n"
