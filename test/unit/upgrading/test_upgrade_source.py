"""Lossless tokenization of any text in linear time."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given, settings, strategies as st

from tuninglink.errors import SpecError
from tuninglink.upgrading import MAX_DEPTH, SpecText, parse, upgrade

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from _typeshed import TraceFunction

PIECES = st.sampled_from(
    [
        "<", ">", "(", ")", "[", "]", "{", "}", '"', "\\", "//", "\n", " ", ",", "=", "->", ">=", "<=",
        ":", "::", "@", "#", "!", "%", "^", "é", "\t", "0", "-1", "1.5e3", "0x1F", "a", "-#}", "{-#",
        "#alias", "#alias = ", "!t", "%v", "%v#1", "@s", '@"quoted s"', "^bb0", "module", "attributes ",
        "#iree_gpu.lowering_config<", "#iree_codegen.compilation_info<", "lowering_config = ",
        "#iree_codegen.translation_info<", "translation_info = ", "pipeline = ", "LLVMGPUTileAndFuse",
        "LLVMGPUVectorDistribute", "mma_schedule = ", "#iree_gpu.mma_schedule<", "subgroup_m_count = 2",
        "transform.named_sequence ", "transform.foreach_match ", "transform.yield", "in ", "tile_sizes = ",
        "transform.include ", "transform.iree.match.cast_compatible_dag_from_root ", "linalg.matmul",
        "linalg.matmul_transpose_b ", "affine_map<(d0) -> (d0)>", "qk_attrs = ", "transform.print ",
        "transform.param.constant ", "@__kernel_config", "!transform.any_op",
    ]
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=60).map("".join) | st.text(max_size=40)


@given(TEXTS)
@settings(max_examples=300)
@example("#a = #iree_gpu.lowering_config<>")
@example('module attributes {a = "\\"", b = affine_set<(d0) : (d0 >= 0, d0 - 1 >= 0)>} {}')
def test_broken_text_is_a_diagnostic_with_its_place(text: str) -> None:
    try:
        upgraded = upgrade(text, "spec")
    except SpecError as failure:
        place = failure.diagnostics[0].place
        assert place is not None
        lines = text.split("\n")
        assert 1 <= place.line <= len(lines) + 1
        assert place.column >= 1
    else:
        assert upgrade(upgraded.text, "spec").text == upgraded.text


@given(TEXTS)
@settings(max_examples=300)
def test_trees_print_what_was_read(text: str) -> None:
    try:
        source = SpecText(text)
    except SpecError:
        return
    for opener, closer in source.closers.items():
        assert parse(source, opener, closer + 1).render() == text[opener : closer + 1]


@given(st.binary(max_size=60))
def test_bytes_are_text_or_a_diagnostic(data: bytes) -> None:
    with pytest.raises(SpecError) as failure:
        upgrade(b"\n" + data + b"(", "spec")
    assert failure.value.diagnostics[0].place is not None


@pytest.mark.parametrize(
    ("text", "message", "line", "column"),
    [
        ("module {\n  foo(\n", "'(' is never closed; the spec may be cut off", 2, 6),
        ("module {\n é)", "expected '}' before ')'", 2, 4),
        ("\n}", "unmatched '}'", 2, 1),
        ('module {\n  a = "b\n}', "the string that begins here is not closed on its line", 2, 7),
        ("[" * 1000, f"brackets are nested deeper than {MAX_DEPTH} levels", 1, MAX_DEPTH + 1),
    ],
)
def test_structure_is_checked_first(text: str, message: str, line: int, column: int) -> None:
    with pytest.raises(SpecError) as failure:
        upgrade(text, "spec")
    diagnostic = failure.value.diagnostics[0]
    assert diagnostic.message == message
    assert diagnostic.place is not None
    assert (diagnostic.place.line, diagnostic.place.column) == (line, column)


def test_parser_errors_have_places_in_the_original() -> None:
    option = "#iree_gpu.pipeline_options<prefetch_shared_memory = true>"
    text = f"module attributes {{iree_codegen.option = {option}}} {{ unheard.named_sequence }}"
    with pytest.raises(SpecError) as failure:
        upgrade(text, "spec")
    place = failure.value.diagnostics[0].place
    assert place is not None
    assert (place.line, place.column) == (1, text.index("unheard") + 1)


def test_arrows_strings_and_comments_hold_no_brackets() -> None:
    text = 'f<(a) -> (b)> "<({[" // )]}>\ng<a -> b, x>'
    source = SpecText(text)
    assert sorted(source.closers) == [text.index("<"), 2, text.index("(b"), text.index("g<") + 1]


@pytest.mark.parametrize(
    "piece",
    [
        "#iree_gpu.pipeline_options<prefetch_shared_memory = true>, ",
        '"' + "x" * 40 + '", ',
        "[[[[]]]], ",
        "@a -> @b, ",
        "transform.foreach_match in %v ",
        "transform.named_sequence ",
        "transform.include @a ",
        "<(",
        "// ",
        "#a = #a ",
        "linalg.matmul ",
        "transform.iree.match.cast_compatible_dag_from_root %op ",
    ],
)
def test_the_work_grows_as_the_text_does_even_on_one_line(piece: str) -> None:
    def steps(size: int) -> int:
        text = "module {" + piece * (size // len(piece)) + "}"
        return _lines_executed(lambda: (SpecText(text).sequences, upgrade(text)))

    steps(1_000)  # what is computed once and kept is not of the text
    assert steps(40_000) < 4.4 * steps(10_000) + 1_000


def _lines_executed(action: Callable[[], object]) -> int:
    """Count the lines of Python that an action executes, until it returns or raises."""
    count = 0

    def trace(_frame: FrameType, event: str, _argument: object) -> TraceFunction:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        action()
    except SpecError:
        pass
    finally:
        sys.settrace(before)
    return count


def test_a_sequence_in_a_sequence_is_part_of_it() -> None:
    inner = "transform.named_sequence @inner(%a: !t) { transform.iree.gone }"
    text = f"module {{ transform.named_sequence @outer(%a: !t) {{ {inner} transform.iree.gone }} }}"
    assert [sequence.name for sequence in SpecText(text).sequences] == ["outer"]
    assert [part.what for part in upgrade(text).kept_out] == ["@outer"]


def test_aliases_do_not_explode() -> None:
    definitions = ["#a0 = #iree_gpu.lowering_config<{workgroup = [1]}>"]
    definitions += [
        f"#a{index} = #iree_codegen.compilation_info<lowering_config = #a{index - 1}, "
        f"lowering_config = #a{index - 1}, lowering_config = #a{index - 1}>"
        for index in range(1, 40)
    ]
    with pytest.raises(SpecError):
        upgrade("\n".join([*definitions, "module {}"]))
