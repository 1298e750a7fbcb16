"""Generates type stubs for the parts of IREE's bindings that Tuninglink uses.

The wheel ships none, and without them a type checker sees `Any` everywhere. The stubs are made from the
installed bindings, so that they cannot disagree with them, and are made again only when the bindings
or this script change. A module that is missing here is an error of the type checker: add it.

Usage: generate_stubs.py DIRECTORY
"""

from __future__ import annotations

import importlib.metadata
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

BINDINGS = "iree.compiler._mlir_libs"
EXTENSIONS = {
    f"{BINDINGS}._mlir.ir": f"{BINDINGS}._mlir.ir",
    f"{BINDINGS}._mlir.passmanager": f"{BINDINGS}._mlir.passmanager",
    f"{BINDINGS}._ireeCompilerDialects": f"{BINDINGS}._ireeCompilerDialects.__init__",
    f"{BINDINGS}._ireeCompilerDialects.iree_codegen": f"{BINDINGS}._ireeCompilerDialects.iree_codegen",
    f"{BINDINGS}._ireeCompilerDialects.iree_gpu": f"{BINDINGS}._ireeCompilerDialects.iree_gpu",
    f"{BINDINGS}._mlirDialectsSMT": f"{BINDINGS}._mlirDialectsSMT",
    f"{BINDINGS}._mlirDialectsTransform": f"{BINDINGS}._mlirDialectsTransform",
    f"{BINDINGS}._mlirTransformInterpreter": f"{BINDINGS}._mlirTransformInterpreter",
}
"""Modules written in C++, described by nanobind, and where their stubs go."""

DESCRIBE = f"""
import sys
from {BINDINGS}._mlir import ir
from nanobind.stubgen import main

# At import, Context is replaced by a subclass without annotations: describe the original.
ir.Context = ir._Context
del ir._Context
main(sys.argv[1:])
"""

CORRECTIONS = f"""
{BINDINGS}._mlir.ir.Context.attach_diagnostic_handler:
    def attach_diagnostic_handler(self, callback: Callable[[Diagnostic], bool]) -> DiagnosticHandler: ...
"""
"""Signatures that the bindings leave vague, in the syntax of nanobind's pattern files."""

WRITTEN_BY_HAND = {
    "iree.compiler.ir": f"from {BINDINGS}._mlir.ir import *\n"
    f"from {BINDINGS}._mlir.ir import _OperationBase as _OperationBase\n",
    "_mlir.ir": f"from {BINDINGS}._mlir.ir import *\n",  # as some signatures call it
    "iree.compiler.dialects.transform.__init__": (
        f"from {BINDINGS}._mlirDialectsTransform import *\n"
        "from iree.compiler.ir import OpView\n"
        "class IncludeOp(OpView): ...\n"
    ),
    "iree.compiler.passmanager": f"from {BINDINGS}._mlir.passmanager import *\n",
}
"""Python modules that hand on an extension module."""

PURE = (
    "iree.compiler.api",
    "iree.compiler.api.ctypes_dl",
    "iree.compiler.dialects.transform.interpreter",
    *(
        f"iree.compiler.dialects.{part}"
        for dialect in ("iree_codegen", "iree_gpu", "smt")
        for part in (dialect, f"_{dialect}_ops_gen", f"_{dialect}_enum_gen")
    ),
)
"""Modules written in Python with annotations here and there, described by mypy's stubgen."""


def stamp() -> str:
    """Return the inputs of the stubs: the versions of the bindings and the tools, and this script."""
    tools = ("iree-base-compiler", "nanobind", "mypy")
    versions = [f"# {tool} {importlib.metadata.version(tool)}" for tool in tools]
    return "\n".join([*versions, Path(__file__).read_text()])


def place(directory: Path, module: str) -> Path:
    """Return the file for the stub of `module`, in a folder that is a package, like those above it."""
    path = directory.joinpath(*module.split(".")).with_suffix(".pyi")
    path.parent.mkdir(parents=True, exist_ok=True)
    folder = path.parent
    while folder not in {directory, directory / "iree"}:  # `iree` is a namespace, no package
        (folder / "__init__.pyi").touch()
        folder = folder.parent
    return path


def run(*arguments: str) -> None:
    """Run this Python with some arguments; raise CalledProcessError if it fails."""
    subprocess.run([sys.executable, *arguments], check=True)  # noqa: S603 - our own arguments


def generate(directory: Path) -> None:
    """Write all stubs into an empty directory."""
    modules = [argument for module in PURE for argument in ("-m", module)]
    stubgen = "from mypy.stubgen import main; main()"
    run("-c", stubgen, "--quiet", "--include-private", *modules, "-o", str(directory))
    corrections = directory / ".corrections"
    corrections.write_text(CORRECTIONS)
    options = ("-q", "--include-private", "-p", str(corrections))
    for module, target in EXTENSIONS.items():
        run("-c", DESCRIBE, *options, "-m", module, "-o", str(place(directory, target)))
    for module, text in WRITTEN_BY_HAND.items():
        place(directory, module).write_text(text)


def main() -> int:
    """Bring the stubs up to date; return the exit code."""
    if len(sys.argv) != 2:  # noqa: PLR2004 - the script and one argument
        print(__doc__, file=sys.stderr)
        return 2
    directory = Path(sys.argv[1])
    made_from = directory / ".made-from"
    wanted = stamp()
    if made_from.exists() and made_from.read_text() == wanted:
        return 0
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory.parent) as scratch:
        fresh = Path(scratch) / "typings"
        generate(fresh)
        (fresh / ".made-from").write_text(wanted)
        shutil.rmtree(directory, ignore_errors=True)
        fresh.rename(directory)
    return 0


if __name__ == "__main__":
    sys.exit(main())
