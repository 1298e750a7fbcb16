"""URIs of boards, as in `run:ssh board`, and the options that complete them."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from tuninglink.errors import TuninglinkError
from tuninglink.llvm_flags import option
from tuninglink.mlir import error, note
from tuninglink.runner import LEASE_SECONDS, BoardAccess, BoardError

BOARD: Final = "run"
"""The name in front of the command in the URI of a board."""

_URI: Final = re.compile(rf"{BOARD}(?:\[([^\]]*)\])?:(.*)", re.DOTALL)
_FIELDS: Final = {"tools": "tools", "dir": "directory", "driver": "driver", "lease": "lease"}
"""The attributes of a board by their names in a URI."""


@dataclass(frozen=True)
class BoardUri:
    """The parts of the URI of a board: `run:COMMAND`, or `run[tools=DIR,dir=DIR,driver=DRIVER]:COMMAND`.

    Attributes:
        command: the command in front of the tools, in the syntax of a shell.
        tools: the directory of the tools on the board; empty for the search path.
        directory: the directory for files on the board; empty for one for temporary files.
        driver: the driver of the runtime on the board; empty for the one that runs code for processors.
        lease: the seconds after which the board removes the files of a run that it does not hear of; empty for a minute.
    """

    command: str
    tools: str = ""
    directory: str = ""
    driver: str = ""
    lease: str = ""

    @classmethod
    def parse(cls, uri: str) -> BoardUri:
        """Return the parts of a URI.

        Raises:
            TuninglinkError: it is not the URI of a board.
        """
        match = _URI.fullmatch(uri)
        values = {}
        for part in filter(None, match[1].split(",") if match and match[1] else ()):
            key, equals, value = part.partition("=")
            if (
                key not in _FIELDS
                or not equals
                or (key == "lease" and not value.strip("0").isdecimal())
            ):
                remedy = note(
                    f"parts are {', '.join(_FIELDS)}, as in run[tools=/opt/iree]:ssh board"
                )
                message = f"invalid part '{part}' of device '{uri}'"
                raise TuninglinkError(error(message, notes=[remedy]))
            values[_FIELDS[key]] = value
        command = match[2].strip() if match else ""
        if not command:
            remedy = note("as in run:ssh board or run:qemu-aarch64-static -cpu max")
            raise TuninglinkError(error(f"device '{uri}' has no command", notes=[remedy]))
        return cls(command, **values)

    def __str__(self) -> str:
        values = ((key, getattr(self, name)) for key, name in _FIELDS.items())
        parts = ",".join(f"{key}={value}" for key, value in values if value)
        return f"{BOARD}{f'[{parts}]' if parts else ''}:{self.command}"

    @property
    def short(self) -> str:
        """The URI without the parts that options give."""
        return f"{BOARD}:{self.command}"

    def access(self) -> BoardAccess:
        """Return the way to the board.

        Raises:
            TuninglinkError: the command cannot be read or found, or a directory has characters that a shell changes.
        """
        try:
            words = shlex.split(self.command)
            if not words or shutil.which(words[0]) is None:
                missing = f"command '{words[0] if words else ''}' is not found"
                raise TuninglinkError(error(f"device '{self.short}': {missing}"))
            lease = int(self.lease or LEASE_SECONDS)
            return BoardAccess(tuple(words), self.tools, self.directory, lease)
        except (ValueError, BoardError) as failure:
            raise TuninglinkError(error(f"device '{self.short}': {failure}")) from None


def is_board(uri: str) -> bool:
    """Return whether a URI is one of a board."""
    return _URI.fullmatch(uri) is not None


@dataclass(frozen=True)
class BoardOptions:
    """The options of devices `run:COMMAND`."""

    device_tools: str = option(
        "",
        metavar="DIR",
        help="With --device run:COMMAND: the directory there of iree-benchmark-module and iree-run-module. Default: the "
        "search path.",
    )
    device_dir: str = option(
        "",
        metavar="DIR",
        help="With --device run:COMMAND: a directory there for files, of which nothing is left. Default: one for temporary "
        "files.",
    )
    device_driver: str = option(
        "",
        metavar="DRIVER",
        help="With --device run:COMMAND: the driver of the runtime there, as in local-sync or vulkan. Default: local-task.",
    )

    def uris(self, devices: Iterable[str]) -> tuple[str, ...]:
        """Return the URIs of devices, with these options in those of boards that lack them."""
        if self == BoardOptions():
            return tuple(devices)
        own = {
            "tools": self.device_tools,
            "directory": self.device_dir,
            "driver": self.device_driver,
        }
        completed = []
        for device in devices:
            if is_board(device):
                uri = BoardUri.parse(device)
                missing = {name: value for name, value in own.items() if not getattr(uri, name)}
                whole = replace(uri, **missing)
                whole.access()  # reports characters that have a meaning in a URI
                completed.append(str(whole))
            else:
                completed.append(device)
        return tuple(completed)
