"""Derived entries: one entry applies to every form of its problem, on three targets, and to no other problem."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from problem_forms import (
    BATCH_KN,
    BATCH_NK,
    KN,
    NK,
    REORDERED,
    SCALE_F32,
    SCALE_OF_ELEMENT,
    TARGETS,
    FormTarget,
    attention,
    attention_entry,
    convolution,
    convolution_entry,
    linear,
    linear_entry,
    spec,
)

import tuninglink

if TYPE_CHECKING:
    from pathlib import Path

    from tuninglink.compiler import Compilation

CONFIGURED = "--compile-to=executable-configurations"
TRANSLATED = "--compile-to=executable-targets"
"""Where LLVM's passes begin."""


def program(element: str) -> bytes:
    """Return every form of a linear layer and of an attention."""
    return "".join(
        (
            linear("nk", NK, element),
            linear("kn", KN, element),
            linear("batch_nk", BATCH_NK, element),
            linear("batch_kn", BATCH_KN, element),
            linear("reordered", REORDERED, element),
            attention("scale_f32", SCALE_F32, element),
            attention("scale_of_element", SCALE_OF_ELEMENT, element),
        )
    ).encode()


def whole_spec(target: FormTarget) -> bytes:
    return spec(linear_entry("nk", NK, target), attention_entry("attention", target))


def compiled(source: bytes, content: bytes, target: FormTarget, *flags: str) -> Compilation:
    return tuninglink.compile(
        source, specs=[content], default_specs=False, flags=[*target.flags, *flags]
    )


def derivations(result: Compilation) -> dict[str, tuple[str | None, str]]:
    """Return, by the function that a dispatch comes from, the entry that configured it and its derivation."""
    return {
        each.dispatch.partition("_dispatch")[0].removeprefix("@"): (
            each.entry and each.entry.matcher,
            each.derivation,
        )
        for each in result.applied
    }


@pytest.mark.parametrize("name", TARGETS)
def test_an_entry_applies_to_every_form_and_compiles(name: str) -> None:
    target = TARGETS[name]
    result = compiled(program(target.element), whole_spec(target), target, TRANSLATED)
    assert derivations(result) == {
        "nk": ("nk", ""),
        "batch_nk": ("nk", "from @nk: unit batch added"),
        "reordered": ("nk", "from @nk: loops reordered"),
        "scale_f32": ("attention", "from @attention: loops reordered"),
        "scale_of_element": ("attention", ""),
    }
    assert all(each.is_own for each in result.applied)
    assert {each.position for each in result.applied} == {0}
    assert any("derived for other spellings" in each.message for each in result.diagnostics)


@pytest.mark.parametrize("name", TARGETS)
def test_an_entry_for_weights_with_k_rows_applies_to_its_forms_and_compiles(name: str) -> None:
    target = TARGETS[name]
    content = spec(linear_entry("kn", KN, target))
    result = compiled(program(target.element), content, target, TRANSLATED)
    assert derivations(result) == {
        "kn": ("kn", ""),
        "batch_kn": ("kn", "from @kn: unit batch added"),
    }
    assert all(each.is_own for each in result.applied)


@pytest.mark.parametrize("name", TARGETS)
def test_lists_are_written_in_the_order_of_the_new_loops(name: str) -> None:
    target = TARGETS[name]
    source = linear("batch_nk", BATCH_NK, target.element).encode()
    text = compiled(source, whole_spec(target), target, CONFIGURED).output.decode()
    assert target.tiles in text
    assert "tuninglink" not in text


@pytest.mark.parametrize("name", ["gfx942", "sm_80"])
def test_a_convolution_loses_its_batch_and_compiles(name: str) -> None:
    target = TARGETS[name]
    content = spec(convolution_entry("conv", target))
    source = convolution("image", is_batched=False).encode()
    result = compiled(source, content, target, TRANSLATED)
    assert derivations(result) == {"image": ("conv", "from @conv: unit loop removed")}
    text = compiled(source, content, target, CONFIGURED).output.decode()
    # The lists are for the loops of the matmul that it becomes, and one is for its own.
    assert "workgroup = [2, 16, 32, 0]" in text
    assert "padding_conv = [2, 16, 32, 0, 0, 0]" in text


def test_the_image_of_a_convolution_has_the_size_of_the_entry() -> None:
    target = TARGETS["gfx942"]
    content = spec(convolution_entry("conv", target, image="1x17x18x32"))
    source = convolution("image", is_batched=False).encode()
    assert derivations(compiled(source, content, target, CONFIGURED)) == {}


def test_a_configuration_that_the_backend_would_lose_is_not_derived() -> None:
    """On llvm-cpu the compiler adds a batch loop after specs, and replaces the op."""
    cpu = TARGETS["llvm-cpu"]
    content = spec(convolution_entry("conv", TARGETS["gfx942"])).decode()
    begin, end = (
        content.index("lowering_config = #iree_gpu"),
        content.index("> -> !transform.any_param"),
    )
    configuration = (
        "lowering_config = #iree_cpu.lowering_config<distribution = [1, 2, 8, 16, 0, 0, 0], "
        "vector_common_parallel = [1, 1, 4, 16, 0, 0, 0], vector_reduction = [0, 0, 0, 0, 1, 1, 8]>, "
        "translation_info = <pipeline = #iree_cpu.pipeline<ConvTileAndDecomposeExpert>>"
    )
    written = content[:begin] + configuration + content[end:]
    source = convolution("image", is_batched=False).encode()
    assert derivations(compiled(source, written.encode(), cpu, CONFIGURED)) == {}


CPU = TARGETS["llvm-cpu"]


def configured_forms(*specs: bytes, derived_entries: bool = True) -> dict[str, tuple[str, str]]:
    """Return the origin of configurations for the forms of a linear layer on llvm-cpu: spec and derivation."""
    source = linear("batch_nk", BATCH_NK, "f32") + linear("nk", NK, "f32")
    result = tuninglink.compile(
        source.encode(),
        specs=specs,
        default_specs=False,
        derived_entries=derived_entries,
        flags=[*CPU.flags, CONFIGURED],
    )
    return {
        each.dispatch.partition("_dispatch")[0].removeprefix("@"): (
            each.spec_name,
            each.derivation,
        )
        for each in result.applied
    }


def renamed(content: bytes, name: str) -> bytes:
    return content.replace(b"module @forms", b"module @" + name.encode())


NK_SPEC = spec(linear_entry("nk", NK, CPU))
BATCH_SPEC = (
    spec(linear_entry("nk", BATCH_NK, CPU))
    .replace(b"module @forms", b"module @batched")
    .replace(b"[16, 32, 0]", b"[1, 16, 32, 0]")
    .replace(b"[4, 16, 0]", b"[1, 4, 16, 0]")
    .replace(b"[0, 0, 2]", b"[0, 0, 0, 2]")
)
"""The same entry for the form with a batch of 1."""


def test_an_exact_entry_comes_first_even_in_a_later_spec() -> None:
    assert configured_forms(NK_SPEC, BATCH_SPEC) == {
        "nk": ("forms", ""),
        "batch_nk": ("batched", ""),
    }


def test_a_unit_batch_is_removed() -> None:
    assert configured_forms(BATCH_SPEC) == {
        "nk": ("batched", "from @nk: unit loop removed"),
        "batch_nk": ("batched", ""),
    }


def test_the_first_spec_is_derived_from() -> None:
    first = renamed(NK_SPEC, "first")
    assert configured_forms(first, NK_SPEC)["batch_nk"] == ("first", "from @nk: unit batch added")


def test_nothing_is_derived_where_that_is_turned_off() -> None:
    assert configured_forms(NK_SPEC, derived_entries=False) == {"nk": ("forms", "")}


def with_condition(op: str) -> bytes:
    """Return the spec with one more condition in its matcher."""
    return NK_SPEC.replace(
        b"    %configuration = transform.param",
        op.encode() + b"\n    %configuration = transform.param",
    )


@pytest.mark.parametrize(
    "condition",
    [
        """    %value = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.dim_is_multiple_of %value[0], 16 : !transform.any_value""",
        """    %value = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.dim_bounds %value[0], umin = 8, umax = 64 : !transform.any_value""",
        """    transform.match.operation_name %op ["linalg.matmul", "linalg.generic"] : !transform.any_op
    transform.iree.match.regions %op : !transform.any_op {
    ^bb0(%lhs: tensor<?x?xf32>, %rhs: tensor<?x?xf32>, %out: tensor<?x?xf32>):
      %0 = linalg.matmul indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>,
          affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>]
        ins(%lhs, %rhs : tensor<?x?xf32>, tensor<?x?xf32>) outs(%out : tensor<?x?xf32>) -> tensor<?x?xf32>
    }""",
    ],
)
def test_nothing_is_derived_from_an_entry_with_a_condition(condition: str) -> None:
    assert "batch_nk" not in configured_forms(with_condition(condition))


def behind_pass(name: str) -> bytes:
    """Return the spec with an entry point that runs a pass first, which makes it opaque."""
    return (
        renamed(NK_SPEC, "opaque")
        .replace(
            b"    %done = transform.foreach_match in %root",
            f"""    %passed = transform.apply_registered_pass "{name}" to %root
      : (!transform.any_op) -> !transform.any_op
    %done = transform.foreach_match in %passed""".encode(),
        )
        .replace(b", iree_codegen.tuning_spec_with_default_entrypoint", b"")
    )


def test_nothing_is_derived_beside_an_opaque_spec() -> None:
    assert configured_forms(behind_pass("canonicalize"), NK_SPEC) == {"nk": ("opaque", "")}


def test_a_spec_that_adds_batch_loops_can_be_derived_from() -> None:
    adding = behind_pass("iree-codegen-insert-batch-dim-for-batchless-conv")
    assert configured_forms(adding) == {
        "nk": ("opaque", ""),
        "batch_nk": ("opaque", "from @nk: unit batch added"),
    }


def test_a_written_spec_holds_the_derived_entries_of_all_dispatches(tmp_path: Path) -> None:
    source = linear("batch_nk", BATCH_NK, "f32") + linear("kn", KN, "f32")
    tuninglink.compile(
        source.encode(),
        specs=[NK_SPEC],
        default_specs=False,
        dump_specs_to=tmp_path,
        flags=[*CPU.flags, CONFIGURED],
    )
    (written,) = tmp_path.glob("*.mlir")
    assert written.read_text().count("transform.named_sequence @nk") == 2
    assert 'derived = "from @nk: unit batch added"' in written.read_text()
