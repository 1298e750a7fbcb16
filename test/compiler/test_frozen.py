"""Frozen specs: entries for all dispatches of a program, which keep its code, and say what they were written for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from programs import EXAMPLES, PROGRAMS, TARGETS
from tuning_programs import CONVOLUTION, REDUCTION, matmul

import tuninglink
from tuninglink.errors import CompileError, Severity
from tuninglink.mlir import DiagnosticSink
from tuninglink.specs import Spec, load_spec, provenance_of

if TYPE_CHECKING:
    from tuninglink.compiler import Compilation
    from tuninglink.scaffolding import InitSpec

QUIET = DiagnosticSink(lambda _: None)

ADDITION = """
func.func @main(%a: tensor<1024xf32>, %b: tensor<1024xf32>) -> tensor<1024xf32> {
  %sum = arith.addf %a, %b : tensor<1024xf32>
  return %sum : tensor<1024xf32>
}"""

LAYOUT = (PROGRAMS / "layout.mlir").read_text()

CALL = "%product, %bias : tensor<37x53xf32>, tensor<53xf32>"
MAPS = "affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (m, n)>"


def product(epilogue: str = "", start: str = "%init") -> str:
    """Return a product of 37x53x91 with an op after it, which the compiler configures, too."""
    result = "%product"
    after = ""
    if epilogue:
        result = "%result"
        after = f"""
          %result = linalg.generic {{indexing_maps = [{MAPS}], iterator_types = ["parallel", "parallel"]}}
              ins({CALL}) outs(%empty : tensor<37x53xf32>) {{
          ^bb0(%a: f32, %b: f32, %o: f32):
            %value = {epilogue} : f32
            linalg.yield %value : f32
          }} -> tensor<37x53xf32>"""
    return f"""
        func.func @main(%lhs: tensor<37x91xf32>, %rhs: tensor<91x53xf32>, %bias: tensor<53xf32>, %sum: tensor<37x53xf32>)
            -> tensor<37x53xf32> {{
          %zero = arith.constant 0.0 : f32
          %empty = tensor.empty() : tensor<37x53xf32>
          %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<37x53xf32>) -> tensor<37x53xf32>
          %product = linalg.matmul ins(%lhs, %rhs : tensor<37x91xf32>, tensor<91x53xf32>)
              outs({start} : tensor<37x53xf32>) -> tensor<37x53xf32>{after}
          return {result} : tensor<37x53xf32>
        }}"""


PRODUCTS = {
    "alone": product(),
    "plus bias": product("arith.addf %a, %b"),
    "times bias": product("arith.mulf %a, %b"),
    "at least zero": product("arith.maximumf %a, %zero"),
    "accumulated": product(start="%sum"),
}
"""Products with equal matmuls, in different surroundings."""


def program(*parts: str) -> str:
    return "\n".join(part.replace("@main", f"@part{number}") for number, part in enumerate(parts))


def freeze(source: str, target: str, *specs: str) -> InitSpec:
    return tuninglink.init_spec(
        source.encode(),
        frozen=True,
        specs=[spec.encode() for spec in specs],
        target=None if target in TARGETS else target,
        flags=TARGETS.get(target, ()),
        diagnostics=QUIET,
    )


def compiled(source: str, target: str, *specs: str) -> Compilation:
    return tuninglink.compile(
        source.encode(),
        specs=[spec.encode() for spec in specs],
        target=None if target in TARGETS else target,
        flags=[*TARGETS.get(target, ()), "--compile-to=executable-targets"],
        diagnostics=QUIET,
    )


def provenances(spec: Spec) -> list[dict[str, object]]:
    return [provenance_of(spec.anatomy.table, entry.matcher) for entry in spec.entries]


@pytest.mark.parametrize("target", ["hip", "cuda", "llvm-cpu"])
def test_a_frozen_spec_configures_every_dispatch_and_changes_no_code(target: str) -> None:
    source = program(matmul(128, 256, 512, "f16"), CONVOLUTION, REDUCTION, ADDITION)
    frozen = freeze(source, target)
    assert frozen.left_out == ()
    plain, kept = compiled(source, target), compiled(source, target, frozen.text)
    assert kept.output == plain.output
    assert len({item.dispatch for item in kept.applied}) == 4
    assert all(item.is_own for item in kept.applied)
    assert frozen.coverage == "4 of 4 dispatches, 100.0% of the operations"


@pytest.mark.parametrize("target", ["cortex-a76", "spacemit-x60"])
def test_a_frozen_spec_keeps_the_configurations_of_the_ops_around_a_root_op(target: str) -> None:
    source = program(*PRODUCTS.values())
    frozen = freeze(source, target)
    assert frozen.left_out == ()
    kept = compiled(source, target, frozen.text)
    assert kept.output == compiled(source, target).output
    # Each dispatch has its own entry, and one effect of it, at the root op.
    assert len({item.entry.matcher for item in kept.applied if item.entry}) == len(PRODUCTS)
    assert len(kept.applied) == len(PRODUCTS)
    assert {item.operation for item in kept.applied} == {"linalg.matmul"}
    assert all(item.is_own for item in kept.applied)


@pytest.mark.parametrize("name", ["alone", "plus bias", "at least zero"])
def test_an_entry_with_neighbors_matches_no_other_surroundings(name: str) -> None:
    spec = freeze(PRODUCTS[name], "cortex-a76").text
    assert "transform.get_producer_of_operand" in spec
    # The op whose region uses a constant from around it is matched by its types.
    same = {name, *(("times bias", "plus bias") if name == "at least zero" else ())}
    others = program(*(text for other, text in PRODUCTS.items() if other not in same))
    kept = compiled(others, "cortex-a76", spec)
    assert kept.applied == ()
    assert kept.output == compiled(others, "cortex-a76").output


def test_the_maps_of_an_op_that_no_dag_matches_are_compared() -> None:
    square = product("math.fma %a, %b, %zero").replace("37x", "53x")
    frozen = freeze(square, "cortex-a76")
    assert frozen.left_out == ()
    assert len(compiled(square, "cortex-a76", frozen.text).applied) == 1
    other = square.replace("(m, n) -> (n)", "(m, n) -> (m)")
    assert compiled(other, "cortex-a76", frozen.text).applied == ()


@pytest.mark.parametrize("target", ["cortex-a76", "llvm-cpu", "cuda", "hip"])
def test_entries_keep_all_choices_of_a_transformer(target: str) -> None:
    source = (EXAMPLES / "transformer.mlir").read_text()
    frozen = freeze(source, target)
    assert frozen.coverage == "8 of 8 dispatches, 100.0% of the operations"
    assert compiled(source, target, frozen.text).output == compiled(source, target).output


def test_a_frozen_spec_records_what_it_was_written_for() -> None:
    source = program(matmul(128, 256, 512, "f16"), LAYOUT)
    frozen = freeze(source, "hip")
    spec = load_spec(frozen.text.encode())
    whole = provenance_of(spec.anatomy.table)
    assert whole["targets"] == ["gfx942"]
    assert whole["flags"] == list(TARGETS["hip"])
    entries = provenances(spec)
    assert {entry["compiler"] for entry in entries} == {whole["compiler"]}
    assert entries[0]["operation"] == "matmul 128x256x512 f16·f16→f32"
    assert entries[0]["flops"] == 2 * 128 * 256 * 512
    # The dispatches without an entry are there, with their reasons.
    assert len(frozen.left_out) == 3
    records = str(whole["left_out"])
    for left in frozen.left_out:
        assert left.dispatches[0] in records
        assert left.reason.split("'")[-1] in records
    assert sum(entry["dispatches"] for entry in entries) + 3 == whole["dispatches"]  # type: ignore[misc]


def test_choices_of_given_specs_stay_and_unused_entries_go() -> None:
    large, other = matmul(128, 256, 512, "f16"), matmul(32, 32, 32, "f16")
    started = freeze(program(large, other), "hip")
    tuned = re.sub(r"reduction = \[0, 0, 8\]", "reduction = [0, 0, 4]", started.text)
    assert tuned != started.text
    assert len(started.entries) == 2
    source = program(matmul(64, 64, 64, "f16"), large, ADDITION)
    frozen = freeze(source, "hip", tuned)
    code = compiled(source, "hip", tuned).output
    assert compiled(source, "hip", frozen.text).output == code
    assert b"reduction = [0, 0, 4]" in frozen.text.encode()
    spec = load_spec(frozen.text.encode())
    operations = [str(entry["operation"]) for entry in provenances(spec)]
    assert len(operations) == 3
    assert operations[0].startswith("matmul 128x256x512")
    assert not any("32x32x32" in operation for operation in operations)


def test_choices_of_given_specs_stay_next_to_those_with_neighbors() -> None:
    large = matmul(128, 256, 512)
    started = tuninglink.init_spec(large.encode(), target="cortex-a76", diagnostics=QUIET)
    tuned = started.text.replace("vector_reduction = [0, 0, 4]", "vector_reduction = [0, 0, 2]")
    assert tuned != started.text
    source = program(large, PRODUCTS["at least zero"])
    frozen = freeze(source, "cortex-a76", tuned)
    assert frozen.left_out == ()
    assert "only_consumer_of_result_0" in frozen.text
    kept = compiled(source, "cortex-a76", frozen.text)
    assert kept.output == compiled(source, "cortex-a76", tuned).output
    assert kept.output != compiled(source, "cortex-a76").output
    report = tuninglink.check(frozen.text.encode(), target="cortex-a76")
    assert not [one for one in report.specs[0].findings() if one.severity is not Severity.REMARK]


def test_the_choice_of_a_default_spec_is_written_as_well() -> None:
    source = (EXAMPLES / "mmt_2048x1280x5120.mlir").read_text()
    default = compiled(source, "hip")
    assert [item.is_own for item in default.applied] == [True]
    frozen = freeze(source, "hip")
    (entry,) = provenances(load_spec(frozen.text.encode()))
    assert str(entry["source"]).endswith("gfx942.mlir")
    alone = tuninglink.compile(
        source.encode(),
        specs=[frozen.text.encode()],
        default_specs=False,
        flags=[*TARGETS["hip"], "--compile-to=executable-targets"],
        diagnostics=QUIET,
    )
    assert alone.output == default.output


def test_a_frozen_spec_is_for_all_dispatches() -> None:
    with pytest.raises(CompileError, match="select none"):
        tuninglink.init_spec(b"", frozen=True, top=1, flags=TARGETS["hip"])
    with pytest.raises(CompileError, match="no entry can be written"):
        freeze("func.func @main() { return }", "hip")
