"""Processor time of tests: measured, recorded, and used to choose the fast ones.

A pytest plug-in, which `test/conftest.py` loads. The record, `test/durations.json`, has each test function that takes
0.3 seconds of processor time or longer, with the seconds of its slowest case. The processes that a test starts are
included, those of fixtures in the first test that uses them. Unlike the time on the clock, processor time hardly depends on other work on the machine.
"""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict
from functools import cache
from typing import TYPE_CHECKING, Final

import pytest
from places import ROOT
from processes import family_seconds

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from pathlib import Path

RECORD: Final = ROOT / "test" / "durations.json"
LIMIT: Final = 0.3
"""The time limit of a fast test, in seconds of processor time."""

_LONG: Final = 5.0
"""Tests that take longer start first, so that none of them runs alone at the end."""

_FUNCTION: Final = re.compile(r"^def (test_\w+)", re.MULTILINE)
_PROPERTY: Final = "processor_seconds"
_START: Final = pytest.StashKey[float]()


def function_of(node: str) -> str:
    """Return the name of a test without its parameters."""
    return node.partition("[")[0]


@cache
def read_record() -> dict[str, float]:
    """Return the seconds of each slow test function."""
    seconds: dict[str, float] = json.loads(RECORD.read_text())
    return seconds


def functions_in(path: Path) -> list[str]:
    """Return the names of the test functions of a file."""
    file = path.relative_to(ROOT)
    return [f"{file}::{name}" for name in _FUNCTION.findall(path.read_text())]


@cache
def test_functions() -> frozenset[str]:
    """Returns the names of all test functions."""
    return frozenset(
        name for path in (ROOT / "test").rglob("test_*.py") for name in functions_in(path)
    )


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tuninglink")
    group.addoption("--fast", action="store_true", help="run only tests that are not recorded")
    group.addoption("--record", action="store_true", help=f"update {RECORD.name} with this run")


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Measurements(config))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files without a fast test: some have imports that take a second."""
    if config.getoption("fast") and collection_path.match("test_*.py"):
        return read_record().keys() >= set(functions_in(collection_path)) or None
    return None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    seconds = read_record()
    if config.getoption("fast"):
        slow = [item for item in items if function_of(item.nodeid) in seconds]
        items[:] = [item for item in items if function_of(item.nodeid) not in seconds]
        config.hook.pytest_deselected(items=slow)
    else:
        items.sort(key=lambda item: seconds.get(function_of(item.nodeid), 0.0) < _LONG)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    item.stash[_START] = family_seconds(os.getpid())


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None]:
    yield
    # A process that was neither waited for nor left running takes its time with it.
    seconds = max(0.0, family_seconds(os.getpid()) - item.stash[_START])
    item.user_properties.append((_PROPERTY, seconds))


class _Measurements:
    """The processor time of the tests of a run, by test function: that of the slowest case."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "teardown":
            function = function_of(report.nodeid)
            # A process that crashed reports no time.
            seconds = dict(report.user_properties).get(_PROPERTY, 0.0)
            self._seconds[function] = max(self._seconds[function], float(seconds))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        slow = {name: value for name, value in self._seconds.items() if value >= LIMIT}
        if self._config.getoption("record"):
            self._record(slow)
        elif self._config.getoption("fast") and slow:
            terminalreporter.section(f"slower than {LIMIT} s; record them with make durations")
            for name, value in sorted(slow.items()):
                terminalreporter.line(f"{value:5.1f} s {name}")

    def _record(self, slow: Mapping[str, float]) -> None:
        """Replace the records of the functions that ran, or that are gone."""
        kept = {
            name: value
            for name, value in read_record().items()
            if name not in self._seconds and name in test_functions()
        }
        rounded = {name: round(value, 1) for name, value in slow.items()}
        RECORD.write_text(json.dumps(dict(sorted({**kept, **rounded}.items())), indent=1) + "\n")
