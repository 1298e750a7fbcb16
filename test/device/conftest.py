"""Fixtures of tests on a device: a compiler for llvm-cpu, the device that runs its code, and references."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from programs import TARGETS

from tuninglink.tuning.candidates.compilation import CandidateCompiler
from tuninglink.tuning.devices.device_process import DeviceProcess
from tuninglink.tuning.references.references import References

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def compiler() -> Iterator[CandidateCompiler]:
    with CandidateCompiler(TARGETS["llvm-cpu"], 2) as opened:
        yield opened


@pytest.fixture(scope="module")
def device() -> Iterator[DeviceProcess]:
    with DeviceProcess("local-sync", timeout=120) as opened:
        yield opened


@pytest.fixture(scope="module")
def references() -> Iterator[References]:
    with References(0) as opened:
        yield opened
