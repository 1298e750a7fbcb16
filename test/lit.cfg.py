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
import sys
from pathlib import Path

import lit.formats
import lit.TestRunner
from iree.compiler.tools.binaries import find_tool
from iree.compiler.version import VERSION

source_root = Path(__file__).resolve().parent
sys.path.insert(0, str(source_root / "support"))
from lit_processes import Process, fork_commands  # noqa: E402

lit.TestRunner.subprocess.Popen = Process
if "tuninglink_bin" not in lit_config.params:
    fork_commands()

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
