"""Textual pass pipelines, read into a tree: `builtin.module(a,func.func(b{option=1}))`."""

from __future__ import annotations

from dataclasses import dataclass

from tuninglink.errors import PipelineError
from tuninglink.mlir.diagnostics import Place, error
from tuninglink.opt.options import opens_quote

PIPELINE_SOURCE = "<pass-pipeline>"
"""What diagnostics call the text of a pipeline."""

ANY = "any"
"""The anchor of passes that run on whatever operation there is."""


@dataclass(frozen=True)
class Element:
    """A pass, or a pipeline that the compiler knows by name, with the text of its options."""

    name: str
    options: str = ""
    place: Place | None = None

    def __str__(self) -> str:
        return f"{self.name}{{{self.options}}}" if self.options else self.name


@dataclass(frozen=True)
class OpPipeline:
    """Passes that run, one after the other, on each operation called `anchor` directly inside another."""

    anchor: str
    children: tuple[Element | OpPipeline, ...]
    place: Place | None = None

    def __str__(self) -> str:
        return f"{self.anchor}({','.join(map(str, self.children))})"


def parse_pipeline(text: str) -> OpPipeline:
    """Returns the tree of a pipeline, whose names may or may not exist.

    Raises:
        PipelineError: the text is malformed, or is not wrapped in one anchor.
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
    """Returns all elements in `nest`, however deep, in order."""
    result: list[Element] = []
    for child in nest.children:
        result += leaves(child) if isinstance(child, OpPipeline) else [child]
    return result


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._offset = 0

    def children(self) -> tuple[Element | OpPipeline, ...]:
        """Reads elements up to the end or to a closing parenthesis."""
        result: list[Element | OpPipeline] = []
        while True:
            child = self._child()
            separated = self._peek() == ","
            if child:
                result.append(child)
            elif result or separated:
                raise self.failure("expected the name of a pass or of an operation")
            if not self._take(","):
                return tuple(result)

    def at_end(self) -> bool:
        self._skip_space()
        return self._offset == len(self._text)

    def failure(self, message: str, offset: int | None = None) -> PipelineError:
        """Returns the error that something is wrong at `offset`, or where the parser stands."""
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
        """Reads options in braces, which may hold quotes and further braces."""
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
        result = self._peek() == character
        self._offset += result
        return result

    def _peek(self) -> str:
        return self._text[self._offset : self._offset + 1]

    def _skip_space(self) -> None:
        while self._peek().isspace():
            self._offset += 1

    def _place(self, offset: int) -> Place:
        line = self._text.count("\n", 0, offset)
        column = offset - (self._text.rfind("\n", 0, offset) + 1)
        return Place(PIPELINE_SOURCE, line + 1, column + 1)
