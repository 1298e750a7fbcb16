"""Writes the reference under docs/reference from the code: `python tools/reference.py`. A test compares it."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from dataclasses import is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import tuninglink
from tuninglink.compiler import compile_flags
from tuninglink.iree import LANE_BASIS, SUBGROUP_BASIS, TILE_AND_FUSE, VECTOR_DISTRIBUTE, Target
from tuninglink.llvm_flags import flags_of
from tuninglink.opt import reference
from tuninglink.passes import PASSES
from tuninglink.rules import Rule
from tuninglink.scaffolding import ProgramReader
from tuninglink.solver import UndecidedError
from tuninglink.spaces import KNOBS, ProviderRegistry, meaning
from tuninglink.spaces.gpu import DISTRIBUTE
from tuninglink.spaces.model import OneOfKnob
from tuninglink.upgrading import RULES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tuninglink.scaffolding import StartingPoint
    from tuninglink.spaces.model import Knob, Space

ROOT: Final = Path(__file__).resolve().parents[1]
FOLDER: Final = ROOT / "docs" / "reference"

_EXAMPLES: Final = ROOT / "examples"
_PROGRAMS: Final = (
    ("mmt_2048x1280x5120.mlir", "gfx942"),
    ("mmt_2048x1280x5120.mlir", "sm_80"),
    ("convolution_2x34x34x64.mlir", "gfx942"),
    ("attention_8x512x64.mlir", "gfx942"),
    ("matmul_128x768x768.mlir", "znver4"),
    ("convolution_2x34x34x64.mlir", "znver4"),
    ("attention_8x512x64.mlir", "znver4"),
)
_ON_GPUS: Final = (TILE_AND_FUSE, VECTOR_DISTRIBUTE, DISTRIBUTE)

_INTRODUCTION: Final = """\
# Knobs

The parameters of a configuration. A knob of loops, such as `workgroup`, is a list with a value for each loop of the root
op. Which values are valid together depends on the problem, the target and the pipeline: `tuninglink init` writes them
beside each knob, `tuninglink check` verifies them, and [Constraints](../guides/constraints.md) describes how.

| knob | meaning | unit |
| --- | --- | --- |"""

_PIPELINES: Final = """
## By pipeline

The knobs and the rules that `tuninglink` has for the examples, a section for each form of configurations. Breaking a *necessary* rule fails to compile, breaking a *sufficient* one may;
*compiler* marks what the compiler's own constraints ask for, *heuristic* what is not worth trying otherwise. A `…`
stands for a value.
"""


def passes() -> str:
    """Return the reference of the passes."""
    return reference(PASSES.values())


def api() -> str:
    """Return the reference of the public modules."""
    return "\n".join(("# Python API\n", *_exported(), *_functions("torch")))


def _exported() -> Iterator[str]:
    yield "## tuninglink\n"
    for name in sorted(tuninglink.__all__, key=str.lower):
        member = getattr(tuninglink, name)
        signature = ""
        if inspect.isfunction(member):
            (node,) = ast.parse(inspect.getsource(member)).body
            signature = _signature(node)
        yield from _member(f"tuninglink.{name}", signature, inspect.getdoc(member))
        if is_dataclass(member) and (flags := flags_of(member)):
            yield "Attributes:\n"
            for option, flag in flags.items():
                sets = f"False with `--{option}`" if option.startswith("no-") else f"`--{option}`"
                listed = textwrap.wrap(f"- `{flag.target}` ({sets}): {flag.help}", 120)
                yield "\n  ".join(listed)
            yield ""


def _functions(module: str) -> Iterator[str]:
    """Yield the public functions of a module from its source: its imports need not be installed."""
    source = Path(tuninglink.__file__).parent.joinpath(*module.split(".")).with_suffix(".py")
    yield f"## tuninglink.{module}\n"
    for node in ast.parse(source.read_text()).body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            name = f"tuninglink.{module}.{node.name}"
            yield from _member(name, _signature(node), ast.get_docstring(node))


def _signature(node: ast.stmt) -> str:
    """Return the signature of a function as a stub has it, an argument on each line."""
    assert isinstance(node, ast.FunctionDef)
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    separators = re.compile(r", (?=\*|\w+(?:: |=|,|$))")
    lines = "".join(f"    {line},\n" for line in separators.split(ast.unparse(node.args)) if line)
    return f"{node.name}(\n{lines}){returns}" if lines else f"{node.name}(){returns}"


def _member(name: str, signature: str, documentation: str | None) -> Iterator[str]:
    yield f"### {name}\n"
    if signature:
        yield f"```text\n{signature}\n```\n"
    for part in re.split(r"\n\n", documentation or ""):
        title, _, items = part.partition(":\n")
        if title in {"Args", "Attributes", "Raises"}:
            named = re.sub(r"^    (\w+): ", r"- `\1`: ", items, flags=re.MULTILINE)
            yield f"{title}:\n\n{re.sub(r'^    +', '  ', named, flags=re.MULTILINE)}\n"
        else:
            yield re.sub(
                r"^    +", "", part.replace("Returns:\n    ", "Returns: "), flags=re.MULTILINE
            )
            yield ""


def knobs() -> str:
    """Return the page: all knobs with their meanings, then the knobs and the rules of each pipeline."""
    rows = (f"| `{name}` | {text} | {unit or '-'} |" for name, (text, unit) in KNOBS.items())
    return "\n".join((_INTRODUCTION, *rows, _PIPELINES, *_pipelines()))


def _pipelines() -> Iterator[str]:
    registry = ProviderRegistry(lambda _: None)
    sections: dict[str, list[str]] = {}
    for path, target in _PROGRAMS:
        for point in _points(_EXAMPLES / path, Target.parse(target)):
            chosen = str(point.configuration.pipeline)
            for pipeline in _ON_GPUS if chosen.startswith("#iree_gpu") else (chosen,):
                try:
                    spaces = registry.spaces(point.workload, pipeline)
                except UndecidedError:
                    continue
                own = [each for each in spaces if each.is_sufficient]
                for number, each in enumerate(own, 1):
                    form = f", form {number} of {len(own)}" if len(own) > 1 else ""
                    heading = f"#### {point.words}, on {target}{form}\n"
                    sections.setdefault(pipeline, []).extend((heading, *_space(each, point)))
    for pipeline, lines in sections.items():
        yield f"### `{pipeline}`\n"
        yield from lines


def _points(path: Path, target: Target) -> Iterator[StartingPoint]:
    """Yield the root ops of a program, as they are configured for a target."""
    flags = (*compile_flags(target), "--emit-mlir-bytecode")
    sources, configured = (
        tuninglink.compile(path, default_specs=False, flags=[*flags, f"--compile-to={phase}"])
        for phase in ("executable-sources", "executable-configurations")
    )
    reader = ProgramReader(
        sources.output, configured.output
    )  # keeps the program while it is looked at
    yield from reader.points


def _space(space: Space, point: StartingPoint) -> Iterator[str]:
    yield "| knob | meaning | unit | values | in rules |"
    yield "| --- | --- | --- | --- | --- |"
    for knob in space.constraints.knobs:
        place = _place(knob.name)
        _, unit = KNOBS[place.rpartition(".")[2].partition("[")[0]]
        cells = (f"`{place}`", meaning(place, point.workload.problem), unit, _values(knob))
        yield f"| {' | '.join(cells)} | `{knob.name}` |"
    yield "\n| rule | grade |"
    yield "| --- | --- |"
    rules = {
        each.message.replace("{}", "…").replace("|", r"\|"): each.grade.value
        for each in space.constraints.assertions
        if not each.provenance.startswith("bounds of")
    }
    yield from (f"| {message} | {grade} |" for message, grade in rules.items())
    yield ""


def _place(name: str) -> str:
    """Return the name of a knob; one that counts subgroups or threads along a loop is part of a basis."""
    entry = name.partition("[")[0]
    return entry if entry in (LANE_BASIS, SUBGROUP_BASIS) else name


def _values(knob: Knob) -> str:
    if isinstance(knob, OneOfKnob):
        return ", ".join(f"`{each}`" for each in knob.options)
    if knob.low is None and knob.high is None:
        return "what the rules allow"
    low, high = ("any" if each is None else f"{each:,}" for each in (knob.low, knob.high))
    return f"{low} to {high}"


def rules() -> str:
    """Return the table of the rules for specs."""
    return "\n".join(
        (
            "# Rules for specs\n",
            "The codes that [`tuninglink check`](../guides/check.md#rules) shows, selects and ignores.\n",
            "| rule | severity | meaning |",
            "| --- | --- | --- |",
            *(f"| `{rule.value}` | {rule.severity} | {rule.description} |" for rule in Rule),
            "",
        )
    )


REPOSITORIES: Final = {
    "iree": "iree-org/iree",
    "llvm": "llvm/llvm-project",
    "amd-shark-ai": "nod-ai/amd-shark-ai",
}


def upgrade_rules() -> str:
    """Return the table of the upgrade rules."""
    rows = [
        "# Upgrade rules\n",
        "The rules of [`tuninglink upgrade`](../guides/upgrade.md), in the order of the compiler's history.\n",
        "| rule | new form since | what changed | evidence |",
        "| --- | --- | --- | --- |",
    ]
    for rule in RULES.values():
        major, minor = rule.since
        links = []
        for source in rule.evidence:
            repository, kind, what = re.split("([#@])", source, maxsplit=1)
            address = f"https://github.com/{REPOSITORIES[repository]}"
            is_change = kind == "#"
            path = f"pull/{what}" if is_change else f"blob/{what.replace(':', '/')}"
            links.append(f"[{what if is_change else 'source'}]({address}/{path})")
        rows.append(f"| `{rule.name}` | {major}.{minor} | {rule.summary} | {', '.join(links)} |")
    return "\n".join((*rows, ""))


PAGES: Final = {
    "passes": passes,
    "knobs": knobs,
    "api": api,
    "rules": rules,
    "upgrade-rules": upgrade_rules,
}


def main() -> None:
    """Write the pages."""
    for name, page in PAGES.items():
        FOLDER.joinpath(f"{name}.md").write_text(page())


if __name__ == "__main__":
    main()
