"""Sources of specs on a command line: files, directories, patterns, libraries and URLs."""

from __future__ import annotations

import glob
import hashlib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Final, TypeAlias, overload

from tuninglink.arguments import Content, content_as_path, several
from tuninglink.errors import SpecError, TuninglinkError, did_you_mean, nearest
from tuninglink.files import cannot
from tuninglink.iree import Target
from tuninglink.mlir import DiagnosticSink, error, note, show_lines_of, thread_context
from tuninglink.specs.remote import changed, fetch, is_url
from tuninglink.specs.spec import Spec, load_spec

if TYPE_CHECKING:
    from importlib import metadata

    from iree.compiler import ir as mlir


LIBRARY: Final = "library:"
"""The prefix of names of libraries on a command line."""

GROUP: Final = "tuninglink.specs"
"""The group of entry points."""


def library_files(name: str) -> tuple[SpecFile, ...]:
    """Return the specs of a shipped library, of another package's, or one spec of the latter: `acme/gfx942`."""
    library, _, only = name.partition("/")
    shipped = _specs_in(shipped_directory())
    if name in shipped:
        return (_read_library_file(name, shipped[name]),)
    files_by_name: dict[str, dict[str, Traversable]] = {}
    for entry_point in plug_ins(GROUP):
        if entry_point.name != library:
            continue
        try:
            specs = _specs_in(resources.files(entry_point.module))
        except Exception as failure:  # noqa: BLE001 - importing a package may raise anything
            message = f"library '{library}' ({entry_point.value}) cannot be loaded: {failure}"
            raise SpecError(error(message)) from None
        files_by_name |= {f"{library}/{stem}": specs[stem] for stem in specs if only in ("", stem)}
    if not files_by_name:
        names = library_names()
        message = f"there is no library '{name}'{did_you_mean(name, names)}"
        raise SpecError(error(message, notes=[note(f"the libraries are: {', '.join(names)}")]))
    return tuple(_read_library_file(stem, files) for stem, files in sorted(files_by_name.items()))


def library_names() -> list[str]:
    """Return the names of all libraries."""
    return sorted({*_specs_in(shipped_directory()), *(each.name for each in plug_ins(GROUP))})


def spec_names() -> list[str]:
    """Return the arguments that select libraries on a command line."""
    return [f"{LIBRARY}{name}" for name in ("auto", *library_names())]


def shipped_libraries() -> tuple[SpecFile, ...]:
    """Return the shipped libraries by name."""
    specs = _specs_in(shipped_directory())
    return tuple(_read_library_file(name, specs[name]) for name in sorted(specs))


def shipped_directory() -> Traversable:
    """Return the directory of the shipped libraries."""
    return resources.files("tuninglink") / "shipped" / "library"


def plug_ins(group: str) -> list[metadata.EntryPoint]:
    """Return the entry points of installed packages in a group, by name.

    Raises:
        TuninglinkError: the `entry_points.txt` of a package, of any group, is malformed.
    """
    from importlib import metadata  # noqa: PLC0415 - most commands load nothing of another package

    try:
        return sorted(metadata.entry_points(group=group), key=lambda entry_point: entry_point.name)
    except Exception:
        # Find the package, which the failure does not name.
        for package in metadata.distributions():
            try:
                _ = package.entry_points
            except Exception:  # noqa: BLE001 - parsing raises errors of any type
                message = (
                    f"the 'entry_points.txt' of the installed package '{package.name}' is malformed"
                )
                remedy = (
                    f"install the package in '{package.locate_file('')}' again, or uninstall it"
                )
                raise TuninglinkError(error(message, notes=[note(remedy)])) from None
        raise


def _specs_in(directory: Traversable) -> dict[str, dict[str, Traversable]]:
    """Return the spec files of a directory, keyed by spec name and by suffix."""
    specs: dict[str, dict[str, Traversable]] = {}
    for each in directory.iterdir() if directory.is_dir() else ():
        path = PurePath(each.name)
        if path.suffix in (".mlir", ".mlirbc"):
            specs.setdefault(path.stem, {})[path.suffix] = each
    return specs


def _read_library_file(name: str, files: Mapping[str, Traversable]) -> SpecFile:
    # A package's bytecode is generated from the text next to it, and loads faster.
    text = files[".mlir"].read_bytes() if ".mlir" in files else None
    content = files[".mlirbc"].read_bytes() if ".mlirbc" in files else text
    assert content is not None
    return SpecFile(LIBRARY + name, content, text=text)


# --- Sources of specs on a command line: files, directories, patterns, libraries and URLs --------

SpecSource: TypeAlias = Spec | str | os.PathLike[str] | Content
"""A loaded spec, a source as on a command line, the path of a file, or its content."""

SUFFIXES: Final = (".mlir", ".mlirbc")
"""The suffixes of specs as text and as bytecode; if both exist, the text counts."""

AUTOMATIC: Final = f"{LIBRARY}auto"
"""The name of all shipped libraries together. The entries for a target apply to its dispatches."""

_BOUND: Final = re.compile(r"(?P<targets>[\w,\s-]+)=(?P<source>.*)", re.DOTALL)
_PINNED: Final = re.compile(r"(?P<source>.*)#sha256=(?P<hash>.*)", re.DOTALL | re.IGNORECASE)
_PIN_OF_URL: Final = re.compile(r"://.*#(sha|md)[\w-]*=", re.DOTALL | re.IGNORECASE)
SHA256: Final = re.compile(r"[0-9a-f]{64}")
"""A hash in hexadecimal."""


@dataclass(frozen=True)
class SpecFile:
    """A spec that was read from a source.

    Attributes:
        name: the name of the spec: a path, a URL, or the names of a library and of a spec in it.
        targets: the names of the targets that the spec is bound to; empty for any target.
        text: the text that bytecode was made from, if any.
        is_automatic: whether `library:auto` selected the spec, in which case it may not suit the program.
    """

    name: str
    content: bytes
    targets: tuple[str, ...] = ()
    text: bytes | None = None
    is_automatic: bool = False

    @cached_property
    def sha256(self) -> str:
        """The hash of the text, or of the content if there is no text, in hexadecimal."""
        return hashlib.sha256(self.content if self.text is None else self.text).hexdigest()

    def load(
        self,
        context: mlir.Context,
        *,
        upgrade: bool = True,
        diagnostics: DiagnosticSink | None = None,
    ) -> Spec:
        """Return the spec. For the options, see `load_spec`."""
        return load_spec(
            self.content,
            name=self.name,
            context=context,
            upgrade=upgrade,
            diagnostics=diagnostics,
            targets=self.targets,
        )


@dataclass(frozen=True)
class SpecArgument:
    """A spec argument of a command line: `[TARGET[,TARGET]...=]SOURCE[#sha256=HASH]`."""

    source: str
    targets: tuple[str, ...] = ()
    sha256: str = ""

    @classmethod
    def parse(cls, text: str) -> SpecArgument:
        """Parse an argument. One that is the path of an existing file is read as a path, unless it ends in a hash."""
        pinned = _PINNED.fullmatch(text)
        if _PIN_OF_URL.search(pinned["source"] if pinned else text):
            raise SpecError(error(f"'{text}' has another hash than one behind '#sha256='"))
        if pinned is None:
            return cls._unpinned(text)
        sha256 = pinned["hash"].lower()
        if not SHA256.fullmatch(sha256):
            message = f"'{pinned['hash']}' is not a SHA-256 hash: expected 64 hexadecimal digits"
            raise SpecError(error(message))
        return replace(cls._unpinned(pinned["source"]), sha256=sha256)

    @classmethod
    def _unpinned(cls, text: str) -> SpecArgument:
        if not text:
            raise SpecError(error("a spec has an empty name; expected a file, a library or a URL"))
        bound = None if os.path.lexists(text) else _BOUND.fullmatch(text)
        if bound is None:
            return cls(text)
        if not bound["source"]:
            raise SpecError(error(f"'{text}' binds a spec without a name"))
        targets = tuple(word.strip() for word in bound["targets"].split(","))
        for target in targets:
            Target.parse(target)
        return replace(cls._unpinned(bound["source"]), targets=targets)

    def __str__(self) -> str:
        bound = f"{','.join(self.targets)}=" if self.targets else ""
        return f"{bound}{self.source}{f'#sha256={self.sha256}' if self.sha256 else ''}"

    def files(self, diagnostics: DiagnosticSink) -> tuple[SpecFile, ...]:
        """Read the specs."""
        files = self._files(diagnostics)
        if not self.sha256:
            return files
        if len(files) != 1:
            message = f"a hash identifies one spec, and '{self.source}' has {len(files)}"
            raise SpecError(error(message))
        (file,) = files
        if file.sha256 != self.sha256:
            raise SpecError(changed(self.source, file.sha256, self.sha256))
        # The hash is that of the text, which proves nothing about bytecode.
        return (file if file.text is None else replace(file, content=file.text, text=None),)

    def names(self) -> tuple[str, ...]:
        """Return the names of the specs, without fetching them."""
        if is_url(self.source):
            return (self.source,)
        return tuple(file.name for file in self._files(DiagnosticSink(lambda _: None)))

    def _files(self, diagnostics: DiagnosticSink) -> tuple[SpecFile, ...]:
        files: Iterable[SpecFile]
        if self.source == AUTOMATIC:
            files = (replace(library, is_automatic=True) for library in shipped_libraries())
        elif self.source.startswith(LIBRARY):
            files = library_files(self.source.removeprefix(LIBRARY))
        elif is_url(self.source):
            files = [SpecFile(self.source, fetch(self.source, self.sha256, diagnostics))]
        else:
            files = (SpecFile(os.fspath(path), _read(path)) for path in self._paths())
        return tuple(replace(file, targets=self.targets) for file in files)

    def _paths(self) -> list[Path]:
        """Return the files of a path or a pattern; the files of a directory are sorted by name."""
        path = Path(self.source)
        if path.is_dir():
            paths = [file for file in sorted(path.iterdir()) if file.suffix in SUFFIXES]
            result = list({path.stem: path for path in reversed(paths)}.values())[::-1]
            if not result:
                raise SpecError(error(f"there is no spec in the directory '{self.source}'"))
            return result
        if not path.exists() and glob.has_magic(self.source):
            result = [Path(name) for name in sorted(glob.glob(self.source, recursive=True))]  # noqa: PTH207 - may be absolute
            if not result:
                raise SpecError(error(f"no file matches '{self.source}'"))
            return result
        return [path]


def read_specs(arguments: Iterable[str], diagnostics: DiagnosticSink) -> tuple[SpecFile, ...]:
    """Read the specs of arguments, in order."""
    parsed = [SpecArgument.parse(argument) for argument in arguments]
    return tuple(file for argument in parsed for file in argument.files(diagnostics))


def load_specs(
    specs: SpecSource | Iterable[SpecSource],
    *,
    upgrade: bool = True,
    diagnostics: DiagnosticSink | None = None,
) -> tuple[list[Spec], frozenset[int]]:
    """Load the specs that a function for users is given: loaded ones, sources as on a command line, paths, or contents.

    Return also the positions of those that the user did not name explicitly. For the options, see `load_spec`.
    """
    loaded: list[Spec] = []
    automatic: set[int] = set()
    for spec in several(specs, "specs"):
        if isinstance(spec, Spec):
            loaded.append(spec)
        elif isinstance(spec, str):
            if mistake := content_as_path(spec, "a spec"):
                raise SpecError(mistake)
            files = read_specs([spec], diagnostics or DiagnosticSink(lambda _: None))
            automatic.update(len(loaded) + position for position in automatic_positions(files))
            loaded += SpecFiles(files, upgrade=upgrade, diagnostics=diagnostics)
        else:
            loaded.append(load_spec(spec, upgrade=upgrade, diagnostics=diagnostics))
    return loaded, frozenset(automatic)


def automatic_positions(files: Iterable[SpecFile]) -> frozenset[int]:
    """Return the positions of the files that the user did not name explicitly."""
    return frozenset(position for position, file in enumerate(files) if file.is_automatic)


class SpecFiles(Sequence["Spec"]):
    """Specs that are loaded on first access, on the accessing thread.

    Deferred loading lets large specs load while the compiler runs.
    """

    def __init__(
        self, files: Iterable[SpecFile], *, upgrade: bool, diagnostics: DiagnosticSink | None
    ) -> None:
        self._files = list(files)
        self._count = len(self._files)
        self._context = thread_context()
        self._upgrade = upgrade
        self._diagnostics = diagnostics

    @cached_property
    def _specs(self) -> tuple[Spec, ...] | SpecError:
        files, self._files = self._files[::-1], []
        specs: list[Spec] = []
        try:
            while files:
                file = files.pop()  # Its content is freed once it is loaded.
                specs.append(
                    file.load(self._context, upgrade=self._upgrade, diagnostics=self._diagnostics)
                )
        except SpecError as failure:
            return failure  # Later accesses raise the same error, and warnings are emitted once.
        return tuple(specs)

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Spec: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Spec]: ...
    def __getitem__(self, index: int | slice) -> Spec | Sequence[Spec]:
        if isinstance(self._specs, SpecError):
            raise self._specs
        return self._specs[index]


def _read(path: Path) -> bytes:
    show_lines_of(os.fspath(path))
    try:
        return path.read_bytes()
    except OSError as failure:
        message = cannot("read the spec", path, failure)
        name = nearest(path.name.partition(":")[2] or path.name, library_names(), 0.8)
        is_missing = isinstance(failure, FileNotFoundError) and path.name == os.fspath(path)
        notes = (
            [note(f"the library of this name is '{LIBRARY}{name}'")] if name and is_missing else ()
        )
        raise SpecError(replace(message, notes=tuple(notes))) from None
