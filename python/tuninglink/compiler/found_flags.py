"""The flags that a project file which the user did not name may give: none that runs a program, or reads or writes files.

The kind of a flag's value decides, as the compiler's help gives it: a switch, a number or one of several words cannot
name a file. Few flags with a text as value are accepted, and few switches are not.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Final

from tuninglink.compiler.flags import option_kinds
from tuninglink.errors import TuninglinkError
from tuninglink.mlir import error, note

if TYPE_CHECKING:
    from collections.abc import Iterable


_OWN: Final = frozenset(
    {"no-default-specs", "no-upgrade", "no-derived-entries", "skip-failing-entries", "prune"}
)
"""The flags of Tuninglink about the use of specs."""

_ACTING: Final = re.compile(
    r"dump|print|list-|plugin|ptxas|metallib|keep-|debug-patch|jit-|trace|break|benchmark|link-embedded|link-static|test"
)
"""Switches of which the compiler runs a tool, writes a file, or prints."""

_FILES: Final = re.compile(r"file|path|dir|archive", re.IGNORECASE)
"""Kinds of values that are files."""

_NAMING: Final = re.compile(
    r"iree-(cuda|rocm|vulkan)-target(-features)?"
    r"|iree-hal-(default-device|target-backends|target-device|local-(host|target)-device-backends)"
    r"|iree-llvmcpu-(target-(abi|cpu|cpu-features|data-layout|triple)|vscale-range|enable-(llvm-)?ukernels)"
    r"|iree-rocm-(enable-ukernels|encoding-layout-resolver)|iree-input-type"
)
"""Flags with a text as value that name a target, a device or a choice."""

_NAME: Final = re.compile(r"[\w.,:+=\[\]-]*")
"""The values of these. Attributes could name files."""

_PIPELINE: Final = "iree-preprocessing-pass-pipeline"
_PASSES: Final = re.compile(
    r"([\w.]+\(|\)|,|\s|canonicalize|cse|(iree-(linalg-ext|preprocessing|global-opt|dispatch-creation)-[\w-]+))*"
)
"""Pipelines of passes without options, which `tune` writes into response files."""


def check_found_flags(flags: Iterable[str], path: str) -> None:
    """Check the flags of a project file that was found, each with its value.

    Args:
        flags: the flags.
        path: the project file.

    Raises:
        TuninglinkError: a flag could run a program, or read or write a file.
    """
    for flag in flags:
        if not _is_harmless(*flag.partition("=")[::2]):
            remedy = note(f"if you trust it, name it: --project {shlex.quote(path)}")
            reason = "it could run a program, read or write a file, or is unknown"
            message = (
                f"{path}: '{flag}' is not accepted from a project file that is not named: {reason}"
            )
            raise TuninglinkError(error(message, notes=[remedy]))


def _is_harmless(flag: str, value: str) -> bool:
    name = re.sub("^--?", "", flag)
    if name in _OWN:
        return True
    if name == "target":
        return bool(_NAME.fullmatch(value))
    kind = option_kinds().get(name)
    if kind is None or not flag.startswith("-") or not name.startswith("iree-"):
        return False
    if name == _PIPELINE:
        return bool(_PASSES.fullmatch(value))
    if _NAMING.fullmatch(name):
        return bool(_NAME.fullmatch(value))
    return kind != "string" and not _FILES.search(kind) and not _ACTING.search(name)
