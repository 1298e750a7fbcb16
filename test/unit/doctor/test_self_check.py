"""The checks of `tuninglink doctor` fail where the compiler is not what Tuninglink expects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tuninglink import doctor as checks
from tuninglink.mlir import names
from tuninglink.specs import SpecFile

if TYPE_CHECKING:
    import pytest


def test_an_operation_that_the_compiler_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not checks.missing_operations()
    monkeypatch.setattr(names, "MATCH_DAG", "transform.iree.match.renamed")
    assert checks.missing_operations() == "missing: transform.iree.match.renamed"


def test_a_knob_that_the_compiler_does_not_read_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not checks.unknown_knobs()
    monkeypatch.setattr(checks, "ENTRIES", ("workgroup", "workgroups_of_old"))
    assert checks.unknown_knobs() == "unknown to the compiler: workgroups_of_old"


def test_a_library_that_the_compiler_does_not_read_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert not checks.unloadable_libraries()
    newer = SpecFile("library:newer", b"module { transform.of_tomorrow }")
    monkeypatch.setattr(checks, "shipped_libraries", lambda: (newer,))
    assert checks.unloadable_libraries().startswith("library:newer:1:10: error: ")


def test_a_spec_takes_effect_where_it_has_an_entry() -> None:
    assert checks.configuring_specs("vmvx") == ["self_check"]
    assert checks.configuring_specs("vulkan-gfx1201") == []
