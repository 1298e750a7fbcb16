"""The source keeps to the words of CONTRIBUTING.md; it is searched as text, since parsing all of it takes seconds."""

from __future__ import annotations

import re
from functools import cache

from places import ROOT

FOLDERS = ("benchmarks", "passes", "python", "test", "tools")
NEGATION = re.compile(r"(?<!\bthere )(?<!\bThere )\b(?:is|are)\sno\s+[a-z]\w*")
LOOP = re.compile(r"\bfor (\w+) in\b")
VAGUE = re.compile(
    r"\b(?:found|said|meant|known|wanted)(?:: (?:[A-Z_]|(?:bool|dict|float|int|list|mlir|set|str|tuple)\b)| :?= )"
    r"|\bfor (?:found|said|meant|known|wanted) in\b"
)
"""A value with a vague name: a parameter or field with its type, a variable, a loop variable."""


@cache
def sources() -> dict[str, str]:
    """Return the text of all modules by their paths, without this one."""
    return {
        str(path.relative_to(ROOT)): path.read_text()
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.py")
        if path.name != "test_words.py"
    }


def test_nothing_is_no_something() -> None:
    assert not [
        f"{path}: {match[0]}"
        for path, text in sources().items()
        for match in NEGATION.finditer(text)
    ]


def test_loop_variables_are_nouns() -> None:
    variables = [name for text in sources().values() for name in LOOP.findall(text)]
    assert 4 * variables.count("each") <= len(variables)


def test_values_are_named_for_what_they_are() -> None:
    package = {
        path: text for path, text in sources().items() if path.startswith(("passes/", "python/"))
    }
    values = [
        f"{path}: {match[0]}" for path, text in package.items() for match in VAGUE.finditer(text)
    ]
    assert values, "the pattern finds values"
    assert len(values) <= 30, values
