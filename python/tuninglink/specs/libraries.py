"""Libraries of specs: those that come with the package, and those of other packages.

A Python package becomes a library with an entry point of the group `tuninglink.specs`. The entry point's value is the
package (or a package within it) that has the specs beside its modules, and its name is the name of the library:

```toml
[project.entry-points."tuninglink.specs"]
acme = "acme_specs"
```
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from tuninglink.errors import SpecError
from tuninglink.mlir.diagnostics import error, note

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib import metadata
    from importlib.resources.abc import Traversable

LIBRARY: Final = "library:"
"""What the name of a library begins with on a command line."""

GROUP: Final = "tuninglink.specs"
"""The group of entry points."""


@dataclass(frozen=True)
class LibraryFile:
    """A spec in a library.

    Attributes:
        name: `library:LIBRARY` for a shipped one, `library:LIBRARY/SPEC` for one in another package.
        content: text or bytecode.
        text: the text that the content was made from, None where there is none.
    """

    name: str
    content: bytes
    text: bytes | None


def library_files(name: str) -> tuple[LibraryFile, ...]:
    """Returns the specs of a library.

    Args:
        name: of a shipped library, of another package's, or of one spec in that: `acme/gfx942`.

    Raises:
        SpecError: there is no such library, or no spec in it.
    """
    library, _, only = name.partition("/")
    shipped = _specs_in(shipped_directory())
    if name in shipped:
        return (_read(name, shipped[name]),)
    result = {
        f"{library}/{stem}": files
        for each in _entry_points().select(name=library)
        for stem, files in _specs_in(resources.files(each.module)).items()
        if only in ("", stem)
    }
    if not result:
        raise SpecError(error(f"there is no library '{name}'", notes=[note(_known())]))
    return tuple(_read(stem, files) for stem, files in sorted(result.items()))


def library_names() -> list[str]:
    """Returns the names of all libraries."""
    return sorted({*_specs_in(shipped_directory()), *_entry_points().names})


def spec_names() -> list[str]:
    """Returns what names libraries on a command line."""
    return [f"{LIBRARY}{name}" for name in ("auto", *library_names())]


def shipped_libraries() -> tuple[LibraryFile, ...]:
    """Returns the libraries that come with the package, by their names."""
    specs = _specs_in(shipped_directory())
    return tuple(_read(name, specs[name]) for name in sorted(specs))


def shipped_directory() -> Traversable:
    """Returns the directory of the libraries that come with the package."""
    return resources.files("tuninglink") / "shipped" / "library"


def _entry_points() -> metadata.EntryPoints:
    from importlib import metadata  # noqa: PLC0415 - most commands read no library of another package

    return metadata.entry_points(group=GROUP)


def _known() -> str:
    names = library_names()
    return f"the libraries are: {', '.join(names)}" if names else "no library is installed"


def _specs_in(directory: Traversable) -> dict[str, dict[str, Traversable]]:
    """Returns, by the names of the specs, their files by suffix."""
    specs: dict[str, dict[str, Traversable]] = {}
    for each in directory.iterdir() if directory.is_dir() else ():
        path = PurePath(each.name)
        if path.suffix in (".mlir", ".mlirbc"):
            specs.setdefault(path.stem, {})[path.suffix] = each
    return specs


def _read(name: str, files: Mapping[str, Traversable]) -> LibraryFile:
    # The bytecode of a package is made from the text beside it, and loads faster.
    text = files[".mlir"].read_bytes() if ".mlir" in files else None
    content = files[".mlirbc"].read_bytes() if ".mlirbc" in files else text
    assert content is not None
    return LibraryFile(LIBRARY + name, content, text)
