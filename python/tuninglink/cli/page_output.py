"""Output of reports as a table, as JSON or as a page, to standard output or to a file."""

from __future__ import annotations

import io
import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from tuninglink.cli.terminal import Block, folded, render_blocks, render_table
from tuninglink.comparing import LEAST_CHANGE
from tuninglink.compiler import COMPILE_FLAGS, ExplanationFormat
from tuninglink.errors import counted, escaped
from tuninglink.explaining import OperationReport, ProblemRow, Status
from tuninglink.files import STANDARD_STREAM, write_output
from tuninglink.llvm_flags import Flag, choice, option, read_fraction
from tuninglink.pages import render_page
from tuninglink.plain_data import plain, to_json, to_json_by_line
from tuninglink.specs import DERIVED, GAIN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tuninglink.explaining import EntryReference, Explanation, SpecSummary

    Fact = tuple[str, str]


MIN_CHANGE_FLAG: Final[Flag] = Flag(
    "min_change",
    read_fraction,
    metavar="PART",
    help="The smallest change of a time that counts, as in 5% or 0.05, if the intervals of the two times are apart. "
    f"Default: {LEAST_CHANGE:.0%}.",
)

_FORMATS: Final = {
    ".json": ExplanationFormat.JSON,
    ".html": ExplanationFormat.HTML,
    ".htm": ExplanationFormat.HTML,
}


def format_for(path: str, requested: ExplanationFormat | None) -> ExplanationFormat:
    """Return the requested format of a report, or the format for the suffix of its file."""
    return requested or _FORMATS.get(Path(path).suffix.lower(), ExplanationFormat.TABLE)


@dataclass(frozen=True, kw_only=True)
class PageOptions:
    """The options of a command whose report can be a page."""

    report_format: ExplanationFormat | None = option(
        None,
        choice(
            "",
            ExplanationFormat,
            "How the report is written. Default: that of the suffix of FILE, or table.",
        ),
        name="format",
    )
    output: str = option(
        STANDARD_STREAM,
        COMPILE_FLAGS["output"],
        metavar="FILE",
        help="Where to write the report. Default: standard output.",
    )

    def write(
        self, report: object, to_table: Callable[[TextIO], str], to_page: Callable[[], str]
    ) -> None:
        """Write a report as its flags request."""
        report_format = format_for(self.output, self.report_format)
        if report_format is ExplanationFormat.JSON:
            text = to_json(report)
        elif report_format is ExplanationFormat.HTML:
            text = to_page()
        else:
            text = to_table(sys.stdout if self.output == STANDARD_STREAM else io.StringIO())
        write_output(self.output, text)


def render(
    explanation: Explanation, report_format: ExplanationFormat, stream: TextIO | None
) -> str:
    """Return an explanation as text."""
    if report_format is ExplanationFormat.JSON:
        return to_json_by_line(explanation)
    if report_format is ExplanationFormat.HTML:
        return to_html(explanation)
    return _table(explanation, stream or io.StringIO())


def _table(explanation: Explanation, stream: TextIO) -> str:
    parts = []
    if explanation.dispatches:
        parts.append(_dispatches(explanation, stream))
    specs = [spec for spec in explanation.specs if spec.configured or not spec.is_automatic]
    if specs:
        headings = ["SPEC", "KIND", "ENTRIES", "USED", "SHADOWED", "UNREACHABLE", "UNUSED"]
        rows = []
        for spec in specs:
            kind = f"default {spec.kind}" if spec.is_default else spec.kind
            # Replace entries are used if they replaced an op.
            used = {op.matcher for op in explanation.replaced if op.spec == spec.source}
            counts = (spec.used + len(used), spec.shadowed, spec.unreachable)
            unused = spec.unused + spec.replace_entries - len(used)
            numbers = (len(spec.usages) + spec.replace_entries, *counts, unused)
            covered, total = spec.covered, spec.dispatches
            share = f" ({100 * covered / total:.0f} %)" if total else ""
            figures = (f"{number:,}" for number in numbers)
            rows.append((spec.source, kind, *figures, f"{covered} of {total}{share}"))
        parts.append(render_table([*headings, "DISPATCHES"], rows, "", stream))
    summary = "".join(f"{line}\n" for line in _summary(explanation))
    return "\n".join([*parts, folded(summary, stream)])


def _dispatches(explanation: Explanation, stream: TextIO) -> str:
    """Return the dispatches with their outcomes: blocks on a terminal, otherwise one line per fact for grep."""
    result = [
        (row.dispatches[0], [(label, escaped(text)) for label, text in _facts(row, explanation)])
        for row in explanation.rows
        if row.dispatches[0].status is not Status.NOT_TUNABLE
        or row.dispatches[0].microseconds is not None
    ]
    if stream.isatty():
        blocks = (
            Block(escaped(dispatch.name), facts, dispatch.target) for dispatch, facts in result
        )
        return render_blocks(blocks, stream, _STYLES)
    name_width = max((len(escaped(dispatch.name)) for dispatch, _ in result), default=0)
    label_width = max((len(label) for _, facts in result for label, _ in facts), default=0)
    return "".join(
        f"{escaped(dispatch.name):{name_width}}  {label:{label_width}}  {text}\n"
        for dispatch, facts in result
        for label, text in facts
    )


_INVALID = f"{Status.TUNED.value}, and invalid"

_STYLES = {
    Status.TUNED.value: "bold green",
    _INVALID: "bold red",
    "invalid": "red",
    Status.KEPT.value: "bold yellow",
    Status.NO_EFFECT.value: "bold yellow",
    Status.UNMATCHED.value: "bold",
    Status.NO_ENTRY.value: "bold",
    "cannot tell": "yellow",
}


def _facts(row: ProblemRow, explanation: Explanation) -> list[Fact]:
    """Return the labeled facts about equal dispatches."""
    dispatch = row.dispatches[0]
    facts = []
    if not dispatch.operations:
        facts += [(dispatch.status.value, "it moves data"), ("cost", _cost(row, explanation))]
    for number, operation in enumerate(dispatch.operations):
        text = f"{operation.words}, at {operation.place}" if operation.place else operation.words
        is_invalid = bool(operation.invalid)
        facts.append((_INVALID if is_invalid else dispatch.status.value, text))
        facts += [("invalid", operation.invalid)] if is_invalid else []
        if not number:
            facts.append(("cost", _cost(row, explanation)))
            facts += [("equal", other.name) for other in row.dispatches[1:]]
        facts += _facts_of_operation(operation, explanation.specs)
    return facts


def _cost(row: ProblemRow, explanation: Explanation) -> str:
    dispatch, weight = row.dispatches[0], row.weight
    share = f"{100 * explanation.share(weight):.1f} % of {explanation.measure}"
    if dispatch.microseconds is None and not dispatch.cost.is_known:
        share = "depends on dynamic sizes"
    elif dispatch.microseconds is None and explanation.measure == "measured time":
        share = "time unknown"
    # The work of the calls.
    parts = [share, counted(weight.calls, "call")]
    amounts = ((dispatch.cost.flops, "FLOP"), (dispatch.cost.bytes, "B"))
    for amount, unit in amounts:
        if amount is not None:
            power = min(4, int(math.log10(max(amount, 1))) // 3)
            prefix = "kMGT"[power - 1 : power]
            parts.append(f"{amount / 1000**power:.3g} {prefix}{unit} a call")
    if dispatch.cost.intensity is not None:
        parts.append(f"{dispatch.cost.intensity:.1f} FLOP/B")
    # The measured times and rates.
    if dispatch.microseconds is not None:
        parts.append(f"{dispatch.microseconds:,.1f} µs a call")
    rates = dispatch.rates
    if rates.gflops:
        parts.append(f"{rates.gflops:,.4g} GFLOP/s")
    if rates.gbps:
        parts.append(f"{rates.gbps:,.4g} GB/s")
    if rates.roofline is not None:
        is_measured = dispatch.peaks is not None and dispatch.peaks.is_measured
        bound = "measured peak" if is_measured else "roofline"
        parts.append(f"{100 * rates.roofline:.0f} % of the {bound}")
    saved = [one.saved_microseconds for one in row.dispatches if one.saved_microseconds is not None]
    if saved:
        verb = "saves" if sum(saved) >= 0 else "loses"
        parts.append(f"the entry {verb} {abs(sum(saved)):,.4g} µs")
    return ", ".join(parts)


def _facts_of_operation(operation: OperationReport, specs: Sequence[SpecSummary]) -> Iterator[Fact]:
    if operation.match:
        match = operation.match
        spec = f"'{specs[match.spec].source}'"
        yield "entry", f"{_entry(match.entry)} of {spec}" if match.entry else f"one of {spec}"
        if match.ignored:
            yield "ignored", match.ignored
        provenance = dict(match.provenance)
        if match.expected_gain:
            yield "predicted", match.expected_gain
            provenance = {name: provenance[name] for name in provenance if name not in GAIN}
        if DERIVED in provenance:
            yield "derived", str(provenance.pop(DERIVED))
        if provenance:
            yield "provenance", ", ".join(f"{name} = {value}" for name, value in provenance.items())
    for missed in operation.nearest:
        yield "matched" if missed.is_match else "nearest", f"{_entry(missed.entry)}: {missed}"
    if operation.rewriting:
        yield "rewriting", operation.rewriting
    for line in operation.configuration.lines():
        yield "configuration", line
    if operation.compilers_choice:
        for line in operation.compilers_choice.lines() or ["none"]:
            yield "compiler's choice", line
    for entry in operation.shadowed:
        yield "shadowed", f"{_entry(entry)} matches as well"
    for reason in operation.cannot_tell:
        yield "cannot tell", reason
    if operation.hint:
        yield "layout", operation.hint


def _entry(entry: EntryReference) -> str:
    return f"@{entry.matcher} ({entry.place})" if entry.place else f"@{entry.matcher}"


def _summary(explanation: Explanation) -> list[str]:
    lines = []
    total = len(explanation.dispatches)
    if total:
        lines.append(f"tuned: {_part(explanation, Status.TUNED)}")
        if explanation.count(Status.NOT_TUNABLE):
            part = _part(explanation, Status.NOT_TUNABLE)
            lines.append(f"not tunable, element-wise ops and copies: {part}")
    lines += [
        f"{_INVALID}: {row.dispatches[0].name}: {operation.invalid}"
        for row in explanation.rows
        for operation in row.dispatches[0].operations
        if operation.invalid
    ]
    ignored = explanation.count(Status.NO_EFFECT)
    if ignored:
        lines.append(f"matched without effect: {ignored:,}")
    kept = explanation.count(Status.KEPT)
    if kept:
        lines.append(f"kept a configuration that was there before: {kept:,}")
    if explanation.unknown_costs:
        lines.append(
            f"the cost of {explanation.unknown_costs:,} of {total:,} dispatches depends on dynamic sizes and is not "
            "counted; '--dim ARGUMENT.DIMENSION=SIZE' gives sizes"
        )
    if explanation.weight().microseconds is not None:
        devices = explanation.peaks.values()
        lines += dict.fromkeys(f"peak rates of {peaks.device}: {peaks}" for peaks in devices)
    return [*lines, *explanation.remarks()]


def _part(explanation: Explanation, status: Status) -> str:
    """Return the share of the program with a status: of its cost, its calls and its dispatches."""
    part, whole = explanation.weight(status), explanation.weight()
    share = f"{100 * explanation.share(part):.0f} % of {explanation.measure}"
    calls = f"{100 * part.calls / whole.calls if whole.calls else 0:.0f} % of calls"
    dispatches = "dispatch" if whole.dispatches == 1 else "dispatches"
    return f"{share}, {calls} ({part.dispatches:,} of {whole.dispatches:,} {dispatches})"


def to_html(explanation: Explanation) -> str:
    """Return an explanation as a page."""
    return render_page("tuninglink.explaining", "report.html", plain(explanation))
