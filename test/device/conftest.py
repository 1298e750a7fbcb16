"""Fixtures of tests on a device: a compiler for llvm-cpu, the device that runs its code, and references."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from programs import TARGETS

from tuninglink.tuning.candidates.compilation import CandidateCompiler
from tuninglink.tuning.devices.device_process import DeviceProcess
from tuninglink.tuning.references.references import References

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Future

    from tuninglink.compiler.program_sources import SavedProgram


class KeepingCompiler(CandidateCompiler):
    """Compiles a program with a spec once, however many tests ask for it."""

    def __init__(self, flags: Sequence[str], jobs: int) -> None:
        super().__init__(flags, jobs)
        self._kept: dict[tuple[object, ...], Future[Any]] = {}

    def submit_program(self, source: bytes, spec: str, seconds: float) -> Future[Any]:
        submit = super().submit_program
        return self._keep((source, spec), lambda: submit(source, spec, seconds))

    def submit_whole(self, program: SavedProgram, spec: str, seconds: float) -> Future[Any]:
        submit = super().submit_whole
        key = (program.content, program.phase, spec)
        return self._keep(key, lambda: submit(program, spec, seconds))

    def _keep(self, key: tuple[object, ...], submit: Callable[[], Future[Any]]) -> Future[Any]:
        if key not in self._kept or self._kept[key].cancelled():
            self._kept[key] = submit()
        return self._kept[key]


@pytest.fixture(scope="module")
def compiler() -> Iterator[CandidateCompiler]:
    with KeepingCompiler(TARGETS["llvm-cpu"], 2) as opened:
        yield opened


@pytest.fixture(scope="module")
def device() -> Iterator[DeviceProcess]:
    with DeviceProcess("local-sync", timeout=120) as opened:
        yield opened


@pytest.fixture(scope="module")
def references() -> Iterator[References]:
    with References(0) as opened:
        yield opened
