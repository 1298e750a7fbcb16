"""Sources of specs on a command line: files, directories, patterns, libraries and URLs; and the default library.

The default library holds specs that are linked after the user's specs, one for each target. The lookup is by SKU, then
architecture, then family: first in the user's directories, then among the shipped specs.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import resources
from importlib.resources.abc import Traversable
from itertools import product
from pathlib import Path, PurePath
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final, TypeAlias, overload
from urllib.parse import urlsplit

from iree.compiler import ir as mlir

from tuninglink.arguments import Content, content_as_path, several
from tuninglink.errors import Diagnostic, SpecError, TuninglinkError, did_you_mean, nearest
from tuninglink.files import cannot, make_directory, write_file
from tuninglink.iree import Target
from tuninglink.mlir import DiagnosticSink, error, names, note, show_lines_of, thread_context
from tuninglink.specs.kernels import holds_code
from tuninglink.specs.program_libraries import MAKERS
from tuninglink.specs.spec import Spec, load_spec

if TYPE_CHECKING:
    from importlib import metadata


LIBRARY: Final = "library:"
"""The prefix of names of libraries on a command line."""

GROUP: Final = "tuninglink.specs"
"""The group of entry points."""

_SHIPPED_LIBRARIES: Final = resources.files("tuninglink") / "shipped" / "library"


def library_files(name: str) -> tuple[SpecFile, ...]:
    """Return the specs of a shipped library, of another package's, or one spec of a library of several: `acme/gfx942`."""
    library, _, only = name.partition("/")
    own = shipped_libraries(name)
    if own:
        return own
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
        names = [name.removeprefix(LIBRARY) for name in spec_names()]
        message = f"there is no library '{name}'{did_you_mean(name, names)}"
        raise SpecError(error(message, notes=[note(f"the libraries are: {', '.join(names)}")]))
    return tuple(_read_library_file(stem, files) for stem, files in sorted(files_by_name.items()))


def library_names() -> list[str]:
    """Return the names of all libraries."""
    shipped = {name.partition("/")[0] for name in _shipped()}
    return sorted({*shipped, *(package.name for package in plug_ins(GROUP))})


def library_of(source: str) -> str:
    """Return the library of several specs that the source of a spec names; empty for another source."""
    library, is_one_of_several, _ = source.partition("/")
    return library if source.startswith(LIBRARY) and is_one_of_several else ""


def spec_names() -> list[str]:
    """Return the arguments that select libraries on a command line."""
    return [f"{LIBRARY}{name}" for name in ("auto", *MAKERS, *library_names())]


def shipped_libraries(only: str = "") -> tuple[SpecFile, ...]:
    """Return the specs of all shipped libraries by name, or of one library, or one spec."""
    return tuple(
        _read_library_file(name, files)
        for name, files in sorted(_shipped().items())
        if only in ("", name, name.partition("/")[0])
    )


def _shipped() -> dict[str, dict[str, Traversable]]:
    """Return the files of the shipped libraries by name and suffix: a folder is a library of several specs."""
    specs = _specs_in(_SHIPPED_LIBRARIES)
    for folder in _SHIPPED_LIBRARIES.iterdir():
        specs |= {f"{folder.name}/{stem}": files for stem, files in _specs_in(folder).items()}
    return specs


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
    for file in directory.iterdir() if directory.is_dir() else ():
        path = PurePath(file.name)
        if path.suffix in SUFFIXES:
            specs.setdefault(path.stem, {})[path.suffix] = file
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
"""The name of all shipped libraries of configurations. The entries for a target apply to its dispatches."""

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
        is_unproven: whether neither the user nor a hash names the content, which may not hold kernels then.
        maker: the library of `MAKERS` that makes the spec for a program; `content` then has no entries.
    """

    name: str
    content: bytes
    targets: tuple[str, ...] = ()
    text: bytes | None = None
    is_automatic: bool = False
    is_unproven: bool = False
    maker: str = ""

    @property
    def may_replace(self) -> bool:
        """Whether the spec may have replace entries."""
        return bool(self.maker) or names.TRANSFORM_MAIN.encode() in self.content

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
        """Return the spec. For the options, see `load_spec`.

        Raises:
            SpecError: it cannot be loaded, or is unproven and holds kernels.
        """
        spec = load_spec(
            self.content,
            name=self.name,
            context=context,
            upgrade=upgrade,
            diagnostics=diagnostics,
            targets=self.targets,
        )
        parts = [spec.module, *([spec.replacing.module] if spec.replacing else [])]
        if self.is_unproven and any(map(holds_code, parts)):
            message = f"'{self.name}' holds kernels, and nothing proves that it is what you read"
            remedies = [
                f"to pin it: {self.name}#sha256={self.sha256}",
                "'tuninglink lock' pins the specs of a project",
            ]
            raise SpecError(error(message, notes=list(map(note, remedies))))
        return replace(spec, maker=self.maker) if self.maker else spec


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
        source = pinned["source"] if pinned else text
        if _PIN_OF_URL.search(source):
            raise SpecError(error(f"'{text}' has another hash than one behind '#sha256='"))
        sha256 = pinned["hash"].lower() if pinned else ""
        if pinned and not SHA256.fullmatch(sha256):
            message = f"'{pinned['hash']}' is not a SHA-256 hash: expected 64 hexadecimal digits"
            raise SpecError(error(message))
        # Of several bindings, the first one counts.
        targets: tuple[str, ...] = ()
        while bound := None if os.path.lexists(source) else _BOUND.fullmatch(source):
            if not bound["source"]:
                raise SpecError(error(f"'{source}' binds a spec without a name"))
            names = tuple(word.strip() for word in bound["targets"].split(","))
            for target in names:
                Target.parse(target)
            source, targets = bound["source"], targets or names
        if not source:
            raise SpecError(error("a spec has an empty name; expected a file, a library or a URL"))
        return cls(source, targets, sha256)

    def __str__(self) -> str:
        bound = f"{','.join(self.targets)}=" if self.targets else ""
        return f"{bound}{self.source}{f'#sha256={self.sha256}' if self.sha256 else ''}"

    def files(
        self, diagnostics: DiagnosticSink, *, for_program: bool = False
    ) -> tuple[SpecFile, ...]:
        """Read the specs. Only those for a program that is compiled may be of a library that is made for it."""
        files: Iterable[SpecFile]
        path = Path(self.source)
        maker = self.source.removeprefix(LIBRARY) if self.source.startswith(LIBRARY) else ""
        if maker in MAKERS:
            if not for_program or self.sha256:
                problem = "has no hash" if for_program else "cannot be used here"
                message = (
                    f"'{self.source}' {problem}: its spec is made for each program that is compiled"
                )
                remedy = f"'tuninglink init --predict MODEL -o {maker}.mlir' writes it as a file"
                raise SpecError(error(message, notes=[note(remedy)]))
            files = [SpecFile(self.source, _NO_ENTRIES, maker=maker)]
        elif self.source == AUTOMATIC:
            libraries = shipped_libraries()
            files = [replace(own, is_automatic=True) for own in libraries if not own.may_replace]
        elif self.source.startswith(LIBRARY):
            files = library_files(self.source.removeprefix(LIBRARY))
        elif is_url(self.source):
            content = fetch(self.source, self.sha256, diagnostics)
            files = [SpecFile(self.source, content, is_unproven=not self.sha256)]
        else:
            paths = [path]
            if path.is_dir():
                inside = [file for file in sorted(path.iterdir()) if file.suffix in SUFFIXES]
                paths = list({file.stem: file for file in reversed(inside)}.values())[::-1]
                if not paths:
                    raise SpecError(error(f"there is no spec in the directory '{self.source}'"))
            elif not path.exists() and glob.has_magic(self.source):
                paths = [Path(name) for name in sorted(glob.glob(self.source, recursive=True))]  # noqa: PTH207 - may be absolute
                if not paths:
                    raise SpecError(error(f"no file matches '{self.source}'"))
            files = [SpecFile(os.fspath(path), _read(path)) for path in paths]
        files = tuple(replace(file, targets=self.targets) for file in files)
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


_NO_ENTRIES: Final = b"""
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__kernel_config(%root: !transform.any_op {transform.readonly}) -> !transform.any_op
      attributes {iree_codegen.tuning_spec_entrypoint} { transform.yield %root : !transform.any_op }
}
"""


def read_specs(
    arguments: Iterable[str], diagnostics: DiagnosticSink, *, for_program: bool = False
) -> tuple[SpecFile, ...]:
    """Read the specs of arguments, in order; see `SpecArgument.files`."""
    parsed = [SpecArgument.parse(argument) for argument in arguments]
    return tuple(
        file for argument in parsed for file in argument.files(diagnostics, for_program=for_program)
    )


def load_specs(
    specs: SpecSource | Iterable[SpecSource],
    *,
    upgrade: bool = True,
    diagnostics: DiagnosticSink | None = None,
    for_program: bool = False,
) -> tuple[list[Spec], frozenset[int]]:
    """Load the specs that a function for users is given: loaded ones, sources as on a command line, paths, or contents.

    Return also the positions of those that the user did not name explicitly. For the options, see `load_spec` and
    `SpecArgument.files`.
    """
    loaded: list[Spec] = []
    automatic: set[int] = set()
    for spec in several(specs, "specs"):
        if isinstance(spec, Spec):
            loaded.append(spec)
        elif isinstance(spec, str):
            if mistake := content_as_path(spec, "a spec"):
                raise SpecError(mistake)
            sink = diagnostics or DiagnosticSink(lambda _: None)
            files = read_specs([spec], sink, for_program=for_program)
            automatic |= {at for at, file in enumerate(files, len(loaded)) if file.is_automatic}
            loaded += SpecFiles(files, upgrade=upgrade, diagnostics=diagnostics)
        else:
            loaded.append(load_spec(spec, upgrade=upgrade, diagnostics=diagnostics))
    return loaded, frozenset(automatic)


def may_replace(specs: Sequence[Spec]) -> bool:
    """Return whether specs may have replace entries, without loading them."""
    if isinstance(specs, SpecFiles):
        return specs.may_replace
    return any(spec.replacing is not None or spec.maker for spec in specs)


class SpecFiles(Sequence["Spec"]):
    """Specs that are loaded on first access, on the accessing thread.

    Deferred loading lets large specs load while the compiler runs.
    """

    def __init__(
        self, files: Iterable[SpecFile], *, upgrade: bool, diagnostics: DiagnosticSink | None
    ) -> None:
        self._files = list(files)
        self._count = len(self._files)
        self.may_replace = any(file.may_replace for file in self._files)
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


# --- The default library -------------------------------------------------------------------------

_SHIPPED_SPECS: Final = resources.files("tuninglink") / "shipped" / "default"

_loaded: Final = threading.local()
"""The shipped specs loaded into the context of each thread; they are freed with the thread."""


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
        # A user's bytecode may be older than the text; shipped bytecode is generated from it. Diagnostics and reports name
        # the shipped directory independently of the place of installation.
        places: list[tuple[Traversable, Path, Sequence[str]]] = [
            (directory, directory, SUFFIXES) for directory in map(Path, self.directories)
        ]
        if self.shipped:
            places.append((_SHIPPED_SPECS, Path("tuninglink/shipped/default"), SUFFIXES[::-1]))
        for directory, shown, suffixes in places:
            for name, suffix in product(target.names, suffixes):
                file = directory / f"{name}{suffix}"
                try:
                    if file.is_file():
                        return SpecFile(os.fspath(shown / file.name), file.read_bytes())
                except OSError as failure:
                    reason = (failure.strerror or str(failure)).lower()
                    message = f"cannot read the default spec '{file}': {reason}"
                    raise TuninglinkError(error(message)) from None
        return None

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
        loaded: dict[SpecFile, Spec] = vars(_loaded).setdefault("specs", {})
        if file not in loaded:
            loaded[file] = file.load(thread_context())
        return loaded[file]
    return file.load(context or thread_context(), upgrade=upgrade, diagnostics=diagnostics)


def shipped() -> dict[Target, Spec]:
    """Return the shipped default specs, sorted by the names of their targets."""
    targets = map(Target.parse, sorted(_specs_in(_SHIPPED_SPECS)))
    specs = {target: default_spec(target) for target in targets}
    return {target: spec for target, spec in specs.items() if spec is not None}


# --- Specs at URLs: fetched through fsspec, verified, and cached by hash --------------------------

CACHE_VARIABLE: Final = "TUNINGLINK_CACHE_DIR"
"""The environment variable that names the directory of the cache."""

LIMIT_VARIABLE: Final = "TUNINGLINK_FETCH_SECONDS"
"""The environment variable with the time limit of a transfer, in seconds."""

DEFAULT_LIMIT: Final = "30"
"""The time limit of a transfer, in seconds. Specs are small."""

LARGEST: Final = 64 << 20
"""The greatest size of a fetched spec, decompressed, in bytes."""

_CHUNK: Final = 1 << 20

_WITH_HOST: Final = ("http", "https")
"""The schemes whose URLs name a host."""

SPEC_FOLDERS: Final = ("specs", "urls")
"""The folders of the cache with specs by hash, and with the last hash of each URL."""


def is_url(source: str) -> bool:
    """Return whether the name of a spec is a URL, as in `https://…` or `s3://…`."""
    scheme, separator, _ = source.partition("://")
    return bool(separator) and scheme.replace("+", "").isalnum()


def cache_directory() -> Path:
    """Return the directory of the cache: by default `tuninglink` in the user's cache directory."""
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        return Path(named)
    try:
        home = Path.home()
    except RuntimeError:  # a user without a home directory has no cache
        home = Path(os.devnull)
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "tuninglink"


def fetch(url: str, sha256: str, diagnostics: DiagnosticSink) -> bytes:
    """Return the spec at a URL."""
    # With a hash, the cache is tried before the network. Without one, the spec is fetched each time; if that fails, the
    # version that was fetched last is used.
    specs, urls = (cache_directory() / name for name in SPEC_FOLDERS)
    last = urls / hashlib.sha256(url.encode()).hexdigest()

    if sha256 and (content := _cached(specs, sha256)) is not None:
        return content
    try:
        content = _read_url(url)
    except SpecError as failure:
        try:
            content = None if sha256 else _cached(specs, last.read_text().strip())
        except (OSError, ValueError):  # the URL was never fetched, or the file is damaged
            content = None
        if content is None:
            raise
        message = f"{failure.diagnostics[0].message}; using the copy that was fetched before"
        hexdigest = hashlib.sha256(content).hexdigest()
    else:
        message = f"'{url}' has no hash, and its content may change"
        hexdigest = hashlib.sha256(content).hexdigest()
        if sha256 and hexdigest != sha256:
            raise SpecError(changed(url, hexdigest, sha256))
        # Parse before caching, since the cache holds valid specs only. Failures to write the cache are ignored.
        quiet = DiagnosticSink(lambda _: None)
        load_spec(content, name=url, context=mlir.Context(), diagnostics=quiet)
        with suppress(TuninglinkError):
            write_file(make_directory(specs) / hexdigest, content)
            make_directory(urls)
            write_file(last, f"{hexdigest}\n".encode())
    if not sha256:
        diagnostics.warning(message, notes=[note(f"to pin it: {url}#sha256={hexdigest}")])
    return content


def _cached(specs: Path, sha256: str) -> bytes | None:
    """Return the spec with a hash, or None if it is not cached or the file is damaged."""
    try:
        content = (specs / sha256).read_bytes()
    except OSError:
        return None
    return content if hashlib.sha256(content).hexdigest() == sha256 else None


def changed(source: str, actual: str, expected: str) -> Diagnostic:
    """Return the error for a spec whose hash differs from the expected one."""
    remedy = note(f"its hash is {actual}, not {expected}")
    return error(f"'{source}' has changed since its hash was taken", notes=[remedy])


def _read_url(url: str) -> bytes:
    """Return the current content of a URL."""
    # The limits of time and size apply to every file system, since few have them for a whole transfer.
    try:
        import fsspec  # noqa: PLC0415 - an extra
    except ImportError:
        remedy = note("install it: pip install 'tuninglink[remote]'")
        raise SpecError(
            error(f"'{url}' is a URL, and fsspec is not installed", notes=[remedy])
        ) from None

    fault = ""
    try:
        parts = urlsplit(url)
        if parts.scheme in _WITH_HOST and not parts.hostname:
            fault = "the URL has no host"
        elif parts.scheme in _WITH_HOST and parts.port == 0:
            fault = "the URL has port 0"
    except ValueError as failure:
        fault = f"the URL is malformed: {failure}"
    if fault:
        raise SpecError(error(f"cannot fetch '{url}': {fault}"))

    def transfer() -> None:
        try:
            # A stream is decompressed as it is read. Otherwise fsspec may read all that a server sends.
            options = {"block_size": 0} if url.startswith(_WITH_HOST) else {}
            content = bytearray()
            with fsspec.open(url, "rb", **options) as file:
                while chunk := file.read(_CHUNK):
                    content += chunk
                    if len(content) > LARGEST:
                        raise ValueError(f"it is larger than {LARGEST >> 20} MiB")
            answers.put(bytes(content))
        except Exception as failure:  # noqa: BLE001 - each file system raises its own exceptions
            answers.put(failure)

    text = os.environ.get(LIMIT_VARIABLE) or DEFAULT_LIMIT
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= threading.TIMEOUT_MAX:
        message = f"{LIMIT_VARIABLE} must be a number of seconds greater than 0, not '{text}'"
        raise SpecError(error(message))
    answers: SimpleQueue[bytes | Exception] = SimpleQueue()
    # A thread can be abandoned when a server does not respond, and a daemon thread does not delay the exit.
    threading.Thread(target=transfer, name=f"fetch {url}", daemon=True).start()
    try:
        answer = answers.get(timeout=seconds)
    except Empty:
        remedy = note(f"{LIMIT_VARIABLE} sets the time limit, in seconds")
        message = f"cannot fetch '{url}': it took longer than {seconds:g} s"
        raise SpecError(error(message, notes=[remedy])) from None
    if isinstance(answer, bytes):
        return answer
    raise SpecError(error(f"cannot fetch '{url}': {_reason(answer, url)}")) from None


_REASONS: Final = {
    "TooManyRedirects": "too many redirects",
    "ClientPayloadError": "the server closed the connection before the end",
    "NonHttpUrlRedirectClientError": "the server redirects to '{}', which is not an address of a server",
}
"""The reasons of failed transfers by the name of the exception of `aiohttp`, which need not be installed."""


def _reason(failure: BaseException, url: str) -> str:
    """Return why a transfer failed; file systems may chain the reason to a `FileNotFoundError` that names the URL."""
    from http import HTTPStatus  # noqa: PLC0415 - only failed transfers have a status

    chain = [failure]
    while link := chain[-1].__cause__ or chain[-1].__context__:
        chain.append(link)
    cause = chain[-1]
    for exception in chain:
        status, kind = getattr(exception, "status", None), type(exception).__name__
        if status in set(HTTPStatus):
            return f"the server answered {status} {HTTPStatus(status).phrase}"
        if kind in _REASONS:
            return _REASONS[kind].format(exception)
        if hasattr(exception, "host"):
            is_refusal = isinstance(cause, ConnectionRefusedError)
            reason = "connection refused" if is_refusal else getattr(cause, "strerror", None)
            place = f"{exception.host}:{getattr(exception, 'port', '')}"
            return f"cannot connect to {place}: {reason or ' '.join(str(cause).split())}"
    messages = (" ".join(str(exception).split()) for exception in chain)
    return next((text for text in messages if text not in ("", url)), type(failure).__name__)
