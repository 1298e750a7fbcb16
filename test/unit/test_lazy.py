"""Imports that wait until something of a module is used."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from tuninglink.lazy import load_on_use

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_a_module_is_loaded_once_when_it_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "slow.py").write_text("import loads\nloads.append(0)\nVALUE = object()\n")
    loads: list[int] = []
    monkeypatch.setitem(sys.modules, "loads", loads)  # type: ignore[arg-type] # anything will do
    monkeypatch.setitem(sys.modules, "slow", None)  # type: ignore[arg-type] # forgotten afterwards
    monkeypatch.delitem(sys.modules, "slow")
    monkeypatch.syspath_prepend(tmp_path)
    load_on_use("slow")
    import slow  # noqa: PLC0415

    assert not loads
    with ThreadPoolExecutor(4) as threads:
        values = set(threads.map(lambda _: slow.VALUE, range(8)))
    assert values == {sys.modules["slow"].VALUE}
    assert loads == [0]


def test_a_module_that_is_loaded_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "json", sys.modules["json"])
    before = sys.modules["json"]
    load_on_use("json")
    assert sys.modules["json"] is before
