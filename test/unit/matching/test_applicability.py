"""Selection of the entries for the dispatches of a target, in every form of linking."""

from __future__ import annotations

import pytest
from elementwise_specs import PROGRAM, spec
from hypothesis import given, strategies as st
from iree.compiler import ir as mlir
from programs import EXAMPLES

import tuninglink
from tuninglink.errors import SpecError
from tuninglink.iree import Target, known_target_names
from tuninglink.matching import find_unreachable, link_dispatches
from tuninglink.mlir import names, parse_module, thread_context
from tuninglink.specs import (
    BINDING,
    Binding,
    LinkForm,
    Spec,
    covers,
    library_files,
    link_specs,
    load_spec,
    narrow,
    scopes_of,
    spec_attribute,
)

FLAGS = (
    "--iree-hal-target-backends=vmvx",
    "--iree-hal-target-backends=llvm-cpu",
    "--iree-llvmcpu-target-triple=x86_64-linux-gnu",
    "--iree-llvmcpu-target-cpu=generic",
)
"""One program for two targets, in each of which the one operation would match either spec."""

BACKENDS = {"vmvx": "vmvx", "x86_64": "llvm-cpu"}
"""The two targets, and the backends of their specs."""


def specs(*, bound: bool, opaque: bool = False) -> list[Spec]:
    """Return a spec for each of the two targets."""
    found = []
    for target, backend in BACKENDS.items():
        text = spec(backend, backend.replace("-", "_"))
        if opaque:
            text = text.replace(", iree_codegen.tuning_spec_with_default_entrypoint", "")
            constant = "%x = transform.param.constant 1 : i64 -> !transform.any_param"
            text = text.replace(
                "%updated = transform.foreach", f"{constant}\n%updated = transform.foreach"
            )
        found.append(load_spec(text.encode(), name=target, targets=[target] if bound else []))
    return found


def applied(given: list[Spec], *, prune: bool = True) -> set[str]:
    """Return the configurations that were applied, by the target that they are applied to."""
    result = tuninglink.compile(
        PROGRAM.encode(),
        specs=given,
        default_specs=False,
        prune=prune,
        flags=[*FLAGS, "--compile-to=executable-configurations"],
    )
    configured = result.output.decode()
    assert "lowering_config<distribution = [8], vector_common_parallel = [4]>" in configured
    assert "lowering_config<distribution = [8]>" in configured
    return {str(each.target) for each in result.applied}


@pytest.mark.parametrize("bound", [True, False])
@pytest.mark.parametrize("opaque", [True, False])
@pytest.mark.parametrize("prune", [True, False])
def test_each_spec_reaches_its_target(bound: bool, opaque: bool, prune: bool) -> None:  # noqa: FBT001
    given = specs(bound=bound, opaque=opaque)
    assert applied(given, prune=prune) == set(BACKENDS)


@pytest.mark.parametrize("bound", [True, False])
@pytest.mark.parametrize("opaque", [True, False])
def test_so_it_does_once_it_is_linked(bound: bool, opaque: bool) -> None:  # noqa: FBT001
    linked = link_specs(specs(bound=bound, opaque=opaque))
    assert linked.form is (LinkForm.CHAINED if opaque else LinkForm.FLAT)
    assert applied([linked.spec]) == set(BACKENDS)
    other = load_spec(spec("llvm-cpu", "other", "linalg.pack").encode(), name="other")
    assert applied([linked.spec, other]) == set(BACKENDS)
    again = link_specs([linked.spec, other])
    assert applied([again.spec]) == set(BACKENDS)


def test_what_is_carried_is_replaced_where_it_does_not_apply() -> None:
    sources = tuninglink.compile(
        PROGRAM.encode(), default_specs=False, flags=[*FLAGS, "--compile-to=executable-sources"]
    )
    program = parse_module(sources.output, "sources.mlir", thread_context())
    (vmvx, _) = specs(bound=True)
    program.attributes[names.EMBEDDED_SPEC] = spec_attribute(vmvx.bytecode(), thread_context())
    linked = {
        str(each.dispatch.target): each.linked
        for each in link_dispatches(program, [], library=None)
    }
    assert linked["vmvx"] is None  # It keeps what it carries.
    replaced = linked["x86_64"]
    assert replaced is not None
    assert replaced.spec.entries == ()


@pytest.mark.parametrize("bound", [True, False])
def test_an_entry_for_another_target_covers_nothing(bound: bool) -> None:  # noqa: FBT001
    assert not list(find_unreachable(link_specs(specs(bound=bound)).spec))
    (vmvx, _) = specs(bound=bound)
    assert list(find_unreachable(link_specs([vmvx, vmvx]).spec))


def test_a_binding_says_what_all_entries_are_for() -> None:
    (file,) = library_files("models-h200")
    spec = load_spec(file.content, name=file.name)
    # Some have an intrinsic of one vendor, and some configurations would do for several.
    assert len(set(scopes_of(spec, range(len(spec.entries))))) == 1


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("MFMA_F32_16x16x32_F16", "MFMA_F32_16x16x16_F16"),
        ("WMMAR3_F32_16x16x16_F16", "WMMAR4_F32_16x16x16_F16"),
        ("MFMA_F32_16x16x32_F8E4M3FNUZ", "MFMA_F32_16x16x32_F8E4M3FN"),
    ],
)
def test_an_entry_for_another_generation_covers_nothing(first: str, second: str) -> None:
    text = (EXAMPLES / "spec_gfx942.mlir").read_text()
    both = [
        load_spec(text.replace("MFMA_F32_16x16x16_F16", each).encode(), name=each)
        for each in (first, second)
    ]
    assert not list(find_unreachable(link_specs(both).spec))
    assert list(find_unreachable(link_specs([both[1], both[1]]).spec))


def test_a_malformed_binding_is_an_error_at_its_place() -> None:
    text = spec("vmvx", "mine").replace(
        "{\n  transform.with", f'{{ {BINDING} = "vmvx",\n  transform.with'
    )
    with pytest.raises(SpecError, match="must be an array of strings"):
        tuninglink.compile(
            PROGRAM.encode(), specs=[load_spec(text.encode())], default_specs=False, flags=FLAGS[:1]
        )


SOME = st.sampled_from(["mi300x", "gfx942", "cdna3", "gfx950", "a100", "sm_80", "ampere", "znver4"])
BINDINGS = st.one_of(st.none(), st.lists(SOME, min_size=1, max_size=3).map(tuple))


@given(BINDINGS, BINDINGS, st.sampled_from(sorted(known_target_names())))
def test_a_narrowed_binding_covers_what_both_cover(one: Binding, other: Binding, name: str) -> None:
    target = Target.parse(name)
    both = covers(one, target) and covers(other, target)
    assert covers(narrow(one, other), target) == both


def test_code_for_nobody_gets_what_is_not_bound() -> None:
    assert covers(None, None)
    assert not covers(("vmvx",), None)


def test_a_binding_survives_text_and_bytecode() -> None:
    (vmvx, _) = specs(bound=True)
    for content in (vmvx.text().encode(), vmvx.bytecode()):
        attribute = load_spec(content).module.attributes[BINDING]
        assert isinstance(attribute, mlir.ArrayAttr)
        assert [each.value for each in attribute if isinstance(each, mlir.StringAttr)] == ["vmvx"]
