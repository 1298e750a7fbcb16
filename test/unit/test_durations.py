"""The record of slow tests names tests that exist."""

from __future__ import annotations

import durations


def test_the_recorded_tests_exist_and_are_slow() -> None:
    record = durations.read_record()
    gone = record.keys() - durations.test_functions()
    assert not gone, 'take them out: make durations PYTEST_ARGS="FILE"'
    assert min(record.values()) >= durations.LIMIT
