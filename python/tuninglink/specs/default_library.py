"""The default library: specs that are linked after the user's specs, one for each target.

The lookup is by SKU, then architecture, then family: first in the user's directories, then among the shipped specs.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
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
from tuninglink.specs.revision import provenance_of
from tuninglink.specs.spec import Spec, load_spec

_SHIPPED: Final = "tuninglink/shipped/default"
"""The name of the directory in diagnostics and reports, independent of the place of installation."""

_TEXT_FIRST: Final = (".mlir", ".mlirbc")
_BYTECODE_FIRST: Final = (".mlirbc", ".mlir")


@dataclass(frozen=True)
class DefaultSpecFile:
    """The file of a target's default spec.

    Attributes:
        path: the path of the file; of a shipped file, its path in the package.
    """

    name: str
    path: str
    content: bytes
    shipped: bool

    def load(
        self,
        context: mlir.Context,
        *,
        upgrade: bool = True,
        diagnostics: DiagnosticSink | None = None,
    ) -> Spec:
        """Return the spec."""
        return load_spec(
            self.content, name=self.path, context=context, upgrade=upgrade, diagnostics=diagnostics
        )


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

    def find(self, target: Target) -> DefaultSpecFile | None:
        """Return the file of the default spec for `target`, or None if no file exists."""
        self.check_directories()
        for directory in map(Path, self.directories):
            file = _find(directory, target, shipped=False)
            if file:
                return file
        return _find(_shipped_directory(), target, shipped=True) if self.shipped else None

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
    file = DefaultLibrary(tuple(several(directories, "directories"))).find(target)
    if file is None:
        return None
    if file.shipped and context is None:
        return _loaded_once(file)
    return file.load(context or thread_context(), upgrade=upgrade, diagnostics=diagnostics)


@dataclass(frozen=True)
class ShippedEntry:
    """An entry of a shipped spec."""

    matcher: str
    action: str
    source: str


@dataclass(frozen=True)
class ShippedSpec:
    """A default spec that is part of the package."""

    target: Target
    path: str
    spec: Spec

    @property
    def entries(self) -> tuple[ShippedEntry, ...]:
        """The entries, in order of precedence."""
        table = self.spec.anatomy.table
        return tuple(
            ShippedEntry(
                entry.matcher,
                entry.action,
                str(provenance_of(table, entry.matcher).get("source", "")),
            )
            for entry in self.spec.entries
        )


def shipped() -> tuple[ShippedSpec, ...]:
    """Return the shipped default specs, sorted by the names of their targets."""
    specs = []
    files = (Path(path.name) for path in _shipped_directory().iterdir())
    for name in sorted({file.stem for file in files if file.suffix in _BYTECODE_FIRST}):
        target = Target.parse(name)
        found = DefaultLibrary().find(target)
        assert found
        specs.append(ShippedSpec(target, found.path, _loaded_once(found)))
    return tuple(specs)


def _shipped_directory() -> Traversable:
    return resources.files("tuninglink") / "shipped" / "default"


def _find(directory: Traversable, target: Target, *, shipped: bool) -> DefaultSpecFile | None:
    # Shipped bytecode is generated from the text next to it; a user's bytecode may be older than the text.
    suffixes = _BYTECODE_FIRST if shipped else _TEXT_FIRST
    for name in target.names:
        for suffix in suffixes:
            file = directory / f"{name}{suffix}"
            try:
                if file.is_file():
                    path = f"{_SHIPPED}/{file.name}" if shipped else str(file)
                    return DefaultSpecFile(name, path, file.read_bytes(), shipped)
            except OSError as failure:
                reason = (failure.strerror or str(failure)).lower()
                message = f"cannot read the default spec '{file}': {reason}"
                raise TuninglinkError(error(message)) from None
    return None


class _Loaded(threading.local):
    """The shipped specs loaded into the context of one thread; they are freed with the thread."""

    def __init__(self) -> None:
        self.specs: dict[DefaultSpecFile, Spec] = {}


_loaded = _Loaded()


def _loaded_once(file: DefaultSpecFile) -> Spec:
    """Return the spec in the context of the calling thread; the first call parses it."""
    spec = _loaded.specs.get(file)
    if spec is None:
        spec = _loaded.specs[file] = file.load(thread_context())
    return spec
