"""Textual pipelines and their trees."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from tuninglink.errors import PipelineError, Place
from tuninglink.opt import Element, OpPipeline, leaves, parse_pipeline


def _bare(node: Element | OpPipeline) -> object:
    if isinstance(node, OpPipeline):
        return (node.anchor, [_bare(child) for child in node.children])
    return f"{node.name}|{node.options}" if node.options else node.name


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("builtin.module()", ("builtin.module", [])),
        (" builtin.module( a , b ) ", ("builtin.module", ["a", "b"])),
        ("any(a,\n  f.g(b,c),\n  d)", ("any", ["a", ("f.g", ["b", "c"]), "d"])),
        ("a(b(c(d)))", ("a", [("b", [("c", ["d"])])])),
        ("m(a{x=1 y=2},b)", ("m", ["a|x=1 y=2", "b"])),
        ("m(a{})", ("m", ["a"])),
        ("m(a {x=1} , b)", ("m", ["a|x=1", "b"])),
        ("m(a{x={1,2} y={p(q{r=1})}})", ("m", ["a|x={1,2} y={p(q{r=1})}"])),
        ("m(a{x='}'},b)", ("m", ["a|x='}'", "b"])),
        ('m(a{x="(,)"},b)', ("m", ['a|x="(,)"', "b"])),
        ("m(a{x=don't},b{y='z'})", ("m", ["a|x=don't", "b|y='z'"])),
        ("m(a,n())", ("m", ["a", ("n", [])])),
    ],
)
def test_reads(text: str, expected: object) -> None:
    assert _bare(parse_pipeline(text)) == expected


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("", 1, "expected pass pipeline to be wrapped with the anchor operation type"),
        ("cse", 1, "expected pass pipeline to be wrapped with the anchor operation type"),
        ("a(),b()", 1, "expected pass pipeline to be wrapped with the anchor operation type"),
        ("m(a", 2, "expected ')' to close this nested pipeline"),
        ("m(a(b)", 2, "expected ')' to close this nested pipeline"),
        ("m(a))", 5, "encountered extra closing ')' creating unbalanced parentheses"),
        ("m(a{x=1)", 3, "missing closing '}' while processing pass options"),
        ("m(a{x=1}b)", 9, "expected ',' after parsing pipeline"),
        ("m(a(b)c)", 7, "expected ',' after parsing pipeline"),
        ("m(a,)", 5, "expected the name of a pass or of an operation"),
        ("m(a, ,b)", 6, "expected the name of a pass or of an operation"),
        ("m(,b)", 3, "expected the name of a pass or of an operation"),
        ("m((a))", 3, "expected the name of an operation before '('"),
        ("m({a=1})", 3, "expected the name of a pass before its options"),
    ],
)
def test_refuses(text: str, column: int, message: str) -> None:
    with pytest.raises(PipelineError) as caught:
        parse_pipeline(text)
    diagnostic = caught.value.diagnostics[0]
    assert diagnostic.message.startswith(message)
    assert diagnostic.place == Place("<pass-pipeline>", 1, column)


def test_places_elements_in_their_lines() -> None:
    places = [leaf.place for leaf in leaves(parse_pipeline("m(\n  a,\n  n(bb, c))"))]
    assert places == [
        Place("<pass-pipeline>", 2, 3),
        Place("<pass-pipeline>", 3, 5),
        Place("<pass-pipeline>", 3, 9),
    ]


names = st.from_regex(r"[a-z][a-z.-]{0,5}", fullmatch=True)
elements = st.builds(
    Element, names, st.from_regex(r"|[a-z]+=[0-9]+( [a-z]+=\{[a-z,]*\})?", fullmatch=True)
)
trees = st.recursive(
    elements, lambda inner: st.builds(OpPipeline, names, st.lists(inner, max_size=3).map(tuple))
)


@given(st.builds(OpPipeline, names, st.lists(trees, max_size=4).map(tuple)))
def test_reads_what_it_prints(tree: OpPipeline) -> None:
    assert _bare(parse_pipeline(str(tree))) == _bare(tree)
