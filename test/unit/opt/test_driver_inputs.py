"""Inputs: splitting, parsing and locations."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st
from iree.compiler import ir

from tuninglink.mlir import DiagnosticSink
from tuninglink.opt import SPLIT_MARKER, Chunk, parse, split_input

if TYPE_CHECKING:
    from tuninglink.errors import Diagnostic


def _split(text: str) -> list[tuple[str, int, int]]:
    chunks = split_input("f", text.encode(), SPLIT_MARKER)
    return [(chunk.text.decode(), chunk.line, chunk.column) for chunk in chunks]


@pytest.mark.parametrize(
    ("text", "chunks"),
    [
        ("a", [("a", 1, 1)]),
        ("a\n// -----\nb", [("a\n", 1, 1), ("\nb", 2, 9)]),
        ("// -----\nb", [("\nb", 1, 9)]),
        ("a\n// -----\n", [("a\n", 1, 1), ("\n", 2, 9)]),
        ("a // -----b\n// -----\nc", [("a ", 1, 1), ("b\n", 1, 11), ("\nc", 2, 9)]),
        ("a\n// ---\nb", [("a\n// ---\nb", 1, 1)]),
        ("", []),
    ],
)
def test_splits(text: str, chunks: list[tuple[str, int, int]]) -> None:
    assert _split(text) == chunks


@given(st.lists(st.text("ab\n-/ ", max_size=8), min_size=1, max_size=6))
def test_chunks_keep_their_positions(parts: list[str]) -> None:
    text = SPLIT_MARKER.join(parts)
    lines = text.split("\n")
    for chunk, line, column in _split(text):
        rest = "\n".join([lines[line - 1][column - 1 :], *lines[line:]])
        assert rest.startswith(chunk)


def test_warns_of_near_misses() -> None:
    warnings: list[Diagnostic] = []
    text = b"a\n// ----\nb\n// -----"
    (chunk,) = split_input("f", text, SPLIT_MARKER, DiagnosticSink(warnings.append))
    assert chunk.text == text
    assert [str(warning) for warning in warnings] == [
        "f:2:7: warning: near miss with file split marker",
        "f:4:7: warning: near miss with file split marker",
    ]


class Parsed:
    """The result of parsing a chunk."""

    def __init__(self, text: bytes, line: int = 1, column: int = 1, **how: bool) -> None:
        self.diagnostics: list[Diagnostic] = []
        self.context = ir.Context()
        sink = DiagnosticSink(self.diagnostics.append)
        how.setdefault("implicit_module", True)
        self.operation = parse(Chunk("f", text, line, column), self.context, sink, **how)

    def locations(self) -> list[str]:
        assert self.operation is not None
        printed: list[str] = []

        def visitor(operation: ir.Operation) -> ir.WalkResult:
            printed.append(str(operation.location))
            for region in operation.regions:
                for block in region:
                    printed.extend(str(argument.location) for argument in block.arguments)
            return ir.WalkResult.ADVANCE

        self.operation.walk(visitor, ir.WalkOrder.PRE_ORDER)
        return printed


TWO = b"func.func @f(%a: i32) { return }\nfunc.func @g() { return }"


def test_wraps_other_sources_in_a_module_and_keeps_locations() -> None:
    parsed = Parsed(TWO)
    assert parsed.operation is not None
    assert parsed.operation.name == "builtin.module"
    assert parsed.locations() == [
        'loc("f":0:0)',
        'loc("f":1:1)',
        'loc("f":1:14)',
        'loc("f":1:25)',
        'loc("f":2:1)',
        'loc("f":2:18)',
    ]


def test_counts_lines_and_columns_from_the_start_of_the_file() -> None:
    parsed = Parsed(TWO, 7, 9)
    assert parsed.locations() == [
        'loc("f":7:9)',
        'loc("f":7:9)',
        'loc("f":7:22)',
        'loc("f":7:33)',
        'loc("f":8:1)',
        'loc("f":8:18)',
    ]


def test_keeps_locations_that_the_text_gives() -> None:
    parsed = Parsed(b'module { func.func private @f() loc("elsewhere":3:4) } loc(unknown)')
    assert parsed.locations() == ["loc(unknown)", 'loc("elsewhere":3:4)']


def test_reads_bytecode_of_modules_and_of_others() -> None:
    for text, root in (
        (b"module @m {}", "builtin.module"),
        (b"func.func private @f()", "func.func"),
    ):
        parsed = Parsed(text, implicit_module=False)
        assert parsed.operation is not None
        assert parsed.operation.name == root
        buffer = io.BytesIO()
        parsed.operation.write_bytecode(buffer)
        again = Parsed(buffer.getvalue(), implicit_module=False)
        assert again.operation is not None
        assert str(again.operation) == str(parsed.operation)
        wrapped = Parsed(buffer.getvalue())
        assert wrapped.operation is not None
        assert wrapped.operation.name == "builtin.module"


@pytest.mark.parametrize("implicit_module", [True, False])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"func.func @f() { retur }", "f:3:18: error: custom op 'retur' is unknown"),
        (b"func.func @f() -> i32 { return }", "f:3:25: error: 'func.return' op has 0 operands"),
        (b"\x00\xff", "f:3:2: error: unexpected character"),
        (b"ML\xefR", "f:0:0: error: attempting to parse a byte at the end of the bytecode"),
    ],
)
def test_reports_an_error_once(text: bytes, message: str, *, implicit_module: bool) -> None:
    line = 1 if text.startswith(b"ML") else 3
    parsed = Parsed(text, line, implicit_module=implicit_module)
    assert parsed.operation is None
    (diagnostic,) = parsed.diagnostics
    assert str(diagnostic).startswith(message)


def test_rejects_several_operations_without_an_implicit_module() -> None:
    parsed = Parsed(TWO, implicit_module=False)
    assert parsed.operation is None
    assert "source must contain a single top-level operation" in str(parsed.diagnostics[0])
