"""The project file, which lists the specs that a project is compiled with, and the lock file that pins them.

The settings are in `[tool.tuninglink]` in `pyproject.toml`, or at the top of `tuninglink.toml`:

```toml
specs = ["specs/mine.mlir", "gfx942=library:boo-gfx942"]
flags = ["--iree-opt-level=O2", "@tuned.flags"]
default-specs = false
```
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from tuninglink.errors import Place, SpecError, TuninglinkError, did_you_mean, reason_for_user
from tuninglink.files import cannot, write_file
from tuninglink.mlir import DiagnosticSink, error, note, thread_context
from tuninglink.specs.sources import LIBRARY, SHA256, SpecArgument, SpecFile, is_url, read_specs

OWN_FILE: Final = "tuninglink.toml"
SHARED_FILE: Final = "pyproject.toml"
LOCK_FILE: Final = "tuninglink.lock"

_REPOSITORIES: Final = (".git", ".hg", ".jj")
"""What the root of a repository holds."""

_VERSION: Final = 1

_KEYS: Final[Mapping[str, type]] = {"specs": list, "flags": list, "default-specs": bool}


@dataclass(frozen=True)
class Project:
    """The settings of a project file.

    Attributes:
        specs: the spec arguments, in order of precedence; paths are relative to the file.
        flags: flags of the compiler, and response files with flags.
        is_named: whether the user named the file. One that was found must belong to the user, as must the files next to
            it that decide what is read.
    """

    path: Path
    specs: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    default_specs: bool = True
    is_named: bool = False

    @classmethod
    def find(cls) -> Project | None:
        """Return the project of the working directory, read from the nearest project file in it or above it.

        The search ends at the root of the repository, outside of one in the working directory itself, and where another
        file system begins.
        """
        folders: list[Path] = []
        is_in_repository = False
        try:
            directory = Path.cwd()
            device = directory.stat().st_dev
            for folder in (directory, *directory.parents):
                if folder.stat().st_dev != device:
                    break
                folders.append(folder)
                is_in_repository = any(os.path.lexists(folder / name) for name in _REPOSITORIES)
                if is_in_repository:
                    break
        except OSError:  # the working directory was removed
            pass
        searched = folders if is_in_repository else folders[:1]
        for path in (folder / name for folder in searched for name in (OWN_FILE, SHARED_FILE)):
            if not os.path.isfile(path):  # noqa: PTH113 - false for a folder that must not be searched
                continue
            if path.name == OWN_FILE:
                _check_owner(path, path)
            if (project := cls.read(path)) is not None:
                _check_owner(path, path)
                return project
        return None

    @classmethod
    def read(cls, path: Path) -> Project | None:
        """Read a project file; return None for a `pyproject.toml` without a section for Tuninglink."""
        import tomllib  # noqa: PLC0415 - most directories have no project file

        try:
            table: Any = tomllib.loads(path.read_text())
        except OSError as failure:
            raise TuninglinkError(cannot("read", path, failure)) from None
        except (ValueError, RecursionError) as failure:
            reason = reason_for_user(failure)
            raise TuninglinkError(error(f"cannot read '{path}': {reason}")) from None
        if path.name == SHARED_FILE:
            tools = table.get("tool")
            table = tools.get("tuninglink") if isinstance(tools, dict) else None
            if table is None:
                return None
            if not isinstance(table, dict):
                raise TuninglinkError(error(f"{path}: 'tool.tuninglink' must be a table"))
        for key, value in table.items():
            problem = ""
            if key not in _KEYS:
                problem = f"'{key}' is not a setting of Tuninglink{did_you_mean(key, _KEYS)}"
            elif _KEYS[key] is bool and not isinstance(value, bool):
                problem = f"'{key}' must be true or false"
            elif _KEYS[key] is list and not (
                isinstance(value, list) and all(isinstance(element, str) for element in value)
            ):
                problem = f"'{key}' must be an array of strings"
            if problem:
                raise TuninglinkError(error(f"{path}: {problem}"))
        fields: dict[str, Any] = {
            key.replace("-", "_"): tuple(value) if isinstance(value, list) else value
            for key, value in table.items()
        }
        return cls(path, **fields)

    @classmethod
    def named(cls, path: Path) -> Project:
        """Read a project file that the user named."""
        if (project := cls.read(path)) is None:
            raise TuninglinkError(error(f"there is no [tool.tuninglink] in '{path}'"))
        return replace(project, is_named=True)

    @property
    def expanded_flags(self) -> tuple[str, ...]:
        """The flags, with response files expanded; `@FILE` is relative to the project file."""
        words: list[str] = []
        for flag in self.flags:
            if not flag.startswith("@"):
                words.append(flag)
                continue
            path = self.path.parent / flag[1:]
            try:
                self._check_next_to(path)
                words += shlex.split(path.read_text())
            except OSError as failure:
                raise TuninglinkError(cannot("read", path, failure)) from None
            except ValueError as failure:
                reason = reason_for_user(failure)
                raise TuninglinkError(error(f"cannot read '{path}': {reason}")) from None
        return tuple(words)

    @property
    def arguments(self) -> tuple[str, ...]:
        """The specs as command-line arguments, with their hashes if they are locked."""
        locked = self._locked  # A lock that nobody may rely on is an error even without specs.
        if locked is None:
            # A spec without a hash, of a project that was found, holds no kernels; a URL is checked when it is read.
            unlocked, quiet = tuple(map(self._argument, self.specs)), DiagnosticSink(lambda _: None)
            for argument in unlocked if not self.is_named else ():
                if (
                    argument.sha256
                    or argument.source.startswith(LIBRARY)
                    or is_url(argument.source)
                ):
                    continue
                for file in argument.files(quiet):
                    if file.may_replace:
                        replace(file, is_unproven=True).load(thread_context(), diagnostics=quiet)
            return tuple(map(str, unlocked))
        words: list[str] = []
        self._check_proven(self.specs, locked, self.path.name)
        for spec in self.specs:
            argument, hashes = self._argument(spec), locked[spec]
            file_names = [argument.source]  # A URL is not fetched.
            if not is_url(argument.source):
                files = replace(argument, sha256="").files(DiagnosticSink(lambda _: None))
                file_names = [file.name for file in files]
            portable = [_moved(name, Path(), self.path.parent) for name in file_names]
            self._check_proven(portable, hashes, spec)
            for name, sha256 in hashes.items():
                if argument.sha256 not in ("", sha256):
                    raise self._out_of_date(f"'{spec}' is locked with another hash")
                source = _moved(name, self.path.parent, Path())
                words.append(str(replace(argument, source=source, sha256=sha256)))
        return tuple(words)

    def check_has_specs(self) -> None:
        """Check that there is something to lock."""
        if not self.specs:
            remedy = note('list the specs of the project there, as in: specs = ["mine.mlir"]')
            message = f"there is nothing to lock: '{self.path}' lists no specs"
            raise SpecError(error(message, notes=[remedy]))

    def write_lock(self, diagnostics: DiagnosticSink) -> tuple[SpecFile, ...]:
        """Lock the current content of the specs, and return them."""
        files_by_argument = {text: self._argument(text).files(diagnostics) for text in self.specs}
        hashes = {
            text: {_moved(file.name, Path(), self.path.parent): file.sha256 for file in files}
            for text, files in files_by_argument.items()
        }
        write_file(
            self.path.with_name(LOCK_FILE),
            json.dumps({"version": _VERSION, "specs": hashes}, indent=2) + "\n",
        )
        return tuple(file for files in files_by_argument.values() for file in files)

    def check_lock(self, diagnostics: DiagnosticSink) -> None:
        """Check that each spec matches the lock file."""
        if not self._locked:
            raise self._out_of_date("nothing is locked")
        read_specs(self.arguments, diagnostics)

    def _check_proven(self, names: Sequence[str], locked: Collection[str], whole: str) -> None:
        """Check that the lock has the very names that are in a whole."""
        for name in (*names, *locked):
            if name not in locked:
                raise self._out_of_date(f"'{name}' is not locked")
            if name not in names:
                raise self._out_of_date(f"'{name}' is locked, and is not in '{whole}' any more")

    def _argument(self, text: str) -> SpecArgument:
        argument = SpecArgument.parse(text)
        return replace(argument, source=_moved(argument.source, self.path.parent, Path()))

    @cached_property
    def _locked(self) -> Mapping[str, Mapping[str, str]] | None:
        lock = self.path.with_name(LOCK_FILE)
        try:
            self._check_next_to(lock)
            # An object in which a key is there twice is malformed.
            data = json.loads(
                lock.read_bytes(),
                object_pairs_hook=lambda pairs: len(dict(pairs)) == len(pairs) and dict(pairs),
            )
        except FileNotFoundError:
            return None
        except OSError as failure:
            raise TuninglinkError(cannot("read", lock, failure)) from None
        except (ValueError, RecursionError):
            data = None
        if not isinstance(data, dict) or repr(data.get("version")) != str(_VERSION):
            raise self._out_of_date(f"'{lock}' is not a lock file of this version")
        # Check that each spec of a lock has files, each with a hash.
        specs = data.get("specs")
        if not isinstance(specs, dict):
            raise self._out_of_date("the lock is malformed: 'specs' is not an object")
        for spec, hashes in specs.items():
            if not isinstance(hashes, dict) or not hashes:
                raise self._out_of_date(f"the lock is malformed: '{spec}' has no files")
            for name, sha256 in hashes.items():
                if not isinstance(sha256, str) or not SHA256.fullmatch(sha256):
                    raise self._out_of_date(f"the lock is malformed: '{name}' has no SHA-256 hash")
        return specs

    def _check_next_to(self, path: Path) -> None:
        """Check a file that decides what the project reads, and its owner unless the user named the project."""
        if path.is_fifo():  # would be waited for
            raise TuninglinkError(error(f"cannot read '{path}': it is a named pipe"))
        if not self.is_named and path.exists():
            _check_owner(path, self.path)

    def _out_of_date(self, message: str) -> SpecError:
        remedy = "'tuninglink lock' locks the specs as they are now"
        notes = [note(remedy if self.specs else "remove it if the project has no specs")]
        return SpecError(error(message, Place(str(self.path.with_name(LOCK_FILE)), 1, 1), notes))


def _check_owner(path: Path, project: Path) -> None:
    """Check that a file, and the link to it, belong to the user: as git does for the owner of a repository."""
    # Root may also use the files of the user that `sudo` was started by.
    user = os.geteuid()
    users = {user}
    if user == 0 and (sudo_user := os.environ.get("SUDO_UID", "")).isdecimal():
        users.add(int(sudo_user[:20]))
    if not {path.stat().st_uid, path.lstat().st_uid} <= users:
        shown = os.path.relpath(path)
        remedy = note(
            f"if you trust it, name it: --project {shlex.quote(os.path.relpath(project))}"
        )
        message = f"the project file '{shown}' belongs to another user"
        if path != project:
            message = f"'{shown}', which the project file uses, belongs to another user"
        raise TuninglinkError(error(message, notes=[remedy, note("--no-project ignores it")]))


def _moved(source: str, start: Path, end: Path) -> str:
    """Return a path that is relative to a directory relative to another one; the names of libraries and URLs stay."""
    if source.startswith(LIBRARY) or is_url(source):
        return source
    return Path(os.path.relpath(start / source, end)).as_posix()
