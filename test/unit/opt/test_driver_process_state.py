"""Process-wide state of the compiler, tested in separate processes."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest
from iree.compiler import ir
from processes import PATIENCE

from tuninglink.opt import CompilerPasses, Element, pass_registry as compiler_passes


def _run(script: str) -> subprocess.CompletedProcess[str]:
    prelude = "from tuninglink.opt.execution import set_up_process\n"
    command = [sys.executable, "-c", prelude + script]
    return subprocess.run(command, capture_output=True, check=False, text=True, timeout=PATIENCE)


@pytest.mark.parametrize("target_backends", [False, True])
def test_flags_are_heeded_by_contexts_that_are_made_afterwards(target_backends: bool) -> None:  # noqa: FBT001
    finished = _run(
        f"set_up_process('tool', ['--mlir-print-op-generic'], target_backends={target_backends})\n"
        "from iree.compiler import ir\n"
        "print(ir.Module.parse('module {}', ir.Context()))\n"
    )
    assert finished.returncode == 0, finished.stderr
    assert '"builtin.module"() (' in finished.stdout


@pytest.mark.parametrize("target_backends", [False, True])
@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("--no-such-flag", "tool: Unknown command line argument '--no-such-flag'."),
        ("--iree-rocm-target", "tool: for the --iree-rocm-target option: requires a value!"),
        ("--mlir-elide-elementsattrs-if-larger=x", "'x' value invalid for uint argument!"),
    ],
)
def test_the_compiler_rejects_invalid_flags(
    flag: str, message: str, *, target_backends: bool
) -> None:
    finished = _run(f"set_up_process('tool', ['{flag}'], target_backends={target_backends})")
    assert finished.returncode == 1
    assert message in finished.stderr


def test_target_backends_are_found_once_they_are_known() -> None:
    script = (
        "set_up_process('tool', [], target_backends=%s)\n"
        "from iree.compiler import ir\n"
        "from iree.compiler.passmanager import PassManager\n"
        "context = ir.Context()\n"
        "module = ir.Module.parse('module {}', context)\n"
        "text = 'builtin.module(iree-hal-assign-legacy-target-devices{targetBackends=vmvx})'\n"
        "PassManager.parse(text, context).run(module.operation)\n"
        "print(module)\n"
    )
    assert "vmvx-bytecode-fb" in _run(script % "True").stdout
    assert "vmvx" in _run(script % "False").stderr


def test_detects_passes_that_use_target_backends() -> None:
    passes = CompilerPasses(ir.Context())
    needing = [
        name for name in compiler_passes.pass_names() if passes.needs_target_backends(Element(name))
    ]
    assert "iree-hal-configure-target-executable-variants" in needing
    assert "iree-hal-transformation-pipeline" in needing
    assert "canonicalize" not in needing
    assert len(needing) < 50


def test_sessions_can_be_started_where_backends_are_not_asked_for() -> None:
    finished = _run(
        "set_up_process('tool', ['--iree-rocm-target=gfx942'], target_backends=False)\n"
        "from iree.compiler.api import Session, Source\n"
        "session = Session()\n"
        "session.set_flags('--iree-hal-target-device=local', '--iree-hal-local-target-device-backends=vmvx')\n"
        "invocation = session.invocation()\n"
        "assert invocation.parse_source(Source.wrap_buffer(session, b'module {}\\0'))\n"
        "assert invocation.execute()\n"
    )
    assert finished.returncode == 0, finished.stderr


def test_pythons_signal_handlers_stay() -> None:
    finished = _run(
        "import os, signal\n"
        # A shell starts its background jobs with interrupts ignored.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "set_up_process('tool', [], target_backends=True)\n"
        "try:\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    signal.pause()\n"
        "except KeyboardInterrupt:\n"
        "    print('caught')\n"
        "assert signal.getsignal(signal.SIGPIPE) == signal.SIG_IGN\n"
        "os.kill(os.getpid(), signal.SIGPIPE)\n"
        "print('alive')\n"
    )
    assert finished.returncode not in (-signal.SIGINT, -signal.SIGPIPE)
    assert finished.stdout == "caught\nalive\n"
