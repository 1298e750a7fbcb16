"""`tuninglink upgrade`: conversion of specs written for older compilers."""

from __future__ import annotations

import re
import sys
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from tuninglink.checking import ConfigurationChecks
from tuninglink.cli import process
from tuninglink.cli.terminal import progress
from tuninglink.cli.usage import Positional, Usage
from tuninglink.compiler import (
    COMPILE_FLAGS,
    TARGET_FLAG,
    compile_flags,
    executable_target,
    read_target,
    set_up_command_line,
)
from tuninglink.errors import (
    Diagnostic,
    Place,
    Severity,
    SpecError,
    TuninglinkError,
    UsageError,
    escaped,
)
from tuninglink.files import STANDARD_STREAM, check_output, write_output
from tuninglink.llvm_flags import Flag, switch
from tuninglink.mlir import error, is_bytecode, parse_module
from tuninglink.payloads import PayloadError, payload_for
from tuninglink.solver import DEFAULT_LIMITS, Verdict
from tuninglink.spaces import ProviderRegistry
from tuninglink.upgrading import render_report, upgrade_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from iree.compiler.ir import Attribute

    from tuninglink.iree import Target
    from tuninglink.specs import Entry, Spec
    from tuninglink.upgrading import Upgraded


def _version(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"v?(\d+)\.(\d+)(?:\.\d+)?", text)
    if match is None:
        raise ValueError("expected a version such as 3.4")
    return int(match[1]), int(match[2])


USAGE: Final[Usage] = Usage(
    name="upgrade",
    positionals=(
        Positional(
            "SPEC", "A spec, as text; with --check any number. - is standard input.", repeats=True
        ),
    ),
    flags={
        "check": switch(
            "only_check", "Write nothing. The exit code is 1 if a spec needs an upgrade."
        ),
        "output": replace(
            COMPILE_FLAGS["output"],
            help="Where to write the upgraded spec. Default: standard output.",
        ),
        "from": Flag(
            "written_for",
            _version,
            metavar="VERSION",
            help="The compiler that the spec was written for, such as 3.4: older changes do not apply.",
        ),
        "modernize": switch(
            "modernize",
            "Write dag matchers as 'transform.iree.match.contraction' or '.convolution' where the compiler's interpreter "
            "shows that they match the same. The spec is then as the compiler prints it.",
        ),
        "target": replace(
            TARGET_FLAG,
            help="In the report, state whether each configuration holds on this SKU, architecture or family; host is the processor of this machine.",
        ),
        "report": switch(
            "report",
            "List what was changed in each entry and why, and what could not be upgraded: on standard output if the spec "
            "goes elsewhere, else on standard error.",
        ),
    },
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


@dataclass(frozen=True, kw_only=True)
class UpgradeOptions:
    """The options of `tuninglink upgrade`."""

    specs: tuple[str, ...]
    only_check: bool = False
    output: str = STANDARD_STREAM
    written_for: tuple[int, int] | None = None
    modernize: bool = False
    target: str = ""
    report: bool = False


def upgrade_command(arguments: Sequence[str]) -> int:
    """Run `tuninglink upgrade` with the arguments after the command's name, and return the exit code."""
    values, specs = USAGE.parse(arguments)
    options = UpgradeOptions(specs=specs, **values)
    _check_options(options)
    set_up_command_line("tuninglink upgrade", ())
    if options.only_check:
        return _check(specs)
    name, data = process.read_input(specs[0])
    if is_bytecode(data) and options.output == STANDARD_STREAM:
        process.refuse_binary_on_terminal()
    upgraded, data, parts = _upgraded(name, data, options.written_for)
    if options.modernize:
        # The spec with its DAG matchers converted, and the report on each entry.
        from tuninglink.dag_to_named import convert_dags  # noqa: PLC0415 - loads a solver
        from tuninglink.specs import load_spec  # noqa: PLC0415

        spec = load_spec(data, name=name, upgrade=False)
        with progress("modernizing"):
            converted = convert_dags(spec)
        data, part = converted.text.encode(), str(converted)
        parts.append(part)
    if options.target:
        parts.append(_configurations(data, name, options.target))
    write_output(options.output, data)
    if options.report:
        stream = sys.stderr if options.output == STANDARD_STREAM else sys.stdout
        stream.write(escaped("\n".join(parts), lines=True))
    elif upgraded is not None:
        # Show the important remarks: omitted entries, decisions, and unchanged parts.
        for hint in upgraded.hints:
            process.show(hint)
        for omission in upgraded.kept_out:
            message = f"'{omission.what}' is kept out: {omission.reason}"
            process.show(Diagnostic(Severity.WARNING, message, omission.place))
        first = {decision.message: decision for decision in reversed(upgraded.decisions)}
        for message, count in Counter(decision.message for decision in upgraded.decisions).items():
            times = f" ({count} times)" if count > 1 else ""
            process.show(Diagnostic(Severity.REMARK, message + times, first[message].place))
    return process.SUCCESS


def _check_options(options: UpgradeOptions) -> None:
    """Check that the options do not conflict."""
    if options.only_check:
        if options.report or options.modernize or options.output != STANDARD_STREAM:
            message = "--check writes nothing; leave --output, --report and --modernize out"
            raise UsageError(error(message))
        return
    check_output(options.output)
    if len(options.specs) > 1:
        raise UsageError(error("one spec at a time; only --check takes several"))
    if options.target and not options.report:
        message = "--target selects the target of the checks in the --report; add --report"
        raise UsageError(error(message))


def _upgraded(
    name: str, data: bytes, version: tuple[int, int] | None
) -> tuple[Upgraded | None, bytes, list[str]]:
    """Return the upgraded spec (None for bytecode, which needs no upgrade), its content, and the report."""
    if is_bytecode(data):
        _check_bytecode(name, data)
        _check_links(data, name)
        return None, data, []
    with progress("upgrading"):
        upgraded = upgrade_bytes(data, name, written_for=version)
    content = upgraded.text.encode()
    _check_links(content, name)
    return upgraded, content, [render_report(upgraded)]


def _check(specs: Sequence[str]) -> int:
    """Show outdated or unreadable parts of specs, and return the exit code."""
    from tuninglink.mlir import thread_context  # noqa: PLC0415 - loads the compiler
    from tuninglink.specs import (  # noqa: PLC0415
        load_spec,
        preprocessing_spec,
    )

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


def _check_links(data: bytes, name: str) -> None:
    """Check that a spec can be linked, unless it is a library without an entry point."""
    from tuninglink.mlir import thread_context  # noqa: PLC0415 - loads the compiler
    from tuninglink.specs import (  # noqa: PLC0415
        Spec,
        choose_form,
        has_entry_point,
    )

    module = parse_module(data, name, thread_context())
    if has_entry_point(module):
        choose_form([Spec(module, name)])


def _configurations(data: bytes, name: str, target: str) -> str:
    """Return whether the configuration of each entry is valid on a target."""
    from tuninglink.specs import load_spec  # noqa: PLC0415

    parsed = read_target(target)
    spec = load_spec(data, name=name, upgrade=False)
    with progress("checking configurations"):
        return check_configurations(spec, parsed)


def _check_bytecode(name: str, data: bytes) -> None:
    """Check that bytecode, which cannot be upgraded, needs no upgrade."""
    from tuninglink.mlir import thread_context  # noqa: PLC0415 - loads the compiler

    try:
        parse_module(data, name, thread_context())
    except SpecError as failure:
        message = (
            "bytecode cannot be upgraded; have the compiler that wrote it print it as text "
            "(iree-opt), and upgrade that"
        )
        raise SpecError(*failure.diagnostics, error(message, Place(name, 1, 1))) from None


_WORDS: Final = {
    Verdict.PROVEN: "valid",
    Verdict.REFUTED: "invalid",
    Verdict.NOT_DECIDED: "not decided",
}


def check_configurations(spec: Spec, target: Target) -> str:
    """Return a line per entry that states whether its configuration is valid on a generated program."""
    attribute = executable_target(compile_flags(target), spec.module.context)
    registry = ProviderRegistry(process.show)
    checks = ConfigurationChecks(registry, DEFAULT_LIMITS)
    lines = [f"configurations on {target}"]
    lines += [
        f"  @{entry.matcher}: {_verdict(entry, target, attribute, checks)}"
        for entry in spec.entries
    ]
    return "\n".join(lines) + "\n"


def _verdict(
    entry: Entry, target: Target, attribute: Attribute, checks: ConfigurationChecks
) -> str:
    try:
        payload = payload_for(entry, target)
    except PayloadError as failure:
        return f"not decided: no program can be made that it matches: {failure.reason}"
    answer = checks.check_payload(payload, attribute)
    warning = answer.warning and f"the compiler's own constraints reject it: {answer.warning}"
    join = "; ".join(filter(None, (answer.reason, warning, *answer.details)))
    return f"{_WORDS[answer.verdict]}: {join}" if join else _WORDS[answer.verdict]
