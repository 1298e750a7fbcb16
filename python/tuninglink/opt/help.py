"""Help texts of `tuninglink-opt` and of passes, and the reference of passes: `python -m tuninglink.opt.help`."""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from importlib.metadata import version as installed_version
from itertools import takewhile
from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.llvm_flags import dashed
from tuninglink.mlir import print_diagnostic
from tuninglink.opt import pass_registry
from tuninglink.opt.arguments import FLAGS, Options
from tuninglink.opt.pass_registry import CompilerPasses, PassRegistry, options_of
from tuninglink.passes import PASSES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tuninglink.mlir import Pass


_SECTION = re.compile(r"^([A-Z][A-Za-z ]*):\n(?=(?:\n| {4}))", re.MULTILINE)


def summary(pass_type: type[Pass]) -> str:
    """Return the first line of a pass's docstring, without the final period."""
    return inspect.cleandoc(pass_type.__doc__ or "").partition("\n")[0].rstrip(".")


def sections(pass_type: type[Pass]) -> list[tuple[str, str]]:
    """Return the titles and texts of the sections of a pass's docstring.

    The first section has no title: it is the text before `Example:` and other headings. Indentation is removed.
    """
    text = inspect.cleandoc(pass_type.__doc__ or "")
    starts = list(_SECTION.finditer(text))
    ends = [start.start() for start in starts] + [len(text)]
    titled_texts = [("", text[: ends[0]].strip())]
    for start, end in zip(starts, ends[1:], strict=True):
        titled_texts.append((start[1], textwrap.dedent(text[start.end() : end]).strip()))
    return titled_texts


_COLUMN = 60
_PASS_OR_OPTION = re.compile(r" {6}(?:--(?P<pass>[\w.-]+)| {2}--(?P<option>[\w.-]+))")


def about(options: Options, registry: PassRegistry, program: str) -> str:
    """Return the text that `--help`, `--version`, `--list-passes` or `--completion` requests."""
    if options.help:
        # Tuninglink's flags and passes, and the compiler's own help.
        flags: list[str] = []
        for name, flag in FLAGS.items():
            alias = f", -{flag.short}" if flag.short else ""
            value = ""
            if flag.metavar:
                joint = " " if len(name) == 1 else "="
                value = f"[={flag.metavar}]" if flag.switch else f"{joint}{flag.metavar}"
            flags.append(f"{f'  {dashed(name)}{value}{alias}':{_COLUMN}} - {flag.help}")
        lines = [
            f"OVERVIEW: iree-opt with passes written in Python\n\nUSAGE: {program} [options] <input file>",
            "\nOPTIONS:\n",
            *flags,
            "\nPasses written in Python (each is a flag, too):\n",
            *_python_passes(registry),
            "\nPasses and other flags of the compiler, as iree-opt lists them:\n",
            *_with_defaults(pass_registry.help_text().partition("OPTIONS:")[2].splitlines()),
        ]
        return "\n".join(lines) + "\n"
    if options.version:
        own, compiler = installed_version("tuninglink"), installed_version("iree-base-compiler")
        return f"{program} {own}\niree-base-compiler {compiler}\n"
    if options.completion:
        # A script that completes the available flags and passes, and file names.
        spellings = {
            *map(dashed, FLAGS),
            *(f"--{name}" for name in registry.all()),
            *(f"--{name}" for name in pass_registry.pass_names()),
            *(f"--{name}" for name in pass_registry.flags_with_value()),
        }
        words = " ".join(sorted(spellings))
        if options.completion == "fish":
            return f"complete -c {program} -a '{words}'\n"
        prelude = "autoload -U +X bashcompinit && bashcompinit\n"
        prelude = prelude if options.completion == "zsh" else ""
        return f"{prelude}complete -o default -W '{words}' {program}\n"
    # Every pass with its options and defaults. The compiler's list ends at the next flag or heading.
    _, _, passes = pass_registry.help_text().partition(pass_registry.PASSES_HEADING)
    listed = takewhile(lambda line: re.match(r"(?!  -)( |$)", line), passes.splitlines()[1:])
    lines = ["Passes written in Python:", *_python_passes(registry), "", "Passes of the compiler:"]
    return "\n".join([*lines, *_with_defaults(listed)]) + "\n"


def _python_passes(registry: PassRegistry) -> Iterator[str]:
    for pass_type in registry.all().values():
        yield f"{f'  --{pass_type.name}':{_COLUMN}} - {summary(pass_type)}"
        for option in options_of(pass_type):
            default = f" (default: {option.print(option.default)})"
            spelling = f"    --{option.name}={option.value_name}"
            yield f"{spelling:{_COLUMN}} - {option.help}{default}"


def _with_defaults(lines: Iterable[str]) -> Iterator[str]:
    """Add defaults to options of the compiler's passes. The compiler prints them only in pipelines."""
    passes = CompilerPasses(mlir.Context())
    options: dict[str, str] = {}
    for line in lines:
        match = _PASS_OR_OPTION.match(line)
        if match is None:
            yield line
        elif match["option"]:
            default = options.get(match["option"])
            yield f"{line} (default: {default})" if default else line
        else:
            yield line
            name = match["pass"]
            options = passes.options(name) if passes.knows(name) else {}


_INTRODUCTION = """\
# Passes

Every pass is a flag of `tuninglink-opt` and a name in its textual pipelines; an option is written
`--pass="option=value flag list={a,b}"` or `pass{option=value flag list={a,b}}`.

This page is made from the passes: `python -m tuninglink.opt.help`.
"""


def reference(passes: Iterable[type[Pass]]) -> str:
    """Return the reference of `passes` in Markdown."""
    passes = list(passes)
    index = "\n".join(f"- [`{pass_.name}`](#{pass_.name}): {summary(pass_)}." for pass_ in passes)
    parts = [_INTRODUCTION, index]
    for pass_ in passes:
        runs_on = f"`{pass_.anchor}`" if pass_.anchor else "any operation"
        parts += [f"\n## {pass_.name}\n", f"Runs on: {runs_on}\n"]
        for title, text in sections(pass_):
            parts += [f"### {title}\n"] if title else []
            parts.append(f"{text}\n")
        options = options_of(pass_)
        if options:
            parts += ["### Options\n", "| option | value | default | meaning |"]
            parts.append("| --- | --- | --- | --- |")
        for option in options:
            default = option.print(option.default)
            cells = [f"`{option.name}`", f"`{option.value_name}`", f"`{default}`", option.help]
            escaped = (cell.replace("|", r"\|") for cell in cells)
            parts.append(f"| {' | '.join(escaped)} |")
        parts += [""] if options else []
    return "\n".join(parts)


if __name__ == "__main__":
    registered = PassRegistry(PASSES, print_diagnostic).all()
    sys.stdout.write(reference(registered.values()))
