"""Verifies the specs in `specs/` and writes their bytecode; as a hook of the build, into the wheel.

Usage: assemble_specs.py OUT [IREE_OPT]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

SPECS = Path(__file__).resolve().parent.parent / "specs"


def assemble(out: Path, iree_opt: str) -> None:
    """Write the bytecode of each `specs/FOLDER/NAME.mlir` to `OUT/FOLDER/NAME.mlirbc`.

    Raises:
        subprocess.CalledProcessError: a spec does not verify; the compiler has printed the reason.
    """
    with tempfile.TemporaryDirectory() as scratch:
        empty = Path(scratch) / "no_payload.mlir"
        empty.write_text("module {}\n")
        for spec in sorted(SPECS.rglob("*.mlir")):
            bytecode = (out / spec.relative_to(SPECS)).with_suffix(".mlirbc")
            bytecode.parent.mkdir(parents=True, exist_ok=True)
            # The first command loads the spec as the compiler does when it compiles for the target, which refuses
            # what is not a spec. Both run beside the text and name it without a folder: locations then do not
            # depend on where the build happens, and every build writes the same bytes.
            load = f"iree-codegen-materialize-tuning-specs{{tuning-spec-path={spec.name}}}"
            for arguments in (
                (empty, f"--pass-pipeline=builtin.module({load})", "-o", scratch + "/verified"),
                (spec.name, "--no-implicit-module", "--emit-bytecode", "-o", bytecode.resolve()),
            ):
                subprocess.run([iree_opt, *arguments], cwd=spec.parent, check=True)  # noqa: S603


def bindings_iree_opt() -> str:
    """Return the `iree-opt` of the bindings of this Python."""
    from iree.compiler.tools.binaries import find_tool  # noqa: PLC0415 - another one may be given

    found: str = find_tool("iree-opt")
    return found


def main() -> int:
    """Assemble the specs; return the exit code."""
    if len(sys.argv) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        assemble(Path(sys.argv[1]), sys.argv[2] if sys.argv[2:] else bindings_iree_opt())
    except subprocess.CalledProcessError:
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
