"""Every form in which a layer arrives gets the entry for its problem, and its code compiles, on three targets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from arriving_forms import CASES, Case, configured_by_stock
from iree.compiler import ir as mlir

import tuninglink
from tuninglink.iree import find_dispatches
from tuninglink.mlir import thread_context

if TYPE_CHECKING:
    from pathlib import Path

    from tuninglink.compiler import Compilation


def compiled(case: Case, *flags: str) -> Compilation:
    return tuninglink.compile(
        case.program, specs=[case.spec], default_specs=False, flags=[*case.target.flags, *flags]
    )


def function_of(dispatch: str) -> str:
    return dispatch.partition("_dispatch")[0].removeprefix("@")


@pytest.mark.parametrize("name", CASES)
def test_every_form_is_configured_and_compiles(name: str) -> None:
    case = CASES[name]
    result = compiled(case, "--compile-to=executable-targets")
    assert {
        function_of(entry.dispatch): (entry.entry and entry.entry.matcher, entry.derivation)
        for entry in result.applied
    } == {
        form: (arrival.entry, arrival.change and f"from @{arrival.entry}: {arrival.change}")
        for form, arrival in case.arrivals.items()
    }
    assert all(entry.is_own for entry in result.applied)


def dispatches(text: bytes) -> dict[str, str]:
    """Return the code of dispatches by the functions that they come from."""
    module = mlir.Module.parse(text, thread_context())
    return {
        function_of(dispatch.name): str(dispatch.module)
        for dispatch in find_dispatches(module.operation)
    }


@pytest.mark.parametrize("name", CASES)
def test_the_compiler_finds_the_forms_that_are_written_out(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    stock = configured_by_stock(case, tmp_path)
    ours = compiled(case, "--compile-to=executable-configurations").output
    own, expected = dispatches(stock), dispatches(ours)
    assert {form for form in expected if own[form] == expected[form]} == {
        form for form, arrival in case.arrivals.items() if arrival.is_listed
    }
