"""Conversion of named operations in DAG matchers to the `linalg.generic` that they become on a GPU.

The compiler converts the operations of all matchers at once, in one module.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir
from iree.compiler.passmanager import PassManager

from tuninglink.mlir.diagnostics import collected_diagnostics
from tuninglink.upgrading.outline_parts import Dag, Edit, Edits, NamedSequence

if TYPE_CHECKING:
    from tuninglink.upgrading.outline import SpecOutline
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
    """Return whether an operation is generalized."""
    return _NAMED.fullmatch(name) is not None


@dataclass(frozen=True)
class GenericDag:
    """A DAG whose root op was generalized.

    Attributes:
        name: the original name of the root op.
        start: the offset of the operations in the text.
        end: the offset of their end.
        text: the operations, with a generic root op.
        maps: the indexing maps of the root op, in brackets.
    """

    name: str
    start: int
    end: int
    text: str
    maps: str


@dataclass(frozen=True)
class _NamedDag:
    """A DAG with a named root op: its name after the edits so far, its arguments, and the start of its body."""

    dag: Dag
    name: str
    arguments: Token
    start: int
    sequence: NamedSequence

    @property
    def end(self) -> int:
        return self.dag.region.end - 1


class Generalization:
    """The DAGs of a spec with named root ops, and their generalized forms on a GPU.

    All edits of operation names must be present before the first access.
    """

    def __init__(self, outline: SpecOutline, edits: Edits) -> None:
        self._outline = outline
        self._edits = edits

    @cached_property
    def dags(self) -> dict[int, GenericDag]:
        """The generalized DAGs, by the offset of their region."""
        named = list(self._named_dags())
        generic = zip(named, self._generalized(named), strict=True)
        return {dag.dag.region.start: form for dag, form in generic if form is not None}

    @cached_property
    def _sorted_edits(self) -> list[Edit]:
        return sorted(self._edits.edits)

    def _edits_in(self, start: int, end: int) -> list[Edit]:
        """Return the edits of a part of the text, relative to its start."""
        first = bisect_left(self._sorted_edits, start, key=lambda edit: edit.start)
        last = bisect_left(self._sorted_edits, end, key=lambda edit: edit.start)
        return [
            Edit(edit.start - start, edit.end - start, edit.text)
            for edit in self._sorted_edits[first:last]
        ]

    def configures_gpu(self, sequence: NamedSequence) -> bool:
        """Return whether a sequence, or one that includes it, configures for a GPU."""
        return sequence.start in self._gpu_sequences

    @cached_property
    def _gpu_sequences(self) -> set[int]:
        """The offsets of the sequences that configure for a GPU, and of the sequences that these include."""
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
        gpu_sequences = {sequence.start for sequence in pending}
        while pending:
            for callee in outline.includes(pending.pop()):
                if callee.start not in gpu_sequences:
                    gpu_sequences.add(callee.start)
                    pending.append(callee)
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
        """Return the generalized forms of DAGs, with None where the compiler fails."""
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
        # Each DAG is the body of a function.
        functions = "".join(
            f"func.func @f{index}{text[dag.arguments.start : dag.arguments.end]} {{\n"
            f"{Edits(self._edits_in(dag.start, dag.end)).apply(text[dag.start : dag.end]).text}\n"
            "return\n}\n"
            for index, dag in enumerate(dags)
        )
        module = mlir.Module.parse(aliases + functions, context)
        blocks = [operation.operation.regions[0].blocks[0] for operation in module.body.operations]
        for block in blocks:
            _keep(block)
        PassManager.parse(_PIPELINE, context).run(module.operation)
        for dag, block in zip(dags, blocks, strict=True):
            operations = [op.operation for op in block.operations][:-2]
            if operations[-1].name != "linalg.generic":
                yield None
                continue
            body = self._printed(dag, block, operations)
            maps = str(operations[-1].attributes["indexing_maps"])
            yield GenericDag(dag.name, dag.start, dag.end, body, maps)

    def _printed(
        self, named: _NamedDag, block: mlir.Block, operations: list[mlir.Operation]
    ) -> str:
        """Return operations as text, with the matcher's value names."""
        source = self._outline.source
        inside = source.tokens(named.arguments.start + 1, named.arguments.end - 1)
        arguments = [token.text for token in inside if token.text[0] == "%"]
        renamed = {
            argument.get_name(): name
            for argument, name in zip(block.arguments, arguments, strict=True)
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

        # Rename the values, and indent the lines as in the matcher.
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
        """Return a prefix that no value name of a sequence uses."""
        text = self._outline.source.text
        used = {
            match["value"] or "" for match in _VALUE.finditer(text, sequence.start, sequence.end)
        }
        prefix = "%dag_"
        while any(name.startswith(prefix) for name in used):
            prefix = prefix[:-1] + "x_"
        return prefix


def _keep(block: mlir.Block) -> None:
    """Use the results of the last operation, which would otherwise be removed as dead."""
    *_, last, terminator = block.operations
    with terminator.operation.location, mlir.InsertionPoint(terminator):
        mlir.Operation.create(_KEEP, operands=list(last.operation.results))
