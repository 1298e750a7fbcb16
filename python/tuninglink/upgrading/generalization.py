"""Named operations in matchers, written as what they are on a GPU when they are matched.

The compiler itself does the rewriting: all matchers at once, in one module.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir
from iree.compiler.passmanager import PassManager

from tuninglink.mlir import names
from tuninglink.mlir.contexts import collected_diagnostics
from tuninglink.upgrading.edits import Edits
from tuninglink.upgrading.outline import plain
from tuninglink.upgrading.problems import DAG, dag_region, dag_root

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tuninglink.upgrading.outline import NamedSequence, Outline
    from tuninglink.upgrading.source import Mark, Token

PIPELINE: Final = "builtin.module(func.func(linalg-generalize-named-ops))"

_KEEP: Final = "tuninglink.keep"

_FOR_GPU: Final = re.compile(r"LLVMGPU|#iree_gpu\.")
_NAMED: Final = re.compile(
    r"linalg\.(?:(?:batch_|batch_reduce_|quantized_)?matmul|matvec|vecmat|batch_matvec|batch_vecmat|dot|"
    r"contract|elementwise|(?:depthwise_)?conv_\w+)"
)
_VALUE: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"|(?P<value>%[\w$.\-]+)')


@dataclass(frozen=True)
class _Matcher:
    """A dag matcher with a named operation in it."""

    root: Mark
    region: Token
    arguments: Token
    body: int
    sequence: NamedSequence


def is_named_operation(name: str) -> bool:
    """Tells whether an operation is one that is generalized."""
    return _NAMED.fullmatch(name) is not None


def configures_gpu(outline: Outline, sequence: NamedSequence) -> bool:
    """Tells whether a sequence, or one that includes it, configures for a GPU."""
    return sequence.start in _gpu_starts(outline)


def generalize(outline: Outline, report: Callable[[int, str], None]) -> Edits:
    """Returns the changes that write named operations in matchers for GPUs as `linalg.generic`.

    Args:
        outline: the spec.
        report: takes where something was changed, and what.
    """
    edits = Edits()
    matchers = list(_matchers(outline))
    bodies = _generalized(outline, matchers)
    for matcher, body in zip(matchers, bodies, strict=True):
        if body is not None:
            start, end = matcher.body, matcher.region.end - 1
            edits.replace(start, end, body + _tail(outline, end))
            report(
                matcher.root.start,
                f"'{matcher.root.text}' in the matcher is written as 'linalg.generic', which it is on a "
                "GPU when it is matched",
            )
    return edits


def _tail(outline: Outline, end: int) -> str:
    """Returns the space before the bracket that closes a region, on its line."""
    text = outline.source.text
    line = text.rfind("\n", 0, end) + 1
    return "\n" + text[line:end] if not text[line:end].strip() else "\n"


def _matchers(outline: Outline) -> list[_Matcher]:
    found = []
    for sequence in _for_gpu(outline):
        assert sequence.body is not None
        for mark in outline.marks(sequence.body.start, sequence.end):
            region = dag_region(outline.source, mark) if mark.text == DAG else None
            root = dag_root(outline, region) if region is not None else None
            if root is None or region is None or not is_named_operation(root.text):
                continue
            tokens = outline.source.tokens(region.start + 1, region.end - 1)
            block, arguments, colon = (next(tokens, None) for _ in range(3))
            if block and arguments and colon and block.text[0] == "^" and colon.text == ":":
                found.append(_Matcher(root, region, arguments, colon.end, sequence))
    return found


@lru_cache(maxsize=1)
def _gpu_starts(outline: Outline) -> frozenset[int]:
    return frozenset(each.start for each in _for_gpu(outline))


@lru_cache(maxsize=1)
def _for_gpu(outline: Outline) -> tuple[NamedSequence, ...]:
    """Returns the sequences that configure for a GPU, and those that these include."""
    text = outline.source.text
    gpu_aliases = {
        each.name
        for each in outline.aliases.values()
        if _FOR_GPU.search(text, each.value, each.end)
    }
    pending = [
        each
        for each in outline.sequences
        if each.body is not None
        and (
            _FOR_GPU.search(text, each.start, each.end)
            or any(mark.text in gpu_aliases for mark in outline.marks(each.start, each.end))
        )
    ]
    found = {each.start: each for each in pending}
    while pending:
        sequence = pending.pop()
        for mark in outline.marks(sequence.start, sequence.end):
            if mark.text != names.INCLUDE:
                continue
            target = next(outline.source.tokens(mark.end, sequence.end), None)
            symbol = plain(target.text) if target is not None else ""
            other = outline.by_name.get((sequence.scope, symbol))
            if other is not None and other.body is not None and other.start not in found:
                found[other.start] = other
                pending.append(other)
    return tuple(found[start] for start in sorted(found))


def _generalized(outline: Outline, matchers: Sequence[_Matcher]) -> list[str | None]:
    """Returns the new bodies of matchers, None where the compiler cannot make one."""
    if not matchers:
        return []
    with mlir.Context() as context, collected_diagnostics(context):
        context.allow_unregistered_dialects = True
        try:
            return list(_run(outline, matchers, context))
        except mlir.MLIRError:
            if len(matchers) == 1:
                return [None]
    return [_generalized(outline, [each])[0] for each in matchers]


def _run(outline: Outline, matchers: Sequence[_Matcher], context: mlir.Context) -> list[str]:
    text = outline.source.text
    lead = "".join(
        f"{each.name} = {text[each.value : each.end]}\n"
        for each in outline.aliases.values()
        if text.startswith("affine_map<", each.value)
    )
    functions = (
        f"func.func @f{index}{text[each.arguments.start : each.arguments.end]} {{\n"
        f"{text[each.body : each.region.end - 1]}\nreturn\n}}\n"
        for index, each in enumerate(matchers)
    )
    module = mlir.Module.parse(lead + "".join(functions), context)
    for function in module.body.operations:
        _keep(function.operation.regions[0].blocks[0])
    PassManager.parse(PIPELINE, context).run(module.operation)
    return [
        _body(outline, matcher, function.operation)
        for matcher, function in zip(matchers, module.body.operations, strict=True)
    ]


def _keep(block: mlir.Block) -> None:
    """Uses what the last operation computes, which would be dropped otherwise."""
    *_, last, terminator = block.operations
    with terminator.operation.location, mlir.InsertionPoint(terminator):
        mlir.Operation.create(_KEEP, operands=list(last.operation.results))


def _body(outline: Outline, matcher: _Matcher, function: mlir.Operation) -> str:
    """Returns the operations of a function as text, with the names that the matcher had for its values."""
    source = outline.source
    arguments = [
        token.text
        for token in source.tokens(matcher.arguments.start + 1, matcher.arguments.end - 1)
        if token.text[0] == "%"
    ]
    block = function.regions[0].blocks[0]
    renamed = {each.get_name(): name for each, name in zip(block.arguments, arguments, strict=True)}
    operations = list(block.operations)[:-2]
    root_name = _result_name(outline, matcher)
    if root_name and operations and len(operations[-1].results) == 1:
        renamed[operations[-1].results[0].get_name()] = root_name
    used = set(_names(source.text[matcher.sequence.start : matcher.sequence.end]))
    prefix = "%dag_"
    while any(name.startswith(prefix) for name in used):
        prefix = prefix[:-1] + "x_"

    def rename(match: re.Match[str]) -> str:
        name = match["value"]
        if name is None:
            return match[0]
        return renamed.get(name) or prefix + name[1:]

    indent = _indent(outline, matcher)
    lines = [
        _VALUE.sub(rename, line)
        for operation in operations
        for line in operation.operation.get_asm(use_local_scope=True).split("\n")
    ]
    shift = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return "".join("\n" + indent + line[shift:] for line in lines if line.strip())


def _names(text: str) -> list[str]:
    return [match["value"] for match in _VALUE.finditer(text) if match["value"]]


def _result_name(outline: Outline, matcher: _Matcher) -> str | None:
    line = outline.source.text[max(matcher.body, matcher.root.start - 200) : matcher.root.start]
    found = re.search(r"(%[\w$.\-]+)\s*=\s*$", line)
    return found.group(1) if found else None


def _indent(outline: Outline, matcher: _Matcher) -> str:
    text = outline.source.text
    line = text.rfind("\n", 0, matcher.root.start) + 1
    lead = text[line : matcher.root.start]
    return lead[: len(lead) - len(lead.lstrip())]
