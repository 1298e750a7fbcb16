"""Named operations in DAG matchers, as the `linalg.generic` that they are on a GPU when they are matched.

The compiler itself does the rewriting: all matchers at once, in one module.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir
from iree.compiler.passmanager import PassManager

from tuninglink.mlir.contexts import collected_diagnostics
from tuninglink.upgrading.edits import Edit, Edits

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tuninglink.upgrading.outline import SpecOutline
    from tuninglink.upgrading.outline_parts import Dag, NamedSequence
    from tuninglink.upgrading.spec_text import Token

_PIPELINE: Final = "builtin.module(func.func(linalg-generalize-named-ops))"
_KEEP: Final = "tuninglink.keep"

_FOR_GPU: Final = re.compile(r"LLVMGPU|#iree_gpu\.")
_NAMED: Final = re.compile(
    r"linalg\.(?:(?:batch_|batch_reduce_|quantized_)?matmul|matvec|vecmat|batch_matvec|batch_vecmat|dot|"
    r"contract|elementwise|(?:depthwise_)?conv_\w+)"
)
_VALUE: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"|(?P<value>%[\w$.\-]+)')


def is_named_operation(name: str) -> bool:
    """Tells whether an operation is one that is generalized."""
    return _NAMED.fullmatch(name) is not None


@dataclass(frozen=True)
class GenericDag:
    """A DAG whose root was a named operation.

    Attributes:
        name: the name that the root had.
        start: where the operations begin in the text.
        end: where they end.
        text: the operations with a generic root.
        maps: the indexing maps of the root, in brackets.
    """

    name: str
    start: int
    end: int
    text: str
    maps: str


@dataclass(frozen=True)
class _NamedDag:
    """A DAG with a named root: the name after the changes so far, its arguments, and where its body begins."""

    dag: Dag
    name: str
    arguments: Token
    start: int
    sequence: NamedSequence

    @property
    def end(self) -> int:
        return self.dag.region.end - 1


class Generalization:
    """The DAGs of a spec with named roots, and what they are on a GPU.

    All changes that name operations as today's compiler does must be among the edits before the first question.
    """

    def __init__(self, outline: SpecOutline, edits: Edits) -> None:
        self._outline = outline
        self._edits = edits

    @cached_property
    def dags(self) -> dict[int, GenericDag]:
        """The DAGs that the compiler can generalize, by where their region begins."""
        named = list(self._named_dags())
        generic = zip(named, self._generalized(named), strict=True)
        return {each.dag.region.start: result for each, result in generic if result is not None}

    @cached_property
    def _sorted_edits(self) -> list[Edit]:
        return sorted(self._edits.edits)

    def _edits_in(self, start: int, end: int) -> list[Edit]:
        """Returns the changes to a part of the text, relative to its start."""
        first = bisect_left(self._sorted_edits, start, key=lambda edit: edit.start)
        last = bisect_left(self._sorted_edits, end, key=lambda edit: edit.start)
        return [
            Edit(each.start - start, each.end - start, each.text)
            for each in self._sorted_edits[first:last]
        ]

    def configures_gpu(self, sequence: NamedSequence) -> bool:
        """Tells whether a sequence, or one that includes it, configures for a GPU."""
        return sequence.start in self._gpu_sequences

    @cached_property
    def _gpu_sequences(self) -> set[int]:
        """Where the sequences begin that configure for a GPU, and those that these include."""
        outline, text = self._outline, self._outline.source.text
        gpu_aliases = {
            alias.name
            for alias in outline.aliases.values()
            if _FOR_GPU.search(text, alias.value, alias.end)
        }
        pending = [
            sequence
            for sequence in outline.sequences
            if _FOR_GPU.search(text, sequence.start, sequence.end)
            or any(mark.text in gpu_aliases for mark in outline.marks(sequence.start, sequence.end))
        ]
        gpu_sequences = {each.start for each in pending}
        while pending:
            for other in outline.includes(pending.pop()):
                if other.start not in gpu_sequences:
                    gpu_sequences.add(other.start)
                    pending.append(other)
        return gpu_sequences

    def _named_dags(self) -> Iterator[_NamedDag]:
        outline = self._outline
        for sequence in outline.sequences:
            for dag in outline.dags(sequence):
                renamed = self._edits_in(dag.root.start, dag.root.end)
                name = renamed[0].text.partition(" ")[0] if renamed else dag.root.text
                if not is_named_operation(name):
                    continue
                tokens = outline.source.tokens(dag.region.start + 1, dag.region.end - 1)
                block, arguments, colon = (next(tokens, None) for _ in range(3))
                if block and arguments and colon and block.text[0] == "^" and colon.text == ":":
                    yield _NamedDag(dag, name, arguments, colon.end, sequence)

    def _generalized(self, dags: Sequence[_NamedDag]) -> list[GenericDag | None]:
        """Returns what DAGs are on a GPU, None where the compiler cannot tell."""
        if not dags:
            return []
        with mlir.Context() as context, collected_diagnostics(context):
            context.allow_unregistered_dialects = True
            try:
                return list(self._run(dags, context))
            except mlir.MLIRError:
                if len(dags) == 1:
                    return [None]
        return [self._generalized([dag])[0] for dag in dags]

    def _run(self, dags: Sequence[_NamedDag], context: mlir.Context) -> Iterator[GenericDag | None]:
        text = self._outline.source.text
        aliases = "".join(
            f"{alias.name} = {text[alias.value : alias.end]}\n"
            for alias in self._outline.aliases.values()
            if text.startswith("affine_map<", alias.value)
        )
        functions = "".join(
            f"func.func @f{index}{text[each.arguments.start : each.arguments.end]} {{\n"
            f"{Edits(self._edits_in(each.start, each.end)).apply(text[each.start : each.end]).text}\n"
            "return\n}\n"
            for index, each in enumerate(dags)
        )
        module = mlir.Module.parse(aliases + functions, context)
        blocks = [operation.operation.regions[0].blocks[0] for operation in module.body.operations]
        for block in blocks:
            _keep(block)
        PassManager.parse(_PIPELINE, context).run(module.operation)
        for each, block in zip(dags, blocks, strict=True):
            operations = [one.operation for one in block.operations][:-2]
            if operations[-1].name != "linalg.generic":
                yield None
                continue
            body = self._printed(each, block, operations)
            maps = str(operations[-1].attributes["indexing_maps"])
            yield GenericDag(each.name, each.start, each.end, body, maps)

    def _printed(
        self, named: _NamedDag, block: mlir.Block, operations: list[mlir.Operation]
    ) -> str:
        """Returns operations as text, with the names that the matcher had for its values."""
        source = self._outline.source
        inside = source.tokens(named.arguments.start + 1, named.arguments.end - 1)
        arguments = [token.text for token in inside if token.text[0] == "%"]
        renamed = {
            each.get_name(): name for each, name in zip(block.arguments, arguments, strict=True)
        }
        root = named.dag.root
        _, results = source.results(root.start)
        renamed.update(
            zip((result.get_name() for result in operations[-1].results), results, strict=False)
        )
        prefix = self._unused_prefix(named.sequence)

        def rename(match: re.Match[str]) -> str:
            name = match["value"]
            return match[0] if name is None else renamed.get(name) or prefix + name[1:]

        lines = [
            _VALUE.sub(rename, line)
            for operation in operations
            for line in str(operation.get_asm(use_local_scope=True)).split("\n")
            if line.strip()
        ]
        shift = min(len(line) - len(line.lstrip()) for line in lines)
        indent = source.indent(root.start)
        body = "".join("\n" + indent + line[shift:] for line in lines)
        before_bracket = source.text[source.line_start(named.end) : named.end]
        return body + "\n" + (before_bracket if not before_bracket.strip() else "")

    def _unused_prefix(self, sequence: NamedSequence) -> str:
        """Returns a prefix that no value of a sequence has."""
        text = self._outline.source.text
        used = {
            match["value"] or "" for match in _VALUE.finditer(text, sequence.start, sequence.end)
        }
        prefix = "%dag_"
        while any(name.startswith(prefix) for name in used):
            prefix = prefix[:-1] + "x_"
        return prefix


def _keep(block: mlir.Block) -> None:
    """Uses what the last operation computes, which would be dropped otherwise."""
    *_, last, terminator = block.operations
    with terminator.operation.location, mlir.InsertionPoint(terminator):
        mlir.Operation.create(_KEEP, operands=list(last.operation.results))
