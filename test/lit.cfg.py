"""The lit suite: `lit test`, or `cmake --build build --target check-tuninglink`.

Parameters (`--param name=value`):
    tuninglink_bin: the folder that holds `tuninglink-opt` and the other tools; by default the one of the
        Python that runs lit.
    iree_bin: the folder that holds `iree-opt` and the other tools of the compiler; by default the one of the
        bindings.
    tuninglink_obj_root: where tests write; by default `build/test`.
"""

# lit executes this file with `config` and `lit_config` defined.
# ruff: noqa: F821
# mypy: disable-error-code="name-defined"

import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import filecheck.main
import lit.formats
import lit.TestRunner
from iree.compiler.tools.binaries import find_tool
from iree.compiler.version import VERSION


class Process(subprocess.Popen[str]):
    """A process of a test. That of `filecheck` is a fork of lit, which has loaded it.

    Starting Python and loading filecheck 450 times took a tenth of the processor time of lit's tests.
    """

    def __init__(self, args: list[str], **options: Any) -> None:
        if args[0] == "filecheck":
            options["preexec_fn"] = partial(run_filecheck, args)
        super().__init__(args, **options)


def run_filecheck(arguments: list[str]) -> NoReturn:
    """Run filecheck in this process, a fork, with its standard streams, and end it."""
    code: object = 1
    try:
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
        filecheck.main.main(arguments)
    except SystemExit as end:
        code = end.code
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(bool(code))


lit.TestRunner.subprocess.Popen = Process

source_root = Path(__file__).resolve().parent
tools = lit_config.params.get("tuninglink_bin") or str(Path(sys.executable).parent)
# The commands that pip installs start Python before the compiler, which takes longer than most programs here.
compiler_tools = lit_config.params.get("iree_bin") or str(Path(find_tool("iree-opt")).parent)

config.name = "Tuninglink"
# Tests of what only newer compilers read say `REQUIRES: iree-3.13`.
config.available_features |= {
    f"iree-3.{minor}" for minor in range(13, int(VERSION.split(".")[1]) + 1)
}
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "support"]
config.test_source_root = str(source_root)
config.test_exec_root = lit_config.params.get("tuninglink_obj_root") or str(
    source_root.parent / "build" / "test"
)
config.environment["PATH"] = os.pathsep.join([compiler_tools, tools, os.environ["PATH"]])
config.environment["NO_COLOR"] = "1"
# check-tuninglink names the package so, a compiler's CI its bindings.
python_path = os.environ.get("PYTHONPATH", "")
if python_path:
    config.environment["PYTHONPATH"] = python_path
config.substitutions += [
    # To be put behind the folders that a test adds: PYTHONPATH=%S/Inputs/plugin%{python_path}
    ("%{python_path}", f":{python_path}" if python_path else ""),
    ("%examples", str(source_root.parent / "examples")),
    ("%python", sys.executable),
]
