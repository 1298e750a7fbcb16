"""The default library: specs that are linked after the user's specs, one for each target.

The lookup is by SKU, then architecture, then family: first in the user's directories, then among the shipped specs.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.arguments import several
from tuninglink.errors import TuninglinkError
from tuninglink.iree import Target
from tuninglink.mlir import DiagnosticSink, error, thread_context
from tuninglink.specs.sources import SpecFile
from tuninglink.specs.spec import Spec

_SHIPPED: Final = Path("tuninglink/shipped/default")
"""The name of the directory in diagnostics and reports, independent of the place of installation."""

_TEXT_FIRST: Final = (".mlir", ".mlirbc")
_BYTECODE_FIRST: Final = (".mlirbc", ".mlir")
"""Shipped bytecode is generated from the text next to it; a user's bytecode may be older than the text."""


@dataclass(frozen=True)
class DefaultLibrary:
    """The search path of default specs.

    Attributes:
        directories: the directories searched first, in order, for `NAME.mlir` and then `NAME.mlirbc`; in each, by SKU,
            then architecture, then family.
    """

    directories: tuple[str | os.PathLike[str], ...] = ()
    shipped: bool = True
    upgrade: bool = True

    def find(self, target: Target) -> SpecFile | None:
        """Return the file of the default spec for `target`, or None if no file exists."""
        self.check_directories()
        for directory in map(Path, self.directories):
            if file := _find(directory, target, _TEXT_FIRST, directory):
                return file
        if not self.shipped:
            return None
        return _find(_shipped_directory(), target, _BYTECODE_FIRST, _SHIPPED)

    def check_directories(self) -> None:
        """Check that the directories exist."""
        for directory in map(Path, self.directories):
            if not directory.is_dir():
                problem = "is not a directory" if directory.exists() else "does not exist"
                message = f"the directory of default specs '{os.fspath(directory)}' {problem}"
                raise TuninglinkError(error(message))


def default_spec(
    target: str | Target,
    *,
    directories: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = (),
    context: mlir.Context | None = None,
    upgrade: bool = True,
    diagnostics: DiagnosticSink | None = None,
) -> Spec | None:
    """Return the default spec for a target, by SKU, then architecture, then family.

    Args:
        target: a target, or the name of one: `mi300x`, `gfx942`, `sm_80`, `znver4`, …
        directories: the directories searched for `NAME.mlir` or `NAME.mlirbc` before the shipped specs.
        context: the context of the spec; by default that of the calling thread, in which each
            shipped spec is loaded once.
        upgrade: whether a spec for an older compiler is upgraded; otherwise it is rejected.
        diagnostics: receives warnings about entries that cannot be upgraded; by default they are Python warnings.

    Returns:
        The spec, or None if this target has no default spec.

    Raises:
        TargetError: no target has this name.
        TuninglinkError: a directory does not exist, or the spec in it cannot be loaded.
    """
    if not isinstance(target, Target):
        target = Target.parse(target)
    own = DefaultLibrary(tuple(several(directories, "directories")), shipped=False).find(target)
    file = own or DefaultLibrary().find(target)
    if file is None:
        return None
    if own is None and context is None:
        return _loaded_once(file)
    return file.load(context or thread_context(), upgrade=upgrade, diagnostics=diagnostics)


def shipped() -> dict[Target, Spec]:
    """Return the shipped default specs, sorted by the names of their targets."""
    files = (Path(path.name) for path in _shipped_directory().iterdir())
    stems = sorted({file.stem for file in files if file.suffix in _BYTECODE_FIRST})
    specs = {}
    for target in map(Target.parse, stems):
        file = DefaultLibrary().find(target)
        assert file
        specs[target] = _loaded_once(file)
    return specs


def _shipped_directory() -> Traversable:
    return resources.files("tuninglink") / "shipped" / "default"


def _find(
    directory: Traversable, target: Target, suffixes: Sequence[str], shown: Path
) -> SpecFile | None:
    for name in target.names:
        for suffix in suffixes:
            file = directory / f"{name}{suffix}"
            try:
                if file.is_file():
                    return SpecFile(os.fspath(shown / file.name), file.read_bytes())
            except OSError as failure:
                reason = (failure.strerror or str(failure)).lower()
                message = f"cannot read the default spec '{file}': {reason}"
                raise TuninglinkError(error(message)) from None
    return None


class _Loaded(threading.local):
    """The shipped specs loaded into the context of one thread; they are freed with the thread."""

    def __init__(self) -> None:
        self.specs: dict[SpecFile, Spec] = {}


_loaded = _Loaded()


def _loaded_once(file: SpecFile) -> Spec:
    """Return the spec in the context of the calling thread; the first call parses it."""
    spec = _loaded.specs.get(file)
    if spec is None:
        spec = _loaded.specs[file] = file.load(thread_context())
    return spec
