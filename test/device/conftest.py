"""Fixtures of tests on a device: a compiler for llvm-cpu, the device that runs its code, and references.

All tests of a process share them: each starts processes, which load the compiler or the runtime.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from programs import HOST_CPU

from tuninglink.devices import DeviceProcess
from tuninglink.tuning.candidates import CandidateCompiler
from tuninglink.tuning.references import References

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from concurrent.futures import Future

    from tuninglink.compiler import SavedProgram


class KeepingCompiler(CandidateCompiler):
    """Compiles a whole program with a spec once, however many tests ask for it."""

    def __init__(self, flags: Sequence[str], jobs: int) -> None:
        super().__init__(flags, jobs)
        self._kept: dict[tuple[object, ...], Future[Any]] = {}

    def submit_whole(self, program: SavedProgram, spec: str, seconds: float) -> Future[Any]:
        key = (program.content, program.phase, spec)
        if key not in self._kept or self._kept[key].cancelled():
            self._kept[key] = super().submit_whole(program, spec, seconds)
        return self._kept[key]


@pytest.fixture(scope="session")
def compiler() -> Iterator[CandidateCompiler]:
    with KeepingCompiler(HOST_CPU, 2) as opened:
        yield opened


@pytest.fixture(scope="session")
def device() -> Iterator[DeviceProcess]:
    with DeviceProcess("local-sync", timeout=120) as opened:
        yield opened


@pytest.fixture(scope="session")
def references() -> Iterator[References]:
    with References(0) as opened:
        yield opened
