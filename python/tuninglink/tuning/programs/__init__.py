"""Programs as tasks, with options for their calls: the functions that count, their inputs, and files with weights.

The modules of this package read their dispatches, benchmarks, and sizes for dynamic dimensions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_WEIGHT: Final = re.compile(r"([^=]+)(?:=([1-9]\d*))?")
_INPUT: Final = re.compile(r"(?:([^:@=]+):)?(.+)", re.DOTALL)
_SUFFIXES: Final = (".irpa", ".safetensors", ".gguf")


@dataclass(frozen=True)
class FunctionWeight:
    """A function whose time counts.

    Attributes:
        name: its name.
        weight: the number of its calls for one of a function with weight 1.
    """

    name: str
    weight: int = 1

    @classmethod
    def parse(cls, text: str) -> FunctionWeight:
        """Read `NAME[=WEIGHT]`.

        Raises:
            ValueError: the text has a different form.
        """
        parts = _WEIGHT.fullmatch(text)
        if parts is None:
            raise ValueError("expected NAME or NAME=WEIGHT, a whole number such as 100")
        return cls(parts[1].lstrip("@"), int(parts[2] or 1))


@dataclass(frozen=True)
class GivenInput:
    """A value for an argument, as the user wrote it.

    Attributes:
        function: the function; empty for the only function.
        text: the value.
    """

    function: str
    text: str

    @classmethod
    def parse(cls, text: str) -> GivenInput:
        """Read `[FUNCTION:]VALUE`.

        Raises:
            ValueError: there is no value.
        """
        parts = _INPUT.fullmatch(text)
        if parts is None:
            raise ValueError(
                "expected [FUNCTION:]@FILE.npy, [FUNCTION:]SHAPExTYPE=VALUES or a number"
            )
        return cls(parts[1] or "", parts[2])

    def __str__(self) -> str:
        return f"{self.function}:{self.text}" if self.function else self.text


@dataclass(frozen=True)
class ParameterFile:
    """A file with parameters.

    Attributes:
        scope: the scope that its parameters belong to; empty without one.
        path: the file.
    """

    scope: str
    path: str

    @classmethod
    def parse(cls, text: str) -> ParameterFile:
        """Read `[SCOPE=]FILE`.

        Raises:
            ValueError: the file does not exist, or has an unsupported type.
        """
        scope, _, path = text.rpartition("=")
        if not path.endswith(_SUFFIXES):
            raise ValueError(f"expected [SCOPE=]FILE, a file in {', '.join(_SUFFIXES)}")
        if not Path(path).is_file():
            raise ValueError(f"file '{path}' does not exist")
        return cls(scope, str(Path(path).resolve()))


@dataclass(frozen=True)
class CallOptions:
    """The user's options for calls of a program.

    Attributes:
        functions: the functions that count; none for all.
        inputs: values of arguments, in order; arguments of a function without any are random.
        parameters: files with weights.
        expected: the expected results of functions for these inputs, in order; those without any are compared with a
            reference.
    """

    functions: tuple[FunctionWeight, ...] = ()
    inputs: tuple[GivenInput, ...] = ()
    parameters: tuple[ParameterFile, ...] = ()
    expected: tuple[GivenInput, ...] = ()

    def weights(self) -> Mapping[str, int] | None:
        """Return the functions that count with their weights; None if all count once."""
        if not self.functions:
            return None
        return {function.name: function.weight for function in self.functions}


ALL_CALLS: Final = CallOptions()
"""One call of each function, with random inputs."""
