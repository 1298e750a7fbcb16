"""Replace entries beside configure entries: loading, linking and writing of specs that have them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from iree.compiler import ir as mlir
from places import ROOT

from tuninglink.compiler import refuse_spec
from tuninglink.dag_to_named import convert_dags
from tuninglink.errors import CompileError, SpecError
from tuninglink.mlir import DiagnosticSink, body, names, parse_module, symbol_name, thread_context
from tuninglink.specs import (
    Revision,
    Spec,
    SpecKind,
    binding_of,
    link_nested_specs,
    link_specs,
    load_spec,
    subset,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

INPUTS = ROOT / "test" / "cli" / "Inputs"
REPLACING = INPUTS / "replace-rows.mlir"
BOTH = INPUTS / "replace-and-configure.mlir"


def symbols_in(module: mlir.Operation) -> list[str]:
    return [symbol_name(operation) or "" for operation in body(module)]


def entries_of(spec: Spec) -> list[tuple[str, str, str]]:
    return [(each.matcher, each.action, each.function) for each in spec.replace_entries]


def test_a_spec_may_hold_both_kinds_of_entries() -> None:
    spec = load_spec(BOTH)
    assert entries_of(spec) == [("match_rows", "replace_rows", "rows")]
    assert spec.replace_entries[0].place is not None
    assert spec.replace_entries[0].place.line == 16
    assert [(entry.matcher, entry.action) for entry in spec.entries] == [
        ("match_conf", "configure")
    ]
    # The analyses of configure entries see nothing of the others.
    assert spec.kind is SpecKind.MATCHER_LIST
    assert symbols_in(spec.module) == ["configure", "match_conf", names.KERNEL_CONFIG]
    again = load_spec(spec.text().encode())
    assert again.text() == spec.text()
    assert entries_of(again) == entries_of(spec)
    assert entries_of(load_spec(spec.bytecode())) == entries_of(spec)


def test_a_spec_may_hold_replace_entries_only() -> None:
    spec = load_spec(REPLACING)
    assert entries_of(spec) == [("match_rows", "replace_rows", "rows")]
    assert spec.only_replaces
    assert not spec.entries
    assert not load_spec(BOTH).only_replaces


def test_a_sequence_that_both_kinds_use_is_copied() -> None:
    helper = """
      transform.named_sequence @helper(%op: !transform.any_op {transform.readonly}) {
        transform.yield
      }
      transform.named_sequence @"""
    include = """transform.include @helper failures(propagate) (%op) : (!transform.any_op) -> ()
    %b, %m"""
    text = BOTH.read_text().replace("transform.named_sequence @", helper, 1)
    spec = load_spec(text.replace("%b, %m", include).encode())
    assert spec.replacing is not None
    assert "helper" in symbols_in(spec.module)
    assert "helper" in symbols_in(spec.replacing.module)
    again = load_spec(spec.text().encode())
    assert again.replacing is not None
    assert symbols_in(again.module) == symbols_in(spec.module)
    assert "helper_0" in symbols_in(again.replacing.module)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('ops{["util.func"]}', 'ops{["func.func"]}', "all ops of 'util.func'"),
        ("foreach_match in %f", "foreach_match restrict_root in %f", "one plain 'foreach_match'"),
        ('"inline"', '"canonicalize"', "only the pass 'inline' runs"),
        ("transform.apply_dce to", "transform.apply_cse to", "and nothing else"),
    ],
)
def test_another_main_is_refused(old: str, new: str, reason: str) -> None:
    for file, message in ((BOTH, "must be a list of replace entries"), (REPLACING, "not a tuning")):
        text = file.read_text()
        assert old in text
        with pytest.raises(SpecError, match=message) as failure:
            load_spec(text.replace(old, new).encode())
        assert reason in failure.value.diagnostics[0].notes[-1].message


def names_in_main(spec: Spec) -> Sequence[str]:
    module = parse_module(spec.bytecode(), "linked", thread_context())
    (main,) = (op for op in body(module) if symbol_name(op) == names.TRANSFORM_MAIN)
    return [operation.name for operation in body(main)]


def test_linking_keeps_the_order_and_ends_with_one_clean_up() -> None:
    other = REPLACING.read_text().replace("14", "30").replace("48x48", "64x48")
    other = other.replace("48x32xf32> {\n", "48x32xf32> {\n", 1)
    for old in (
        "to tensor<48x32",
        "outs(%p1 : tensor<48x32",
        "-> tensor<48x32",
        ": tensor<48x32xf32> to tensor<34",
    ):
        other = other.replace(old, old.replace("48x32", "64x32"))
    # The dead code elimination and the inlining that the other spec lacks are added.
    lines = [line for line in other.splitlines() if "apply_" not in line]
    specs = [load_spec("\n".join(lines).encode()), load_spec(BOTH), load_spec(REPLACING)]
    linked = link_specs(specs).spec
    assert entries_of(linked) == [
        ("match_rows", "replace_rows", "rows"),
        ("match_rows_0", "replace_rows_0", "rows_0"),
        ("match_rows_1", "replace_rows_1", "rows_0"),
    ]
    assert [entry.matcher for entry in linked.entries] == ["match_conf"]
    clean_up = [names.APPLY_DCE, names.RUN_REGISTERED, names.YIELD]
    assert names_in_main(linked) == [names.STRUCTURED_MATCH, names.FOREACH, *clean_up]
    assert names_in_main(link_specs([linked]).spec) == names_in_main(linked)
    # The inputs stay as they are.
    assert entries_of(specs[2]) == [("match_rows", "replace_rows", "rows")]


def test_linking_takes_specs_of_several_contexts() -> None:
    inputs = [load_spec(REPLACING), load_spec(BOTH, context=mlir.Context())]
    linked = link_specs(inputs).spec
    assert len(linked.replace_entries) == 2
    assert len(linked.entries) == 1


def test_nested_specs_are_linked_with_both_kinds() -> None:
    parts = [BOTH.read_text().replace("@both", name) for name in ("@one", "@other")]
    text = "module attributes {transform.with_named_sequence} {\n" + "".join(parts) + "}"
    module = parse_module(text.encode(), "nested", thread_context())
    link_nested_specs(module, None, DiagnosticSink(lambda _: None))
    assert names.DEFAULT_ENTRY_POINT in module.attributes
    linked = load_spec(str(module).encode())
    assert [entry.matcher for entry in linked.entries] == ["match_conf", "match_conf_0"]
    assert entries_of(linked) == [
        ("match_rows", "replace_rows", "rows"),
        ("match_rows_0", "replace_rows_0", "rows"),
    ]


def test_targets_bind_both_kinds() -> None:
    linked = link_specs([load_spec(BOTH, targets=["gfx942"]), load_spec(REPLACING)]).spec
    assert linked.replacing is not None
    tables = linked.anatomy.table, linked.replacing.table
    first, second = linked.replace_entries
    assert [
        binding_of(table.symbols[name])
        for table, name in (
            (tables[0], "match_conf"),
            (tables[1], first.matcher),
            (tables[1], second.matcher),
        )
    ] == [("gfx942",), ("gfx942",), None]


def test_revisions_keep_replace_entries_and_dispatches_do_not_get_them() -> None:
    spec = load_spec(BOTH)
    assert entries_of(Revision(spec).finish([0])) == entries_of(spec)
    assert not subset(spec, [0]).replace_entries


def test_modernized_specs_keep_replace_entries() -> None:
    spec = load_spec(BOTH)
    again = load_spec(convert_dags(spec).text.encode())
    assert entries_of(again) == entries_of(spec)
    assert [entry.matcher for entry in again.entries] == ["match_conf"]


def test_a_spec_with_functions_is_no_program() -> None:
    for file in (BOTH, REPLACING):
        module = parse_module(file.read_bytes(), "spec", thread_context())
        with pytest.raises(CompileError, match="this is a tuning spec, not a program"):
            refuse_spec(module)
        # A function that no entry imports belongs to a program.
        function = "util.func private @rows"
        program = file.read_text().replace(function, f"util.func @f() {{ util.return }} {function}")
        refuse_spec(parse_module(program.encode(), "program", thread_context()))
