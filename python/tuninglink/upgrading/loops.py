"""The loops of the operation that a matcher matches, and their roles."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir
from iree.compiler.passmanager import PassManager

from tuninglink.iree import ProductLoops, loops_in
from tuninglink.mlir import collected_diagnostics, names, parse_attribute, thread_context
from tuninglink.upgrading.spec_text import Dag, Edit, Edits, Mark, NamedSequence, SpecText

if TYPE_CHECKING:
    from tuninglink.upgrading.outline import SpecOutline
    from tuninglink.upgrading.spec_text import Token


_MATCHERS: Final = frozenset(
    {
        names.MATCH_CONTRACTION,
        names.MATCH_CONVOLUTION,
        names.MATCH_ATTENTION,
        names.MATCH_ONLINE_ATTENTION,
    }
)
_DEEPEST_INCLUDE: Final = 16
_QUERY_RANKS: Final = range(2, 7)
_OPERANDS: Final = 3
"""Left-hand side, right-hand side and result."""
_ATTENTION_OPERANDS: Final = 4
"""The least number of operands: query, key, value and result."""

Dimensions = tuple[frozenset[int], ...]
"""The loops that index each dimension of an operand."""


@dataclass(frozen=True)
class IterationSpace:
    """The loops of an operation."""

    loops: int
    maps: tuple[Dimensions, ...]
    is_attention: bool = False
    is_assumed: bool = False

    @cached_property
    def _used(self) -> tuple[frozenset[int], ...]:
        return tuple(frozenset().union(*results) for results in self.maps)

    @cached_property
    def _product(self) -> ProductLoops:
        return ProductLoops.of(self._used[0], self._used[1], self._used[-1])

    @cached_property
    def is_contraction_like(self) -> bool:
        return len(self.maps) == _OPERANDS and bool(self.m and self.n and self.reductions)

    @cached_property
    def reductions(self) -> tuple[int, ...]:
        return tuple(loop for loop in range(self.loops) if loop not in self._used[-1])

    @cached_property
    def m(self) -> tuple[int, ...]:
        return self._product.rows

    @cached_property
    def n(self) -> tuple[int, ...]:
        return self._product.columns

    @cached_property
    def query_key(self) -> tuple[int, ...]:
        return tuple(sorted(self._used[0] | self._used[1]))

    @cached_property
    def probability_value(self) -> tuple[int, ...]:
        query, key, value = self._used[:3]
        rows = (query - key) | (query & key & value)
        return tuple(sorted(rows | value))

    @cached_property
    def query_rows(self) -> tuple[int, ...]:
        query, key, value = self._used[:3]
        return tuple(sorted(query - key - value))


@dataclass
class IterationSpaces:
    """The iteration spaces of the operations that the sequences of a spec match or configure."""

    outline: SpecOutline
    generalization: Generalization

    def __post_init__(self) -> None:
        self._spaces: dict[int, IterationSpace | None] = {}

    def of(self, sequence: NamedSequence | None) -> IterationSpace | None:
        """Return the iteration space of the operation that a sequence matches or configures, if the text shows it."""
        if sequence is None:
            return None
        if sequence.start not in self._spaces:
            space = self._matched(sequence, {sequence.name})
            if space is None:
                matched = {
                    self._matched(matcher, {matcher.name})
                    for matcher in self.outline.matchers_of(sequence)
                }
                space = matched.pop() if len(matched) == 1 else None
            self._spaces[sequence.start] = space
        return self._spaces[sequence.start]

    def _matched(self, sequence: NamedSequence, seen: set[str]) -> IterationSpace | None:
        """Return the iteration space in a matcher, or in a sequence that it includes."""
        for matched in self._shown(sequence):
            if matched is not None:
                return matched
        for callee in self.outline.includes(sequence):
            if callee.name not in seen and len(seen) < _DEEPEST_INCLUDE:
                seen.add(callee.name)
                matched = self._matched(callee, seen)
                if matched is not None:
                    return matched
        return None

    def _shown(self, sequence: NamedSequence) -> Iterator[IterationSpace | None]:
        """Yield the iteration spaces in the operations of a sequence."""
        is_attention = False
        for mark in self.outline.marks(sequence.start, sequence.end):
            if mark.text == names.MATCH_OPERATION_NAME:
                is_attention = is_attention or _names_attention(self.outline.source, mark)
            elif mark.text == names.MATCH_TYPE and is_attention:
                yield _usual_attention(self.outline.source, mark)
            elif mark.text == names.MATCH_DAG:
                dag = self.outline.dag(mark)
                yield self._of_dag(dag) if dag is not None else None
            elif mark.text in _MATCHERS:
                brackets = self.outline.map_brackets(self.outline.source.following(mark))
                yield _space(self.outline.maps(brackets), "attention" in mark.text)

    def _of_dag(self, dag: Dag) -> IterationSpace | None:
        """Return the iteration space of the root op of a DAG."""
        is_attention = "attention" in dag.root.text
        attributes = self.outline.source.tokens(dag.root.end, dag.region.end - 1)
        space = _space(self.outline.maps(self.outline.map_brackets(attributes)), is_attention)
        generic = self.generalization.dags.get(dag.region.start) if space is None else None
        return space if generic is None else _space(generic.maps, is_attention=False)


def _space(maps: Sequence[str], is_attention: bool) -> IterationSpace | None:  # noqa: FBT001
    read = [read_affine_map(map_) for map_ in maps]
    valid = [map_ for map_ in read if map_ is not None]
    least = _ATTENTION_OPERANDS if is_attention else _OPERANDS - 1
    if len(valid) < max(least, len(read)):
        return None
    return IterationSpace(valid[-1][0], tuple(map_[1] for map_ in valid), is_attention)


def _names_attention(source: SpecText, mark: Mark) -> bool:
    listed = next((token for token in source.following(mark) if token.text == "["), None)
    return listed is not None and "attention" in source.text[listed.start : listed.end]


def _usual_attention(source: SpecText, mark: Mark) -> IterationSpace | None:
    """Return the iteration space of an attention whose query type is checked at `mark`."""
    type_ = next((token for token in source.following(mark) if token.text == "<"), None)
    rank = source.text.count("x", type_.start, type_.end) if type_ is not None else 0
    if rank not in _QUERY_RANKS:
        return None
    *batches, m, n, k1, k2 = range(rank + 2)

    def operand(*loops: int) -> Dimensions:
        return tuple(frozenset({loop}) for loop in (*batches, *loops))

    maps = (operand(m, k1), operand(k2, k1), operand(n, k2), operand(m, n))
    return IterationSpace(rank + 2, maps, is_attention=True, is_assumed=True)


@lru_cache(maxsize=1024)
def read_affine_map(text: str) -> tuple[int, Dimensions] | None:
    """Read `affine_map<(d0, d1) -> (d0 + d1)>`: the number of loops, and the loops of each dimension."""
    # Results are cached, since many matchers of a spec share maps.
    attribute = parse_attribute(text, thread_context())
    if not isinstance(attribute, mlir.AffineMapAttr):
        return None
    return attribute.value.n_dims, tuple(map(loops_in, attribute.value.results))


# --- Conversion of named operations in DAG matchers to the `linalg.generic` that they become on a GPU

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
    """A DAG whose root op was generalized."""

    name: str
    start: int
    end: int
    text: str
    maps: tuple[str, ...]


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
            *_, last, terminator = block.operations
            with terminator.operation.location, mlir.InsertionPoint(terminator):
                mlir.Operation.create(_KEEP, operands=list(last.operation.results))
        PassManager.parse(_PIPELINE, context).run(module.operation)
        for dag, block in zip(dags, blocks, strict=True):
            operations = [op.operation for op in block.operations][:-2]
            if operations[-1].name != "linalg.generic":
                yield None
                continue
            body = self._printed(dag, block, operations)
            maps = tuple(map(str, operations[-1].attributes["indexing_maps"]))
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
