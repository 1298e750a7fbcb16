"""Loops over the values of one variable, compiled to Python generators: what does not change is computed before."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Final

from tuninglink.solver.compiled_terms import Values, compile_function

Loop = Callable[[Values, Iterable[int]], Iterator[Hashable]]
"""A function of the values so far and of the choices for the next one. It sets that value and yields a key for it."""

_VALUE: Final = re.compile(r"\bv\[(\d+)\]")
_NAME: Final = re.compile(r"\b[a-z]\w*\b")
_ASSIGNMENT: Final = re.compile(r"(\w+) = (.*)")
_KEYWORDS: Final = frozenset({"and", "else", "if", "max", "min", "not", "or"})


def compile_loop(at: int, checks: Sequence[str], key: Sequence[str]) -> Loop:
    """Compile a loop over the values of a variable.

    Args:
        at: the position of the variable in the values.
        checks: lines of a function of the values that return False unless a value is possible.
        key: lines that return the key of a value.
    """
    body = [line.replace("return False", "continue") for line in checks]
    body += [re.sub(r"^return ", "yield ", line) for line in key]
    body = [_VALUE.sub(r"u\1", line) for line in body]
    loaded = sorted({name for line in body for name in re.findall(r"\bu\d+\b", line)} - {f"u{at}"})
    before = [f"{name} = v[{name[1:]}]" for name in loaded]
    fixed, inside = {*loaded, *_KEYWORDS}, []
    for line in body:
        assignment = _ASSIGNMENT.fullmatch(line)
        if assignment and fixed.issuperset(_NAME.findall(assignment[2])):
            before.append(line)
            fixed.add(assignment[1])
        else:
            inside.append(line)
    loop = [f"for u{at} in choices:", f"    v[{at}] = u{at}", *(f"    {line}" for line in inside)]
    function: Loop = compile_function([*before, *loop], "v, choices")
    return function
