"""`tuninglink upgrade`: conversion of specs written for older compilers; `diff`: what changed to a later spec or report."""

from __future__ import annotations

import re
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from tuninglink.cli import process
from tuninglink.cli.page_output import MIN_CHANGE_FLAG, PageOptions
from tuninglink.cli.terminal import progress, render_table
from tuninglink.cli.usage import Positional, Usage, usage_error
from tuninglink.comparing import LEAST_CHANGE, ChangeKind, Comparison, compare, to_html
from tuninglink.compiler import COMPILE_FLAGS, TARGET_FLAG, read_target, set_up_command_line
from tuninglink.errors import Place, SpecError, TuninglinkError, escaped
from tuninglink.files import STANDARD_STREAM, check_output, write_output
from tuninglink.llvm_flags import flags_of, group, option, options_from, toggle
from tuninglink.mlir import error, is_bytecode, parse_module, thread_context
from tuninglink.specs import Spec, choose_form, has_entry_point, load_spec, preprocessing_spec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.upgrading import Upgraded


def _version(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"v?(\d+)\.(\d+)(?:\.\d+)?", text)
    if match is None:
        raise ValueError("expected a version such as 3.4")
    return int(match[1]), int(match[2])


@dataclass(frozen=True, kw_only=True)
class UpgradeOptions:
    specs: tuple[str, ...]
    only_check: bool = toggle(
        "Write nothing. The exit code is 1 if a spec needs an upgrade.", name="check"
    )
    output: str = option(
        STANDARD_STREAM,
        COMPILE_FLAGS["output"],
        help="Where to write the upgraded spec. Default: standard output.",
    )
    written_for: tuple[int, int] | None = option(
        None,
        read=_version,
        name="from",
        metavar="VERSION",
        help="The compiler that the spec was written for, such as 3.4: older changes do not apply.",
    )
    modernize: bool = toggle(
        "Write dag matchers as 'transform.iree.match.contraction' or '.convolution' where the compiler's interpreter "
        "shows that they match the same. The spec is then as the compiler prints it."
    )
    target: str = option(
        "",
        TARGET_FLAG,
        help="In the report, state whether each configuration holds on this SKU, architecture or family; host is the "
        "processor of this machine.",
    )
    report: bool = toggle(
        "List what was changed in each entry and why, and what could not be upgraded: on standard output if the spec "
        "goes elsewhere, else on standard error."
    )


UPGRADE_USAGE: Final[Usage] = Usage(
    name="upgrade",
    positionals=(
        Positional(
            "SPEC", "A spec, as text; with --check any number. - is standard input.", repeats=True
        ),
    ),
    flags=flags_of(UpgradeOptions),
    main_flags=("output", "report", "check"),
    description="""
Text in today's syntax stays as it is, comments and layout included. An entry that cannot be upgraded is kept out:
it is a comment in the result, with the reason.
""",
    examples=(
        "tuninglink upgrade old.mlir -o new.mlir --report",
        "tuninglink upgrade --check specs/*.mlir",
    ),
)


_BYTECODE: Final = "bytecode cannot be upgraded; have the compiler that wrote it print it as text (iree-opt), and upgrade that"


def upgrade_command(arguments: Sequence[str]) -> int:
    values, specs = UPGRADE_USAGE.parse(arguments)
    options = UpgradeOptions(specs=specs, **values)
    if not options.only_check:
        check_output(options.output)
        if len(options.specs) > 1:
            raise usage_error("one spec at a time; only --check takes several")
        if options.target and not options.report:
            message = "--target selects the target of the checks in the --report; add --report"
            raise usage_error(message)
    elif options.report or options.modernize or options.output != STANDARD_STREAM:
        raise usage_error("--check writes nothing; leave --output, --report and --modernize out")
    set_up_command_line("tuninglink upgrade", ())
    if options.only_check:
        return _check(specs)
    name, data = process.read_input(specs[0])
    # Bytecode needs no upgrade.
    upgraded: Upgraded | None = None
    parts: list[str] = []
    if is_bytecode(data):
        if options.output == STANDARD_STREAM:
            process.refuse_binary_on_terminal()
        try:
            parse_module(data, name, thread_context())
        except SpecError as failure:
            raise SpecError(*failure.diagnostics, error(_BYTECODE, Place(name, 1, 1))) from None
    else:
        from tuninglink.upgrading import render_report, upgrade  # noqa: PLC0415 - loads all rules

        with progress("upgrading"):
            upgraded = upgrade(data, name, written_for=options.written_for)
        data = upgraded.text.encode()
        parts.append(render_report(upgraded))
    # Check that it can be linked, unless it is a library without an entry point.
    module = parse_module(data, name, thread_context())
    if has_entry_point(module):
        choose_form([Spec(module, name)])
    if options.modernize:
        from tuninglink.dag_to_named import convert_dags  # noqa: PLC0415 - loads a solver

        with progress("modernizing"):
            converted = convert_dags(load_spec(data, name=name, upgrade=False))
        data = converted.text.encode()
        parts.append(str(converted))
    if options.target:
        from tuninglink.checking import configurations_in_words  # noqa: PLC0415 - loads a solver

        target = read_target(options.target)
        spec = load_spec(data, name=name, upgrade=False)
        with progress("checking configurations"):
            parts.append(configurations_in_words(spec, target, process.show))
    write_output(options.output, data)
    if options.report:
        stream = sys.stderr if options.output == STANDARD_STREAM else sys.stdout
        stream.write(escaped("\n".join(parts), lines=True))
    elif upgraded is not None:
        _show_remarks(upgraded)
    return process.SUCCESS


def _show_remarks(upgraded: Upgraded) -> None:
    """Show the important remarks: omitted entries, decisions, and unchanged parts."""
    process.show(*upgraded.hints)
    for omission in upgraded.kept_out:
        message = f"'{omission.what}' is kept out: {omission.reason}"
        process.shown_diagnostics().warning(message, omission.place)
    first = {decision.message: decision for decision in reversed(upgraded.decisions)}
    for message, count in Counter(decision.message for decision in upgraded.decisions).items():
        times = f" ({count} times)" if count > 1 else ""
        process.shown_diagnostics().remark(message + times, first[message].place)


def _check(specs: Sequence[str]) -> int:
    """Show outdated or unreadable parts of specs, and return the exit code."""
    code = process.SUCCESS
    for spec in specs:
        try:
            name, data = process.read_input(spec)
            if preprocessing_spec(data, name, thread_context(), upgrade=False) is None:
                load_spec(data, name=name, upgrade=False)
        except TuninglinkError as failure:
            process.show(*failure.diagnostics)
            code = process.FAILURE
    return code


@dataclass(frozen=True, kw_only=True)
class DiffOptions:
    fails: bool = toggle("Exit with 1 if something became worse.", name="fail-on-regression")
    least: float = option(LEAST_CHANGE, MIN_CHANGE_FLAG, name="min-change")
    page: PageOptions = group(PageOptions)


DIFF_USAGE: Final[Usage] = Usage(
    name="diff",
    positionals=(
        Positional(
            "OLD",
            "A report as JSON, of `explain` or of `tune`, a directory of `--report`, or a spec; - is standard input.",
        ),
        Positional(
            "NEW",
            "A later one of the same kind. For a spec of `init --all`, also an explanation of its program with it.",
        ),
    ),
    flags=flags_of(DiffOptions),
    main_flags=("fail-on-regression", "format", "output"),
    examples=(
        "tuninglink diff before.json after.json --fail-on-regression",
        "tuninglink diff before.json after.json -o changes.html",
        "tuninglink diff before.mlir after.mlir",
        "tuninglink diff frozen.mlir explanation.json --fail-on-regression",
    ),
)


def diff_command(arguments: Sequence[str]) -> int:
    values, (old, new) = DIFF_USAGE.parse(arguments)
    options = options_from(DiffOptions, values)
    check_output(options.page.output)
    comparison = compare(Path(old), Path(new), options.least)
    options.page.write(
        comparison, lambda stream: _changes(comparison, stream), lambda: to_html(comparison)
    )
    is_failure = options.fails and comparison.counts[ChangeKind.REGRESSION]
    return process.FAILURE if is_failure else process.SUCCESS


def _changes(comparison: Comparison, stream: TextIO) -> str:
    rows = [(change.kind.value, change.what, change.text) for change in comparison.changes]
    heading = "entry" if comparison.subject == "specs" else "dispatch"
    table = render_table(("", heading, "old → new"), rows, "", stream) if rows else ""
    return (
        table + ", ".join(f"{kind.value}s: {comparison.counts[kind]}" for kind in ChangeKind) + "\n"
    )


USAGES: Final = {"upgrade": UPGRADE_USAGE, "diff": DIFF_USAGE}
