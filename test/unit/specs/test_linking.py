"""Linking as a library, compared with IREE's own linker where that one is right."""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING

import pytest
from generated_specs import GeneratedEntry, GeneratedSpec, Shape
from iree.compiler import ir as mlir
from iree.compiler.passmanager import PassManager
from steps import count_calls

from tuninglink.errors import Diagnostic, SpecError
from tuninglink.matching import EntryConditions
from tuninglink.mlir import DiagnosticSink, collect, names, references_in, symbols
from tuninglink.specs import (
    LinkForm,
    Spec,
    SpecKind,
    argument_attributes,
    entry_binding,
    link_specs,
    load_spec,
    split,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


def generated(
    name: str | None, shape: Shape, *values: int | None, helper: str | None = None
) -> GeneratedSpec:
    entries = (
        GeneratedEntry(("linalg.fill",), helper, value, action_helper=False) for value in values
    )
    return GeneratedSpec(name, shape, tuple(entries))


def load(*specs: GeneratedSpec) -> list[Spec]:
    return [load_spec(each.text().encode(), name=f"spec {n}") for n, each in enumerate(specs)]


def linked_by_iree(specs: Sequence[GeneratedSpec]) -> str:
    nested = "\n".join(each.text() for each in specs)
    text = f"module @iree_linked_tuning_spec attributes {{transform.with_named_sequence}} {{\n{nested}\n}}"
    module = mlir.Module.parse(text, mlir.Context())
    pipeline = "builtin.module(iree-codegen-link-tuning-specs)"
    PassManager.parse(pipeline, module.context).run(module.operation)
    return str(module)


@pytest.mark.parametrize(
    "specs",
    [
        [generated("a", Shape.DEFAULT, 1), generated("b", Shape.DEFAULT, 2, None)],
        [generated(name, Shape.DEFAULT, number, None) for number, name in enumerate("abcd")],
    ],
    ids=["flat", "flat-of-four"],
)
def test_same_ir_as_iree_where_that_is_right(specs: list[GeneratedSpec]) -> None:
    assert str(link_specs(load(*specs)).spec.module) == linked_by_iree(specs)


@pytest.mark.parametrize(
    ("specs", "order"),
    [
        ([generated("a", Shape.TWO_LOOPS, 1, 2)], ["main"]),
        ([generated("a", Shape.TWO_ENTRY_POINTS, 1, 2)], ["main", "main_1"]),
        # A later spec that configures nothing needs no guard.
        (
            [generated("a", Shape.TWO_LOOPS, 1, 2), generated("b", Shape.UNMARKED_LIST, None)],
            ["main", "main_0"],
        ),
    ],
    ids=["one-opaque", "two-entry-points", "list-behind-opaque"],
)
def test_a_chain_runs_the_sequences_that_iree_nests(
    specs: list[GeneratedSpec], order: list[str]
) -> None:
    linked = link_specs(load(*specs)).spec
    nested = mlir.Module.parse(linked_by_iree(specs), linked.module.context).operation
    assert not collect(linked.module, names.MODULE)[1:]
    assert [point.name for point in linked.anatomy.entry_points] == order
    every = [len(collect(module, names.NAMED_SEQUENCE)) for module in (linked.module, nested)]
    assert every[0] == every[1]


def test_one_input_in_default_entry_point_form_is_untouched() -> None:
    (spec,) = load(generated("a", Shape.DEFAULT, 1))
    linked = link_specs([spec])
    assert linked.form is LinkForm.UNTOUCHED
    assert linked.spec is spec


@pytest.mark.parametrize("shape", [Shape.UNMARKED_LIST, Shape.LEGACY])
def test_one_other_matcher_list_gets_the_default_entry_point(shape: Shape) -> None:
    linked = link_specs(load(generated(None, shape, 1, 2)))
    assert linked.form is LinkForm.FLAT
    assert names.DEFAULT_ENTRY_POINT in linked.spec.module.attributes
    assert [entry.matcher for entry in linked.spec.entries] == ["m0", "m1"]


def test_inputs_stay_as_they_are() -> None:
    specs = load(generated("a", Shape.LEGACY, 1), generated("a", Shape.TWO_LOOPS, 2, 3))
    before = [spec.text() for spec in specs]
    first = link_specs(specs).spec.bytecode()
    assert [spec.text() for spec in specs] == before
    assert link_specs(specs).spec.bytecode() == first


def test_parts_tell_where_the_inputs_are() -> None:
    lists = load(generated("a", Shape.DEFAULT, 1, 2), generated("b", Shape.LEGACY, 3))
    flat = link_specs(lists)
    assert [part.spec for part in flat.parts] == lists
    assert [entry.matcher for part in flat.parts for entry in part.entries] == ["m0", "m1", "m0"]
    chained = link_specs([*lists, *load(generated("a", Shape.TWO_ENTRY_POINTS, 4, 5))])
    members = split(chained.spec)
    assert [member.name for member in members] == ["a", "b", "a_0"]
    entries = [len(member.entries) for member in members]
    assert entries == [len(part.entries) for part in chained.parts] == [2, 1, 2]


def test_specs_of_other_threads_are_copied() -> None:
    loaded: list[Spec] = []
    thread = threading.Thread(target=lambda: loaded.extend(load(generated("a", Shape.DEFAULT, 1))))
    thread.start()
    thread.join()
    (here,) = load(generated("b", Shape.DEFAULT, 2))
    assert loaded[0].module.context != here.module.context
    linked = link_specs([here, loaded[0]]).spec
    assert linked.module.context == here.module.context
    assert len(linked.entries) == 2


def test_a_member_of_a_chain_links_alone() -> None:
    """As where the other members are for other targets."""
    chain = link_specs(
        load(generated("a", Shape.TWO_LOOPS, 1, 2), generated("b", Shape.DEFAULT, 3))
    )
    for member in split(chain.spec):
        assert link_specs([member]).spec.module.verify()


def test_no_spec() -> None:
    with pytest.raises(SpecError, match="no spec was given"):
        link_specs([])


def test_every_ownership_links_without_a_diagnostic() -> None:
    """All combinations of entry points that read, that consume, and without an attribute."""
    text = """module attributes {{transform.with_named_sequence}} {{
      transform.named_sequence @main(%v: !transform.any_op {0}) -> !transform.any_op
          attributes {{ iree_codegen.tuning_spec_entrypoint }} {{
        {1}
        transform.yield %v : !transform.any_op
      }}
    }}"""
    uses = {
        "{transform.readonly}": 'transform.annotate %v "x" : !transform.any_op',
        "": 'transform.annotate %v "x" : !transform.any_op',
    }
    consuming = generated(None, Shape.UNMARKED_LIST, 1).text()
    sources = [text.format(*use) for use in uses.items()] + [consuming]
    reported: list[Diagnostic] = []
    for first in sources:
        for second in sources:
            specs = [load_spec(each.encode()) for each in (first, second)]
            linked = link_specs(specs, diagnostics=DiagnosticSink(reported.append)).spec
            assert linked.module.verify()
            # Only a copy of the handle is consumed behind the guards.
            entry_point = linked.anatomy.driver or linked.anatomy.entry_points[0]
            consumes = names.CONSUMED in argument_attributes(entry_point.sequence, 0)
            assert not consumes or linked.anatomy.entries
    assert not reported


def test_a_private_entry_point_is_chained() -> None:
    text = (
        generated("a", Shape.TWO_LOOPS, 1, 2)
        .text()
        .replace("sequence @main", "sequence private @main")
    )
    linked = link_specs([load_spec(text.encode())])
    assert linked.form is LinkForm.CHAINED
    assert linked.spec.module.verify()


def test_warnings_from_threads_of_mlir_do_not_block() -> None:
    """Nested modules are verified by MLIR's threads, and these entry points are worth a warning each."""
    module = """module @nested_{0} attributes {{transform.with_named_sequence}} {{
      transform.named_sequence @unused(%op: !transform.any_op {{transform.consumed}}) {{ transform.yield }}
    }}"""
    nested = "\n".join(module.format(number) for number in range(30))
    spec = generated("a", Shape.DEFAULT, 1).text()
    text = spec.removesuffix("}") + nested + "}"
    for _ in range(5):
        assert load_spec(text.encode(), context=mlir.Context()).entries


def test_an_entry_point_that_loses_its_handle_is_refused() -> None:
    text = """module attributes {transform.with_named_sequence} {
      transform.named_sequence @eat(%op: !transform.any_op {transform.consumed}) { transform.yield }
      transform.named_sequence @__kernel_config(%v: !transform.any_op {transform.consumed}) {
        transform.include @eat failures(propagate) (%v) : (!transform.any_op) -> ()
        transform.yield
      }
    }"""
    with pytest.raises(SpecError, match="let it return the updated handle"):
        link_specs([load_spec(text.encode())])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the file is empty"),
        (b"\xef\xbb\xbf\n", "the file is empty"),
        (b"ML\xefR and then garbage", "bytecode version"),
        (b"module @\xff {}", "byte 0xFF is not UTF-8; save the file as UTF-8"),
        ("module {}".encode("utf-16"), "the file is UTF-16 text; save it as UTF-8"),
        (b"module {}\0", "null characters"),
        (b"\x08\x07\x12\0\xfd", "neither MLIR text nor MLIR bytecode"),
        (b"module {", "expected operation name"),
        (
            b"func.func private @f()",
            "expected a module that is or carries a tuning spec, found a program",
        ),
        (b"module {} module {}", "expected one module, found 2 operations at the top level"),
        (b"module { func.func private @f() }", "not a tuning spec"),
        (b"module attributes {transform.with_named_sequence} {}", "no entry point: mark a named"),
    ],
)
def test_bad_files(data: bytes, message: str) -> None:
    with pytest.raises(SpecError, match=message) as raised:
        load_spec(data, name="bad.mlir")
    assert raised.value.diagnostics[0].place
    assert raised.value.diagnostics[0].place.file == "bad.mlir"


@pytest.mark.usefixtures("as_in_commands")
def test_truncated_bytecode_is_refused_at_every_length() -> None:
    data = load(generated("a", Shape.DEFAULT, 1))[0].bytecode()
    for length in range(1, len(data)):
        with pytest.raises(SpecError):
            load_spec(data[:length])


def test_kinds() -> None:
    kinds = {shape: load(generated(None, shape, 1, 2))[0].kind for shape in Shape}
    assert kinds == {
        shape: SpecKind.MATCHER_LIST if shape.is_list else SpecKind.OPAQUE for shape in Shape
    }


def test_a_matcher_that_is_used_twice_in_the_generic_form() -> None:
    spec = load(generated("a", Shape.DEFAULT, 1, 2))[0]
    text = str(spec.module.get_asm(print_generic_op_form=True))
    assert len(load_spec(text.encode()).entries) == 2
    repeated = text.replace("[@m0, @m1]", "[@m0, @m0]")
    with pytest.raises(SpecError, match="matcher '@m0' is used more than once"):
        load_spec(repeated.encode())
    commented = "".join(f"// {line}\n" for line in repeated.splitlines())
    assert len(load_spec((commented + text).encode()).entries) == 2


def test_chains_have_the_entries_that_are_compared() -> None:
    """Those of guarded chains have guards, which `check` does not read."""
    specs = load(generated("a", Shape.TWO_LOOPS, 1, 2), generated("b", Shape.DEFAULT, 3))
    guarded, plain = link_specs(specs).spec, link_specs(specs[:1]).spec
    assert not guarded.entries
    assert not EntryConditions(guarded).lists
    assert len(plain.entries) == 2
    assert [entries.start for entries in EntryConditions(plain).lists] == [0, 1]


@pytest.mark.parametrize("comment", [False, True])
def test_a_matcher_that_is_used_twice_is_an_error_at_its_place(*, comment: bool) -> None:
    """The compiler crashes on it in a process that quotes operations in diagnostics, as this one does."""
    text = generated("a", Shape.DEFAULT, 1).text()
    action = re.search("@m0 -> (@[a-z0-9]+)", text)
    assert action
    again = f"\n// {action[0]}\n" if comment else f", {action[0]}"
    text = text.replace(action[0], action[0] + again)
    if comment:
        assert len(load_spec(text.encode()).entries) == 1
        return
    with pytest.raises(SpecError, match="matcher '@m0' is used more than once") as raised:
        load_spec(text.encode())
    place = raised.value.diagnostics[0].place
    assert place
    assert text.splitlines()[place.line - 1][: place.column - 1].endswith(f"{action[0]}, ")


@pytest.mark.parametrize("name", ["a::b", "a b", '"quoted"'])
def test_a_chain_is_read_as_one_whatever_its_entry_points_are_called(name: str) -> None:
    quoted = '@"' + name.replace('"', '\\"') + '"'
    text = generated("a", Shape.TWO_ENTRY_POINTS, 1, 2).text()
    specs = [load_spec(each.encode()) for each in (text, text.replace("@main_1", quoted))]
    linked = link_specs(specs).spec
    assert [member.name for member in split(linked)] == ["a", "a_0"]
    assert name in [point.name for point in linked.anatomy.entry_points]
    again = link_specs([linked]).spec
    assert [point.name for point in again.anatomy.entry_points] == [
        point.name for point in linked.anatomy.entry_points
    ]


USERS = {
    "an include": """%r = transform.include @main failures(propagate) (%v)
          : (!transform.any_op) -> !transform.any_op""",
    "a list": """%r, %s = transform.foreach_match in %v @m0 -> @main
          : (!transform.any_op) -> (!transform.any_op, !transform.any_op)""",
}


@pytest.mark.parametrize("user", USERS.values(), ids=USERS)
@pytest.mark.parametrize("is_chain", [False, True])
@pytest.mark.parametrize("shape", [Shape.UNMARKED_LIST, Shape.TWO_LOOPS, Shape.TWO_ENTRY_POINTS])
def test_an_entry_point_that_a_sequence_uses(user: str, shape: Shape, *, is_chain: bool) -> None:
    """Its user keeps what it uses, although nothing runs the user."""
    one, two, other = load(
        generated("a", shape, 1, 2),
        generated("b", Shape.TWO_LOOPS, None),
        generated("c", Shape.DEFAULT, 3),
    )
    text = (link_specs([one, two]).spec if is_chain else one).text()
    used = f"""transform.named_sequence @user(%v: !transform.any_op {{transform.consumed}}) {{
      {user}
      transform.yield
    }}
    }}"""
    spec = load_spec((text.rstrip().removesuffix("}") + used).encode())
    assert spec.kind is SpecKind.OPAQUE
    for inputs in ([spec], [spec, other], [other, spec]):
        linked = link_specs(inputs).spec
        assert linked.module.verify()
        again = link_specs([linked]).spec
        assert again.module.verify()
        assert len(split(again)) == len(split(linked)) == len(inputs) + is_chain


def test_what_the_compiler_nests_is_read_as_a_chain() -> None:
    """Its later entry points override earlier ones, as those of one spec."""
    specs = [generated("a", Shape.TWO_LOOPS, 1, 2), generated("b", Shape.RESTRICTED, 3, 4)]
    nested = load_spec(linked_by_iree(specs).encode())
    assert not collect(nested.module, names.MODULE)[1:]
    assert nested.anatomy.driver
    assert len(nested.entries) == 4
    assert [len(member.entries) for member in split(nested)] == [4]
    linked = link_specs([nested, *load(generated("c", Shape.DEFAULT, 5))]).spec
    assert [member.name for member in split(linked)] == ["iree_linked_tuning_spec", "c"]


def test_what_the_compiler_nests_keeps_its_bindings() -> None:
    specs = [generated("a", Shape.TWO_LOOPS, 1, 2), generated("b", Shape.RESTRICTED, 3, 4)]
    text = linked_by_iree(specs)
    bound = 'module @a attributes {tuninglink.targets = ["gfx942"], transform.with_named_sequence}'
    assert text.count("module @a attributes {transform.with_named_sequence}") == 1
    nested = load_spec(
        text.replace("module @a attributes {transform.with_named_sequence}", bound).encode()
    )
    first, second = split(nested)
    assert [entry_binding(entry, first.anatomy) for entry in first.entries] == [("gfx942",)] * 2
    assert [entry_binding(entry, second.anatomy) for entry in second.entries] == [None] * 2


def test_quoted_symbols() -> None:
    text = generated("a", Shape.DEFAULT, 1).text().replace("@m0", '@"match this"')
    linked = link_specs([load_spec(text.encode()), load_spec(text.encode())]).spec
    assert [entry.matcher for entry in linked.entries] == ["match this", "match this_0"]
    assert names.DEFAULT_ENTRY_POINT in linked.module.attributes


def test_references_follow_in_sequences_of_the_same_shape() -> None:
    """The first matcher refers to nothing; the others differ from it only in constants and declarations of arguments."""
    matchers = "\n".join(
        f"""transform.named_sequence @{name}(%op: !transform.any_op {{transform.readonly{further}}})
            -> (!transform.any_op, !transform.any_param) {{
          transform.match.operation_name %op ["linalg.fill"] : !transform.any_op
          %value = transform.param.constant {value} -> !transform.any_param
          transform.yield %op, %value : !transform.any_op, !transform.any_param
        }}"""
        for name, further, value in (
            ("plain", "", "1 : i64"),
            ("own", "", "@own"),
            ("nested", "", "{refers = [@plain, @set]}"),
            ("argument", ", test.refers = @set", "1 : i64"),
        )
    )
    text = f"""module @spec attributes {{transform.with_named_sequence}} {{
      {matchers}
      transform.named_sequence @set(%op: !transform.any_op {{transform.readonly}},
                                    %value: !transform.any_param {{transform.readonly}}) {{
        transform.annotate %op "test.value" = %value : !transform.any_op, !transform.any_param
        transform.yield
      }}
      transform.named_sequence @__kernel_config(%root: !transform.any_op {{transform.consumed}})
          -> !transform.any_op attributes {{iree_codegen.tuning_spec_entrypoint}} {{
        %done = transform.foreach_match in %root @plain -> @set, @own -> @set, @nested -> @set, @argument -> @set
          : (!transform.any_op) -> !transform.any_op
        transform.yield %done : !transform.any_op
      }}
    }}"""
    linked = link_specs([load_spec(text.encode()), load_spec(text.encode())])
    assert linked.form is LinkForm.FLAT
    lines = linked.spec.text().splitlines()
    referring = [line.strip() for line in lines if "constant" in line or "test.refers" in line]
    first, second = referring[:5], referring[5:]
    assert "@own" in first[1]
    assert "[@plain, @set]" in first[2]
    assert "test.refers = @set" in first[3]
    assert second == [re.sub(r"@(\w+)", r"@\1_0", line) for line in first]


def test_the_work_grows_as_the_input_does() -> None:
    """Twice the entries, every name of which clashes, take twice the steps, not four times as many."""

    def steps(entries: int) -> int:
        spec = generated(None, Shape.DEFAULT, *range(1, entries + 1), helper="helper")
        specs = load(spec, spec)
        return count_calls(lambda: link_specs(specs))

    assert steps(400) < 2.2 * steps(200)


def nested_chain(names_of_specs: Sequence[str]) -> str:
    """Return specs as the compiler nests them."""
    specs = [generated(name, Shape.TWO_LOOPS, 1, 2).text() for name in names_of_specs]
    nested = "\n".join(
        text.replace("@main", f"@main_{name}")
        for name, text in zip(names_of_specs, specs, strict=True)
    )
    includes = "\n".join(
        f"""%{number + 1} = transform.include @{name}::@main_{name} failures(suppress) (%{number})
              : (!transform.any_op) -> !transform.any_op"""
        for number, name in enumerate(names_of_specs)
    )
    return f"""module attributes {{transform.with_named_sequence}} {{
      {nested}
      transform.named_sequence @__kernel_config(%0: !transform.any_op {{transform.consumed}})
          -> !transform.any_op attributes {{iree_codegen.tuning_spec_entrypoint}} {{
        {includes}
        transform.yield %{len(specs)} : !transform.any_op
      }}
    }}"""


def test_the_work_for_chains_grows_as_they_do() -> None:
    """Reading twice the nested specs and linking twice the members of a chain take twice the steps."""

    def steps(count: int) -> tuple[int, int]:
        text = nested_chain([f"s{number}" for number in range(count)]).encode()
        loading = count_calls(lambda: load_spec(text))
        (other,) = load(generated("other", Shape.TWO_LOOPS, 3))
        chain = load_spec(text)
        assert len(chain.anatomy.entry_points) == count
        return loading, count_calls(lambda: link_specs([chain, other]))

    few, many = steps(16), steps(32)
    assert many[0] < 2.2 * few[0]
    assert many[1] < 2.2 * few[1]


def test_a_chain_keeps_no_sequences_of_which_only_copies_are_used() -> None:
    """Guards copy the action, since a list and an include use it differently, and then what it includes."""
    text = """module @spec attributes {transform.with_named_sequence} {
      transform.named_sequence @set(%op: !transform.any_op {transform.readonly}) {
        %value = transform.param.constant 1 : i64 -> !transform.any_param
        transform.annotate %op "test.value" = %value : !transform.any_op, !transform.any_param
        transform.print %op : !transform.any_op
        transform.yield
      }
      transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> !transform.any_op {
        transform.match.operation_name %op ["linalg.fill"] : !transform.any_op
        transform.yield %op : !transform.any_op
      }
      transform.named_sequence @act(%op: !transform.any_op {transform.readonly}) {
        transform.include @set failures(propagate) (%op) : (!transform.any_op) -> ()
        transform.yield
      }
      transform.named_sequence @main(%root: !transform.any_op {transform.consumed}) -> !transform.any_op
          attributes {iree_codegen.tuning_spec_entrypoint} {
        %ops = transform.structured.match ops{["linalg.copy"]} in %root : (!transform.any_op) -> !transform.any_op
        transform.include @act failures(suppress) (%ops) : (!transform.any_op) -> ()
        %done = transform.foreach_match in %root @match -> @act : (!transform.any_op) -> !transform.any_op
        transform.yield %done : !transform.any_op
      }
    }"""
    linked = link_specs([load_spec(text.encode()), load_spec(text.encode())]).spec
    defined = set(symbols(linked.module))
    used = {path[0] for path in references_in(linked.module)}
    assert defined - used == {names.KERNEL_CONFIG}
