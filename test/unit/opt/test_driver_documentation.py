"""The documentation of passes, and the reference made from it."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

import pytest
from iree.compiler import ir
from places import ROOT

from tuninglink.mlir import DiagnosticSink
from tuninglink.opt import check_pass, make_pass, options_of, reference, run_pass, sections, summary
from tuninglink.passes import PASSES

if TYPE_CHECKING:
    from tuninglink.errors import Diagnostic
    from tuninglink.mlir import Pass


@pytest.mark.parametrize("pass_type", PASSES.values())
def test_every_pass_has_a_summary_and_an_example(pass_type: type[Pass]) -> None:
    assert 10 < len(summary(pass_type)) < 100
    assert "```mlir" in dict(sections(pass_type))["Example"]


def test_sections_lose_their_indentation() -> None:
    class Documented:
        """One line.

        More: with a colon,
        and another line.

        Example:
            Before:

            ```mlir
            module {
            }
            ```

        Notes:

            One.
        """

    assert sections(Documented) == [  # type: ignore[arg-type]
        ("", "One line.\n\nMore: with a colon,\nand another line."),
        ("Example", "Before:\n\n```mlir\nmodule {\n}\n```"),
        ("Notes", "One."),
    ]


def test_the_reference_has_every_pass_and_every_option() -> None:
    text = reference(PASSES.values())
    for pass_type in PASSES.values():
        _, _, entry = text.partition(f"\n## {pass_type.name}\n")
        entry = entry.partition("\n## ")[0]
        assert summary(pass_type) in entry
        for option in options_of(pass_type):
            (row,) = [
                line for line in entry.splitlines() if line.startswith(f"| `{option.name}` |")
            ]
            assert option.help in row
            assert row.replace(r"\|", "").count("|") == 5


def test_the_example_of_the_documentation_works() -> None:
    page = ROOT / "docs" / "guides" / "tuninglink-opt.md"
    _, _, rest = page.read_text().partition("```python\n")
    code, _, _ = rest.partition("```")
    # A dataclass looks its module up.
    module = sys.modules["example"] = ModuleType("example")
    exec(code, module.__dict__)
    example = module.__dict__["CountOps"]
    check_pass(example)
    emitted: list[Diagnostic] = []
    function = ir.Operation.parse("func.func @f() { return }", context=ir.Context()).operation
    assert run_pass(make_pass(example, "limit=0"), function, DiagnosticSink(emitted.append))
    assert [diagnostic.message for diagnostic in emitted] == ["function has 1 operations"]
