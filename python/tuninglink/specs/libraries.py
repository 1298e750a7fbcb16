"""Libraries of specs, shipped with this package or provided by other packages.

A Python package becomes a library with an entry point of the group `tuninglink.specs`. The value of the entry point is
the package or subpackage that contains the specs. Its name is the name of the library:

```toml
[project.entry-points."tuninglink.specs"]
acme = "acme_specs"
```
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from tuninglink.errors import SpecError, did_you_mean
from tuninglink.mlir.diagnostics import error, note

if TYPE_CHECKING:
    from importlib import metadata

LIBRARY: Final = "library:"
"""The prefix of names of libraries on a command line."""

GROUP: Final = "tuninglink.specs"
"""The group of entry points."""


@dataclass(frozen=True)
class LibraryFile:
    """A spec in a library.

    Attributes:
        name: `library:LIBRARY` for a shipped spec, `library:LIBRARY/SPEC` for a spec in another package.
        content: text or bytecode.
        text: the text that the bytecode was made from, if any.
    """

    name: str
    content: bytes
    text: bytes | None


def library_files(name: str) -> tuple[LibraryFile, ...]:
    """Return the specs of a library.

    Args:
        name: the name of a shipped library, of another package's library, or of one spec in the latter: `acme/gfx942`.

    Raises:
        SpecError: the library does not exist, or has no specs.
    """
    library, _, only = name.partition("/")
    shipped = _specs_in(shipped_directory())
    if name in shipped:
        return (_read(name, shipped[name]),)
    files_by_name = {
        f"{library}/{stem}": files
        for entry_point in _entry_points().select(name=library)
        for stem, files in _specs_in(resources.files(entry_point.module)).items()
        if only in ("", stem)
    }
    if not files_by_name:
        hint = did_you_mean(name, library_names())
        raise SpecError(error(f"there is no library '{name}'{hint}", notes=[note(_known())]))
    return tuple(_read(stem, files) for stem, files in sorted(files_by_name.items()))


def library_names() -> list[str]:
    """Return the names of all libraries."""
    return sorted({*_specs_in(shipped_directory()), *_entry_points().names})


def spec_names() -> list[str]:
    """Return the arguments that select libraries on a command line."""
    return [f"{LIBRARY}{name}" for name in ("auto", *library_names())]


def shipped_libraries() -> tuple[LibraryFile, ...]:
    """Return the shipped libraries by name."""
    specs = _specs_in(shipped_directory())
    return tuple(_read(name, specs[name]) for name in sorted(specs))


def shipped_directory() -> Traversable:
    """Return the directory of the shipped libraries."""
    return resources.files("tuninglink") / "shipped" / "library"


def _entry_points() -> metadata.EntryPoints:
    from importlib import metadata  # noqa: PLC0415 - most commands read no library of another package

    return metadata.entry_points(group=GROUP)


def _known() -> str:
    names = library_names()
    return f"the libraries are: {', '.join(names)}" if names else "no library is installed"


def _specs_in(directory: Traversable) -> dict[str, dict[str, Traversable]]:
    """Return the spec files of a directory, keyed by spec name and by suffix."""
    specs: dict[str, dict[str, Traversable]] = {}
    for each in directory.iterdir() if directory.is_dir() else ():
        path = PurePath(each.name)
        if path.suffix in (".mlir", ".mlirbc"):
            specs.setdefault(path.stem, {})[path.suffix] = each
    return specs


def _read(name: str, files: Mapping[str, Traversable]) -> LibraryFile:
    # A package's bytecode is generated from the text next to it, and loads faster.
    text = files[".mlir"].read_bytes() if ".mlir" in files else None
    content = files[".mlirbc"].read_bytes() if ".mlirbc" in files else text
    assert content is not None
    return LibraryFile(LIBRARY + name, content, text)
