"""`tuninglink-opt` beside `iree-opt`, and with broken inputs and outputs."""

from __future__ import annotations

import os
import resource
import signal
import stat
import subprocess
import time
from pathlib import Path

import pytest
from places import TOOLS
from processes import PATIENCE
from programs import listening

from tuninglink.opt import pass_registry as compiler_passes

TOOL = str(TOOLS / "tuninglink-opt")

ADD = """func.func @f(%a: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %sum = arith.addi %a, %zero : i32
  return %sum : i32
}
"""

CHUNKS = """#map = affine_map<(d0) -> (d0)>
func.func private @alias() attributes {map = #map}
// -----
func.func @wrong(%a: i32) -> i32 {
  return %a : i33
}
// -----
  func.func @one() { return }
func.func @two() -> i32 {
\treturn
}
// ----
// -----
module @m attributes {some.thing} {}
// -----
"""

EXPECTATIONS = """
// expected-error@below {{has 0 operands}}
func.func @a() -> i32 { return }
// -----
func.func @b() -> i32 { return } // expected-warning {{has 0 operands}}
// -----
func.func @c() -> i32 { return } // expected-error-re {{'func.return' op has {{[0-9]+}} operands}}
// -----
func.func @d() -> i32 { return }
// expected-note@above {{not produced}}
// expected-remark@unknown {{nowhere}}
// -----
// expected-error@below {{dangling}}
"""


def _run(tool: str, *arguments: str, data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([tool, *arguments], input=data, capture_output=True, check=False)


def _write(folder: Path, text: str) -> str:
    path = folder / "input.mlir"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize("text", [ADD, CHUNKS, f"module @named {{{ADD}}}", "// nothing\n"])
@pytest.mark.parametrize(
    "flags",
    [
        [],
        ["--split-input-file"],
        ["--split-input-file", "--mlir-print-debuginfo", "--mlir-print-local-scope"],
        ["--canonicalize", "-cse"],
        ["--no-implicit-module", "--split-input-file", "--canonicalize=top-down=0"],
        ["--pass-pipeline=builtin.module(func.func(canonicalize{max-iterations=2},cse),any(cse))"],
        ["--emit-bytecode", "--split-input-file"],
        ["--mlir-print-ir-after-all", "--mlir-disable-threading", "--cse", "--canonicalize"],
        ["--mlir-print-ir-before=cse", "--mlir-print-ir-after=canonicalize", "--canonicalize", "--cse",
         "--mlir-print-ir-module-scope", "--mlir-disable-threading"],
        ["--mlir-print-op-generic", "--mlir-print-unique-ssa-ids"],
        ["--iree-codegen-configuration-preprocessing-pipeline"],
        ["--iree-abi-transformation-pipeline"],
        ["--dump-pass-pipeline", "--cse", "--iree-codegen-strip-compilation-info"],
        ["--dump-pass-pipeline", "--pass-pipeline=any(cse,func.func(any(cse)))"],
        ["--pass-pipeline=func.func(cse)"],
        ["--verify-roundtrip", "--cse"],
        ["--verify-each=0", "--output-split-marker=// next", "--split-input-file"],
    ],
)  # fmt: skip
def test_prints_what_iree_opt_prints(text: str, flags: list[str], tmp_path: Path) -> None:
    path = _write(tmp_path, text)
    ours, theirs = (_run(tool, path, *flags) for tool in (TOOL, compiler_passes.EXECUTABLE))
    assert ours.stdout == theirs.stdout
    assert ours.returncode == theirs.returncode
    if "--mlir-print-debuginfo" not in flags:
        # The operation at a diagnostic of the parser is printed before its source has a name.
        assert ours.stderr == theirs.stderr


def test_reads_standard_input_as_iree_opt_does() -> None:
    for flags in ([], ["-"], ["--mlir-print-debuginfo", "--mlir-print-local-scope"]):
        ours, theirs = (
            _run(tool, *flags, data=ADD.encode()) for tool in (TOOL, compiler_passes.EXECUTABLE)
        )
        assert (ours.stdout, ours.stderr) == (theirs.stdout, theirs.stderr)


@pytest.mark.parametrize("mode", ["", "=all", "=only-expected"])
def test_judges_diagnostics_as_iree_opt_does(mode: str, tmp_path: Path) -> None:
    path = _write(tmp_path, EXPECTATIONS)
    results = [
        _run(tool, path, "--split-input-file", f"--verify-diagnostics{mode}")
        for tool in (TOOL, compiler_passes.EXECUTABLE)
    ]
    ours, theirs = (
        [line for line in each.stderr.splitlines() if b"error: " in line] for each in results
    )
    # iree-opt names what has no place twice.
    assert ours == list(dict.fromkeys(theirs))
    assert results[0].stdout == results[1].stdout
    assert [each.returncode for each in results] == [1, 1]


def test_judges_each_chunk_alone_as_iree_opt_does(tmp_path: Path) -> None:
    for chunk in EXPECTATIONS.split("// -----"):
        path = _write(tmp_path, chunk)
        ours, theirs = (
            _run(tool, path, "--verify-diagnostics").returncode
            for tool in (TOOL, compiler_passes.EXECUTABLE)
        )
        assert ours == theirs


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "<stdin>:1:1: error: the input is empty; expected MLIR text or bytecode"),
        (b" \n\n", "<stdin>:1:1: error: the input is empty; expected MLIR text or bytecode"),
        (ADD[:45].encode(), "<stdin>:2:11: error: custom op 'arit' is unknown"),
        (b"\x7fELF\x00\x01\xfe", "<stdin>:1:1: error: "),
        (b"ML\xefR", "<stdin>:0:0: error: attempting to parse a byte"),
        (b"module {\n}\n}", "<stdin>:2:2: error: expected operation name"),
    ],
)
@pytest.mark.parametrize("flags", [[], ["--tuninglink-strip-configs"], ["--no-implicit-module"]])
def test_refuses_bad_input_with_one_diagnostic(data: bytes, message: str, flags: list[str]) -> None:
    finished = _run(TOOL, *flags, data=data)
    said = finished.stderr.decode(errors="replace")
    assert finished.returncode == 1
    assert finished.stdout == b""
    assert said.startswith(message)
    assert said.count("error: ") == 1
    assert "Traceback" not in said


@pytest.mark.parametrize("size", [10, 100, 150, 200])
def test_refuses_truncated_bytecode(size: int, tmp_path: Path) -> None:
    whole = _run(TOOL, "--emit-bytecode", data=ADD.encode()).stdout
    path = tmp_path / "cut.mlirbc"
    path.write_bytes(whole[:size])
    finished = _run(TOOL, str(path))
    assert finished.returncode == 1
    assert finished.stderr.startswith(f"{path}:".encode())
    assert b"error: " in finished.stderr
    assert b"Traceback" not in finished.stderr


def test_refuses_what_cannot_be_read(tmp_path: Path) -> None:
    for path, reason in (
        (tmp_path / "none", "No such file or directory"),
        (tmp_path, "Is a directory"),
    ):
        finished = _run(TOOL, str(path))
        assert finished.returncode == 1
        assert finished.stderr.decode() == (
            f"tuninglink-opt: error: cannot open input file '{path}': {reason}\n"
        )


@pytest.mark.parametrize("place", ["missing/out.mlir", ".", "/dev/full"])
def test_says_when_output_cannot_be_written(place: str, tmp_path: Path) -> None:
    out = tmp_path / place
    finished = _run(TOOL, "-o", str(out), data=ADD.encode())
    assert finished.returncode == 1
    assert finished.stderr.startswith(b"tuninglink-opt: error: cannot write ")
    assert finished.stderr.count(b"\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_says_when_standard_output_is_full() -> None:
    with Path("/dev/full").open("wb") as full:
        finished = subprocess.run(
            [TOOL], input=ADD.encode(), stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert finished.returncode == 1
    assert finished.stderr.startswith(b"tuninglink-opt: error: cannot write ")
    assert finished.stderr.count(b"\n") == 1


@pytest.mark.parametrize("flags", [[], ["--canonicalize"], ["--help"], ["--list-passes"]])
def test_ends_quietly_when_nobody_reads_on(flags: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as pipe:
        finished = subprocess.run(
            [TOOL, *flags], input=ADD.encode(), stdout=pipe, stderr=subprocess.PIPE, check=False
        )
    assert finished.returncode == 1
    assert finished.stderr == b""


def test_a_full_disk_leaves_what_was_there(tmp_path: Path) -> None:
    out = tmp_path / "out.mlir"
    out.write_text("before")

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20))

    finished = subprocess.run(
        [TOOL, "-o", str(out)],
        input=ADD.encode(),
        capture_output=True,
        check=False,
        preexec_fn=limit,
    )
    assert finished.returncode == 1
    assert b"cannot write" in finished.stderr
    assert out.read_text() == "before"
    assert list(tmp_path.iterdir()) == [out]


def test_a_failing_run_leaves_the_output_file_alone(tmp_path: Path) -> None:
    out = tmp_path / "out.mlir"
    out.write_text("before")
    assert _run(TOOL, "-o", str(out), data=b"module {").returncode == 1
    assert out.read_text() == "before"
    out.chmod(0o640)
    assert _run(TOOL, "-o", str(out), data=ADD.encode()).returncode == 0
    assert out.read_text().startswith("module {")
    assert stat.S_IMODE(out.stat().st_mode) == 0o640


@pytest.mark.parametrize(
    ("closed", "flags", "code", "said"),
    [
        ("<&-", "", 1, "cannot open input file '-': Bad file descriptor"),
        (">&-", "INPUT", 1, "cannot write "),
        (">&-", "--help", 1, "cannot write "),
        ("2>&-", "INPUT", 0, ""),
        ("2>&-", "nothing-there", 1, ""),
        ("<&- >&- 2>&-", "INPUT -o OUTPUT", 0, ""),
    ],
)
def test_closed_standard_streams_are_no_surprise(
    closed: str, flags: str, code: int, said: str, tmp_path: Path
) -> None:
    flags = flags.replace("INPUT", _write(tmp_path, ADD)).replace("OUTPUT", str(tmp_path / "out"))
    command = f"{TOOL} {flags} {closed}"
    finished = subprocess.run(
        ["sh", "-c", command], capture_output=True, check=False, timeout=PATIENCE, text=True
    )
    assert finished.returncode == code
    assert said in finished.stderr
    assert "Traceback" not in finished.stderr
    assert (tmp_path / "out").exists() == ("OUTPUT" in flags or "/out" in flags)


def test_reads_response_files_as_iree_opt_does(tmp_path: Path) -> None:
    inner, outer = tmp_path / "inner", tmp_path / "outer"
    inner.write_text(f"--canonicalize\n'{_write(tmp_path, ADD)}'")
    outer.write_text(f'--dump-pass-pipeline "@{inner}" --cse')
    for arguments in ([f"@{outer}"], ["@no-such-file"], [f"@{inner}", "--emit-bytecode"]):
        ours, theirs = (_run(tool, *arguments) for tool in (TOOL, compiler_passes.EXECUTABLE))
        assert ours.stdout == theirs.stdout
        assert ours.stderr[-200:] == theirs.stderr[-200:] or b"'no-such-file'" in ours.stderr
        assert ours.returncode == theirs.returncode


def _endless(folder: Path) -> list[str]:
    """Return a command that is busy inside the compiler for a long time."""
    chain = "\n".join(f"%{index + 1} = arith.addi %{index}, %a : i32" for index in range(30_000))
    path = _write(
        folder,
        f"func.func @f(%a: i32) -> i32 {{\n%0 = arith.addi %a, %a : i32\n{chain}\nreturn %30000 : i32 }}",
    )
    pipeline = f"builtin.module({','.join(['canonicalize', 'cse'] * 2000)})"
    return [TOOL, path, f"--pass-pipeline={pipeline}", "-o", str(folder / "out.mlir")]


@pytest.mark.parametrize("delay", [0, 0.2, 1.5])
def test_an_interrupt_ends_it_at_once(delay: float, tmp_path: Path) -> None:
    process = subprocess.Popen(listening(_endless(tmp_path)), stderr=subprocess.PIPE)
    # Before that, it is Python that starts, and not yet the command.
    maps = Path(f"/proc/{process.pid}/maps")
    while "libIREECompiler" not in maps.read_text():
        time.sleep(0.01)
    time.sleep(delay)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert said == b"tuninglink-opt: interrupted\n"
    assert [each.name for each in tmp_path.iterdir()] == ["input.mlir"]
