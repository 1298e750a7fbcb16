"""Parsing of specs for any version of the compiler, after an upgrade of old ones."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.errors import Diagnostic, Place, Severity, SpecError
from tuninglink.mlir import (
    DiagnosticSink,
    check_repeated_matchers,
    decode,
    error,
    is_bytecode,
    may_repeat_matchers,
    note,
    parse_module,
    repeated_matcher,
    visit,
)
from tuninglink.rules import Rule

if TYPE_CHECKING:
    from tuninglink.upgrading.rule_definition import RuleChange, Upgraded


_OLD_NAMES: Final = (
    b"subgroup_m_count",
    b"subgroup_n_count",
    b"attention_qk_matmul",
    b"attention_pv_matmul",
    b"thread_basis",
)
"""Names that today's parser accepts inside dictionaries, and that today's pipelines ignore."""

_GENERIC_LIST: Final = re.compile(
    rb'(?<!\\)"transform\.foreach_match"[^\n]*?\bmatchers = \[([^\]]*)\]'
)
"""The matchers of a `foreach_match` in the generic form, as the compiler prints it."""

_COMMENT: Final = b"//"


def read_module(
    data: bytes,
    name: str,
    context: mlir.Context,
    *,
    upgrade: bool = True,
    diagnostics: DiagnosticSink | None = None,
) -> mlir.Operation:
    """Parse a spec, after an upgrade if it was written for an older compiler.

    Args:
        data: MLIR text in UTF-8, or bytecode, which is never upgraded.
        name: its name in diagnostics.
        context: the context of the module.
        upgrade: whether to upgrade an old spec. Otherwise it is rejected, with a note on its old parts.
        diagnostics: receives warnings about entries that cannot be upgraded; by default they are Python warnings.

    Raises:
        SpecError: the spec cannot be read, uses a matcher twice in one list, or is old and must not be upgraded.
    """
    if is_bytecode(data):
        check_repeated_matchers(data, name, context)
    else:
        _check_matchers_differ(data, name)
    module, failure = None, None
    try:
        module = parse_module(data, name, context)
    except SpecError as refused:
        failure = refused
    # Separate searches are ten times as fast as one regular expression.
    may_be_old = module is None or any(name_ in data for name_ in _OLD_NAMES)
    old = _upgraded(data, name, context) if may_be_old and not is_bytecode(data) else None
    if old is None:
        if failure is not None:
            raise failure
        assert module is not None
        return module
    upgraded, first = old
    if not upgrade:
        remedy = note(
            "upgrade it with 'tuninglink upgrade SPEC -o NEW', or load it with upgrades enabled, which is the default"
        )
        message = f"the spec was written for an older compiler: {first.message}"
        raise SpecError(error(message, first.place, [remedy], Rule.OLD_SYNTAX))
    kept_out = (
        Diagnostic(
            Severity.WARNING,
            f"'{part.what}' is excluded, as it cannot be upgraded: {part.reason}",
            part.place,
            rule=Rule.OLD_SYNTAX,
        )
        for part in upgraded.kept_out
    )
    if diagnostics is not None:
        message = f"'{name}' was written for an older compiler, and is upgraded on loading"
        remedy = note("'tuninglink upgrade --report' reports the changes and writes the result")
        rule = Rule.OLD_SYNTAX
        diagnostics.emit(Diagnostic(Severity.REMARK, message, None, (remedy,), rule=rule))
    for hint in (*kept_out, *upgraded.hints):
        if diagnostics is None:
            warnings.warn(str(hint), stacklevel=3)  # where `load_spec` is called
        else:
            diagnostics.emit(hint)
    module = parse_module(upgraded.text.encode(), name, context)
    _restore_places(module, upgraded)
    return module


def _check_matchers_differ(data: bytes, name: str) -> None:
    """Check that no list uses a matcher twice, which would crash the compiler."""
    if not may_repeat_matchers(data):
        return
    for generic in _GENERIC_LIST.finditer(data):
        start = generic.start()
        line = data.rfind(b"\n", 0, start) + 1
        uses = Counter(matcher.strip() for matcher in generic[1].split(b","))
        repeated = next((matcher for matcher, count in uses.items() if count > 1), None)
        if repeated is not None and _COMMENT not in data[line:start]:
            place = Place(name, data.count(b"\n", 0, line) + 1, start - line + 1)
            symbol = repeated.decode(errors="replace").removeprefix("@")
            raise SpecError(repeated_matcher(symbol, place))
    if b'"transform.foreach_match"' in data:
        return  # the compiler finds matchers of other layouts
    from tuninglink.upgrading.spec_text import SpecText  # noqa: PLC0415 - rarely needed

    # The entries may be in a comment.
    spec = SpecText(decode(data, name), name)
    for sequence in spec.sequences:
        for foreach_match in sequence.foreach_matches:
            first: set[str] = set()
            for pair in foreach_match.pairs:
                if pair.matcher in first:
                    raise SpecError(repeated_matcher(pair.matcher, spec.place(pair.start)))
                first.add(pair.matcher)


def _upgraded(data: bytes, name: str, context: mlir.Context) -> tuple[Upgraded, RuleChange] | None:
    """Return the upgraded spec and a change that proves it old, or None if no part of the spec is old."""
    # Changes also repair a current spec with a mistake. That of an operation is decisive only if the whole spec can be
    # upgraded.
    # Most specs need no rules.
    from tuninglink.upgrading.attribute_rules import RULES  # noqa: PLC0415
    from tuninglink.upgrading.upgrader import upgrade  # noqa: PLC0415

    try:
        upgraded = upgrade(data, name, context=context)
    except SpecError:
        return None
    for change in upgraded.changes:
        rule = RULES[change.rule]
        if rule.is_for_attributes or (rule.is_decisive and not upgraded.kept_out):
            return upgraded, change
    return None


def _restore_places(module: mlir.Operation, upgraded: Upgraded) -> None:
    """Restore the original places of operations parsed from an upgraded text."""
    lines = upgraded.text.splitlines(keepends=True)
    starts = [0, *accumulate(map(len, lines))]
    places: dict[tuple[int, int], Place] = {}

    operations: list[mlir.Operation] = []
    visit(module, operations.append)
    for operation in operations:
        location = operation.location
        if not isinstance(location, mlir.FileLineColLoc):
            continue
        line, column = location.start_line, location.start_col
        place = places.get((line, column))
        if place is None:
            before = lines[line - 1].encode(errors="replace")[: column - 1]
            offset = starts[line - 1] + len(before.decode(errors="ignore"))
            place = places[line, column] = upgraded.origin(offset)
        context = operation.context
        operation.location = mlir.Location.file(place.file, place.line, place.column, context)
