"""Options of passes, in MLIR's syntax."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import pytest
from hypothesis import given, strategies as st

from tuninglink.errors import PipelineError
from tuninglink.mlir import Pass, option
from tuninglink.opt import Element, make_pass, options_of, parse_pipeline, print_pass


@dataclass(frozen=True)
class Everything(Pass):
    """A pass with an option of each type."""

    name: ClassVar[str] = "everything"

    flag: bool = option(default=False, help="a flag")
    count: int = option(1, "a number")
    ratio: float = option(0.5, "a ratio")
    text: str = option("", "some text")
    some_words: tuple[str, ...] = option((), "words")
    numbers: tuple[int, ...] = option((), "numbers")
    color: Literal["red", "green"] = option("red", "a color")
    result_name: str = option("", "a name", name="name")

    def apply(self, operation: Any, diagnostics: Any) -> None:
        pass


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", Everything()),
        ("flag", Everything(flag=True)),
        ("flag=", Everything(flag=True)),
        ("flag=false count=3", Everything(count=3)),
        ("count=-1  ratio=1e3", Everything(count=-1, ratio=1000.0)),
        ("count=0x10", Everything(count=16)),
        ("text=a", Everything(text="a")),
        ("text='a b' flag", Everything(text="a b", flag=True)),
        ('text="it\'s {here}, there" flag', Everything(text="it's {here}, there", flag=True)),
        ("text=don't flag", Everything(text="don't", flag=True)),
        ("text=a=b", Everything(text="a=b")),
        ("text=", Everything()),
        ("text={a b}", Everything(text="a b")),
        ("count='7'", Everything(count=7)),
        ("some-words=a,b", Everything(some_words=("a", "b"))),
        ("some-words={a,b} count=2", Everything(some_words=("a", "b"), count=2)),
        ("some-words={'a, b',\"c d\", e}", Everything(some_words=("a, b", "c d", "e"))),
        ("some-words=a some-words=b", Everything(some_words=("a", "b"))),
        ("some-words={}", Everything()),
        ("some-words=", Everything()),
        ("numbers=1,-2,3", Everything(numbers=(1, -2, 3))),
        ("color=green", Everything(color="green")),
        ("name=x", Everything(result_name="x")),
        ("count=1 count=2", Everything(count=2)),
        ("\n  flag\n  count=2\n", Everything(flag=True, count=2)),
    ],
)
def test_reads(text: str, expected: Everything) -> None:
    assert make_pass(Everything, text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cuont=3", "'everything' has no option 'cuont'; did you mean 'count'?"),
        ("result-name=x", "'everything' has no option 'result-name'"),
        ("count=many", "invalid value 'many' for option 'count' of 'everything': expected an integer"),
        ("count", "invalid value '' for option 'count' of 'everything': expected an integer"),
        ("ratio=x", "invalid value 'x' for option 'ratio' of 'everything': expected a number"),
        ("flag=maybe", "invalid value 'maybe' for option 'flag' of 'everything': expected true or false"),
        ("numbers=1,b", "invalid value '1,b' for option 'numbers' of 'everything': expected an integer"),
        ("color=blue", "invalid value 'blue' for option 'color' of 'everything': expected one of red, green"),
        ("=3", "'everything' has no option ''"),
    ],
)  # fmt: skip
def test_refuses(text: str, message: str) -> None:
    with pytest.raises(PipelineError) as caught:
        make_pass(Everything, text)
    assert caught.value.diagnostics[0].message == message


def test_names_all_options_of_a_pass_without_the_one_asked_for() -> None:
    with pytest.raises(PipelineError) as caught:
        make_pass(Everything, "nothing-like-it")
    (note,) = caught.value.diagnostics[0].notes
    assert note.message == (
        "its options are: flag, count, ratio, text, some-words, numbers, color, name"
    )


words = st.text(
    st.characters(codec="utf-8", exclude_characters="'\"{}[]()", exclude_categories=["C", "Z"])
    | st.just(" "),
    max_size=8,
)


@given(
    st.builds(
        Everything,
        flag=st.booleans(),
        count=st.integers(),
        ratio=st.floats(allow_nan=False),
        text=words,
        some_words=st.lists(words, max_size=3).map(tuple),
        numbers=st.lists(st.integers(), max_size=3).map(tuple),
        color=st.sampled_from(["red", "green"]),
        result_name=words,
    )
)
def test_printed_options_parse_to_the_same_pass(pass_: Everything) -> None:
    root = parse_pipeline(f"any({print_pass(pass_)})")
    (element,) = root.children
    assert isinstance(element, Element)
    assert element.name == "everything"
    assert make_pass(Everything, element.options) == pass_


def test_shows_the_values_of_options() -> None:
    shown = {option.name: option.value_name for option in options_of(Everything)}
    assert shown == {
        "flag": "<bool>",
        "count": "<int>",
        "ratio": "<float>",
        "text": "<string>",
        "some-words": "<string>,...",
        "numbers": "<int>,...",
        "color": "red|green",
        "name": "<string>",
    }
