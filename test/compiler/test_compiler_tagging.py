"""A tagged spec configures the same as the spec, and its tags name the entries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from elementwise_specs import spec
from generated_specs import payloads, spec_lists
from hypothesis import given, settings, strategies as st
from interpreter import apply_spec, numbered_attributes

from tuninglink.compiler import TAG, TaggedSpec
from tuninglink.mlir import names
from tuninglink.specs import LinkForm, link_specs, load_spec, settings_of

if TYPE_CHECKING:
    from generated_specs import GeneratedSpec


@settings(max_examples=50)
@given(generated=spec_lists(reaches=True, can_fail=True), payload=payloads(), exact=st.booleans())
def test_tags_tell_who_configured_what(
    generated: list[GeneratedSpec], payload: str, *, exact: bool
) -> None:
    specs = [load_spec(each.text().encode(), name=str(n)) for n, each in enumerate(generated)]
    linked = link_specs(specs)
    tagged = TaggedSpec(linked, exact=exact)
    module = apply_spec(load_spec(tagged.content), payload)

    configured = numbered_attributes(module, names.LOWERING_CONFIG)
    plain = apply_spec(linked.spec, payload)
    assert configured == numbered_attributes(plain, names.LOWERING_CONFIG)
    tags = numbered_attributes(module, TAG)
    assert tags.keys() == configured.keys()
    for number, value in configured.items():
        origin = tagged.origins[int(tags[number].partition(" ")[0])]
        assert origin.spec is linked.parts[origin.position].spec
        given_by = generated[origin.position]
        assert value in [_configuration(each.value) for each in given_by.entries]
        if origin.entry is not None:
            entry = given_by.entries[origin.spec.entries.index(origin.entry)]
            assert value == _configuration(entry.value)
            known = settings_of(origin.spec, origin.entry)
            if known is not None:
                assert str(known[names.LOWERING_CONFIG]) == value
        else:
            assert linked.form is not LinkForm.FLAT or not exact


def _configuration(value: int | None) -> str:
    return f"#iree_codegen.lowering_config<tile_sizes = [[{value}]]>"


def test_the_spec_itself_is_left_alone() -> None:
    mine = load_spec(spec("vmvx", "mine").encode())
    before = mine.text()
    TaggedSpec(link_specs([mine]), exact=True)
    assert mine.text() == before
