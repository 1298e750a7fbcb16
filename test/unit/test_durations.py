"""The record of slow tests names tests that exist."""

from __future__ import annotations

import ast

from durations import LIMIT, read_record
from places import ROOT


def test_the_recorded_tests_exist_and_are_slow() -> None:
    record = read_record()
    functions = {
        f"{path.relative_to(ROOT)}::{node.name}"
        for path in (ROOT / "test").rglob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef)
    }
    gone = [name for name in record if name not in functions]
    assert not gone, "record them anew with make durations"
    assert min(record.values()) >= LIMIT
