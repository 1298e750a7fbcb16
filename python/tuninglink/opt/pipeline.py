"""Textual pass pipelines and their trees: `builtin.module(a,func.func(b{option=1}))`."""

from __future__ import annotations

from dataclasses import dataclass

from tuninglink.errors import PipelineError
from tuninglink.mlir.diagnostics import Place, error
from tuninglink.opt.options import opens_quote

PIPELINE_SOURCE = "<pass-pipeline>"
"""The name of a pipeline's text in diagnostics."""

ANY = "any"
"""The anchor of passes for any operation."""


@dataclass(frozen=True)
class Element:
    """A pass, or a named pipeline of the compiler, with the text of its options."""

    name: str
    options: str = ""
    place: Place | None = None

    def __str__(self) -> str:
        return f"{self.name}{{{self.options}}}" if self.options else self.name


@dataclass(frozen=True)
class OpPipeline:
    """Passes that run one after the other on each operation called `anchor` directly inside another."""

    anchor: str
    children: tuple[Element | OpPipeline, ...]
    place: Place | None = None

    def __str__(self) -> str:
        return f"{self.anchor}({','.join(map(str, self.children))})"


def parse_pipeline(text: str) -> OpPipeline:
    """Parse a pipeline into a tree. Unknown names are allowed.

    Raises:
        PipelineError: the text is malformed, or not wrapped in a single anchor.
    """
    parser = _Parser(text)
    children = parser.children()
    if not parser.at_end():
        raise parser.failure("encountered extra closing ')' creating unbalanced parentheses")
    match children:
        case (OpPipeline() as root,):
            return root
    message = (
        "expected pass pipeline to be wrapped with the anchor operation type, e.g. "
        "'builtin.module(...)'"
    )
    raise PipelineError(error(message, Place(PIPELINE_SOURCE, 1, 1)))


def leaves(nest: OpPipeline) -> list[Element]:
    """Return all elements in `nest`, at any depth, in order."""
    elements: list[Element] = []
    for child in nest.children:
        elements += leaves(child) if isinstance(child, OpPipeline) else [child]
    return elements


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._offset = 0

    def children(self) -> tuple[Element | OpPipeline, ...]:
        """Read elements up to the end or to a closing parenthesis."""
        elements: list[Element | OpPipeline] = []
        while True:
            child = self._child()
            separated = self._peek() == ","
            if child:
                elements.append(child)
            elif elements or separated:
                raise self.failure("expected the name of a pass or of an operation")
            if not self._take(","):
                return tuple(elements)

    def at_end(self) -> bool:
        self._skip_space()
        return self._offset == len(self._text)

    def failure(self, message: str, offset: int | None = None) -> PipelineError:
        """Return an error at `offset`, or at the current position."""
        place = self._place(self._offset if offset is None else offset)
        return PipelineError(error(message, place))

    def _child(self) -> Element | OpPipeline | None:
        self._skip_space()
        start = self._offset
        while self._offset < len(self._text) and self._text[self._offset] not in ",{()":
            self._offset += 1
        name = self._text[start : self._offset].strip()
        place = self._place(start)
        if self._peek() == "(":
            return self._nest(name, start)
        options = self._options(start) if self._peek() == "{" else ""
        if name:
            return Element(name, options, place)
        if options:
            raise self.failure("expected the name of a pass before its options", start)
        return None

    def _nest(self, anchor: str, start: int) -> OpPipeline:
        if not anchor:
            raise self.failure("expected the name of an operation before '('", start)
        opening = self._offset
        self._offset += 1
        children = self.children()
        if not self._take(")"):
            raise self.failure("expected ')' to close this nested pipeline", opening)
        self._expect_end_of_element()
        return OpPipeline(anchor, children, self._place(start))

    def _options(self, start: int) -> str:
        """Read options in braces, which may contain quotes and nested braces."""
        opening = self._offset
        depth = 0
        while self._offset < len(self._text):
            character = self._text[self._offset]
            self._offset += 1
            if opens_quote(self._text, self._offset - 1):
                closing = self._text.find(character, self._offset)
                self._offset = closing + 1 if closing >= 0 else self._offset
            elif character == "{":
                depth += 1
            elif character == "}":
                depth -= 1
                if depth == 0:
                    text = self._text[opening + 1 : self._offset - 1]
                    self._expect_end_of_element()
                    return text.strip()
        raise self.failure("missing closing '}' while processing pass options", start)

    def _expect_end_of_element(self) -> None:
        self._skip_space()
        if self._peek() not in ("", ",", ")"):
            raise self.failure("expected ',' after parsing pipeline")

    def _take(self, character: str) -> bool:
        self._skip_space()
        is_next = self._peek() == character
        self._offset += is_next
        return is_next

    def _peek(self) -> str:
        return self._text[self._offset : self._offset + 1]

    def _skip_space(self) -> None:
        while self._peek().isspace():
            self._offset += 1

    def _place(self, offset: int) -> Place:
        line = self._text.count("\n", 0, offset)
        column = offset - (self._text.rfind("\n", 0, offset) + 1)
        return Place(PIPELINE_SOURCE, line + 1, column + 1)
