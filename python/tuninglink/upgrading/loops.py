"""The loops of the operation that a matcher matches, and their roles."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir
from iree.compiler.passmanager import PassManager

from tuninglink.iree import ProductLoops, loops_in
from tuninglink.mlir import collected_diagnostics, names, parse_attribute, thread_context
from tuninglink.upgrading.spec_text import Edit, Edits

if TYPE_CHECKING:
    from tuninglink.upgrading.spec_text import Dag, NamedSequence, SpecText, Token


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


@dataclass
class IterationSpace:
    """The loops of an operation.

    Attributes:
        maps: the loops that index each dimension of each operand.
        is_assumed: whether only the rank of the query is known.
        used: the loops that index each operand.
    """

    loops: int
    maps: tuple[Dimensions, ...]
    is_attention: bool = False
    is_assumed: bool = False

    def __post_init__(self) -> None:
        self.used = tuple(frozenset().union(*dimensions) for dimensions in self.maps)
        self.product = ProductLoops.of(self.used[0], self.used[1], self.used[-1])
        self.reductions = tuple(loop for loop in range(self.loops) if loop not in self.used[-1])
        has_roles = bool(self.product.rows and self.product.columns and self.reductions)
        self.is_contraction_like = len(self.maps) == _OPERANDS and has_roles


class IterationSpaces:
    """The iteration spaces of the operations that the sequences of a spec match or configure."""

    def __init__(self, spec: SpecText, generalization: Generalization) -> None:
        self._spec = spec
        self._generalization = generalization
        self._spaces: dict[int, IterationSpace | None] = {}
        # The matchers paired with each action, by scope and name.
        self._matchers: dict[tuple[int, str], list[NamedSequence]] = {}
        for sequence in spec.sequences:
            for pair in (pair for match in sequence.foreach_matches for pair in match.pairs):
                matcher = spec.by_name.get((sequence.scope, pair.matcher))
                if matcher is not None:
                    self._matchers.setdefault((sequence.scope, pair.action), []).append(matcher)

    def of(self, sequence: NamedSequence | None) -> IterationSpace | None:
        """Return the iteration space of the operation that a sequence matches or configures, if the text shows it."""
        if sequence is None:
            return None
        if sequence.start not in self._spaces:
            space = self._matched(sequence, {sequence.name})
            if space is None:
                matchers = self._matchers.get((sequence.scope, sequence.name), ())
                matched = [self._matched(matcher, {matcher.name}) for matcher in matchers]
                is_same = all(other == matched[0] for other in matched)
                space = matched[0] if matched and is_same else None
            self._spaces[sequence.start] = space
        return self._spaces[sequence.start]

    def _matched(self, sequence: NamedSequence, seen: set[str]) -> IterationSpace | None:
        """Return the iteration space in a matcher, or in a sequence that it includes."""
        for matched in self._shown(sequence):
            if matched is not None:
                return matched
        for callee in self._spec.includes(sequence):
            if callee.name not in seen and len(seen) < _DEEPEST_INCLUDE:
                seen.add(callee.name)
                matched = self._matched(callee, seen)
                if matched is not None:
                    return matched
        return None

    def _shown(self, sequence: NamedSequence) -> Iterator[IterationSpace | None]:
        """Yield the iteration spaces in the operations of a sequence."""
        spec, is_attention = self._spec, False
        for mark in spec.marks(sequence.start, sequence.end):
            if mark.text == names.MATCH_OPERATION_NAME:
                listed = next((token for token in spec.following(mark) if token.text == "["), None)
                op_names = spec.text[listed.start : listed.end] if listed is not None else ""
                is_attention = is_attention or "attention" in op_names
            elif mark.text == names.MATCH_TYPE and is_attention:
                # The type of the query shows only the number of batches.
                type_ = next((token for token in spec.following(mark) if token.text == "<"), None)
                rank = spec.text.count("x", type_.start, type_.end) if type_ is not None else 0
                if rank in _QUERY_RANKS:
                    *batches, m, n, k1, k2 = range(rank + 2)
                    operands = ((m, k1), (k2, k1), (n, k2), (m, n))
                    maps = tuple(
                        tuple(frozenset({loop}) for loop in (*batches, *loops))
                        for loops in operands
                    )
                    yield IterationSpace(rank + 2, maps, is_attention=True, is_assumed=True)
            elif mark.text == names.MATCH_DAG and (dag := spec.dag(mark)) is not None:
                # The root op of a DAG is as it is written, or else as it is generalized.
                attributes = spec.tokens(dag.root.end, dag.region.end - 1)
                space = _space(spec.maps(attributes)[0], "attention" in dag.root.text)
                generic = self._generalization.dags.get(dag.region.start) if space is None else None
                yield space if generic is None else _space(generic.maps, is_attention=False)
            elif mark.text in _MATCHERS:
                yield _space(spec.maps(spec.following(mark))[0], "attention" in mark.text)


def _space(maps: Sequence[str], is_attention: bool) -> IterationSpace | None:  # noqa: FBT001
    read = [read_affine_map(map_) for map_ in maps]
    valid = [map_ for map_ in read if map_ is not None]
    least = _ATTENTION_OPERANDS if is_attention else _OPERANDS - 1
    if len(valid) < max(least, len(read)):
        return None
    return IterationSpace(valid[-1][0], tuple(map_[1] for map_ in valid), is_attention)


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
NAMED_OPERATION: Final = re.compile(
    r"linalg\.(?:(?:batch_|batch_reduce_|quantized_)?matmul|matvec|vecmat|batch_matvec|batch_vecmat|dot|"
    r"contract|elementwise|(?:depthwise_)?conv_\w+)"
)
"""The operations that are generalized."""
_VALUE: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"|(?P<value>%[\w$.\-]+)')


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
    """A DAG with a named root op: its name after the edits so far, its arguments, and its body with the edits."""

    dag: Dag
    name: str
    arguments: Token
    start: int
    body: str
    sequence: NamedSequence


class Generalization:
    """The DAGs of a spec with named root ops, and their generalized forms on a GPU.

    All edits of operation names must be present before the first access.
    """

    def __init__(self, spec: SpecText, edits: Edits) -> None:
        self._spec = spec
        self._edits = edits

    @cached_property
    def gpu_sequences(self) -> set[int]:
        """The offsets of the sequences that configure for a GPU, and of the sequences that these include."""
        spec = self._spec
        gpu_aliases = {
            alias.name
            for alias in spec.aliases.values()
            if _FOR_GPU.search(spec.text, alias.value, alias.end)
        }
        pending = [
            sequence
            for sequence in spec.sequences
            if _FOR_GPU.search(spec.text, sequence.start, sequence.end)
            or any(mark.text in gpu_aliases for mark in spec.marks(sequence.start, sequence.end))
        ]
        gpu_sequences = {sequence.start for sequence in pending}
        while pending:
            for callee in spec.includes(pending.pop()):
                if callee.start not in gpu_sequences:
                    gpu_sequences.add(callee.start)
                    pending.append(callee)
        return gpu_sequences

    @cached_property
    def dags(self) -> dict[int, GenericDag]:
        """The generalized DAGs, by the offset of their region."""
        spec, edits = self._spec, sorted(self._edits.edits)
        texts = {edit.start: edit.text for edit in edits}
        named = []
        for sequence in spec.sequences:
            for mark in spec.marks(sequence.start, sequence.end):
                dag = spec.dag(mark) if mark.text == names.MATCH_DAG else None
                if dag is None:
                    continue
                name = texts.get(dag.root.start, dag.root.text).partition(" ")[0]
                tokens = spec.inside(dag.region)
                block, arguments, colon = (next(tokens, None) for _ in range(3))
                if not (NAMED_OPERATION.fullmatch(name) and block and arguments and colon):
                    continue
                if block.text[0] == "^" and colon.text == ":":
                    start, end = colon.end, dag.region.end - 1
                    first, last = (
                        bisect_left(edits, at, key=attrgetter("start")) for at in (start, end)
                    )
                    inside = [
                        Edit(edit.start - start, edit.end - start, edit.text)
                        for edit in edits[first:last]
                    ]
                    body = Edits(inside).apply(spec.text[start:end]).text
                    named.append(_NamedDag(dag, name, arguments, start, body, sequence))
        generic = zip(named, self._generalized(named) if named else [], strict=True)
        return {dag.dag.region.start: form for dag, form in generic if form is not None}

    def _generalized(self, dags: Sequence[_NamedDag]) -> list[GenericDag | None]:
        """Return the generalized forms of DAGs, with None where the compiler fails."""
        text = self._spec.text
        aliases = "".join(
            f"{alias.name} = {text[alias.value : alias.end]}\n"
            for alias in self._spec.aliases.values()
            if text.startswith("affine_map<", alias.value)
        )
        # Each DAG is the body of a function.
        functions = "".join(
            f"func.func @f{index}{text[dag.arguments.start : dag.arguments.end]} {{\n"
            f"{dag.body}\nreturn\n}}\n"
            for index, dag in enumerate(dags)
        )
        with mlir.Context() as context, collected_diagnostics(context):
            context.allow_unregistered_dialects = True
            try:
                module = mlir.Module.parse(aliases + functions, context)
                blocks = [op.operation.regions[0].blocks[0] for op in module.body.operations]
                for block in blocks:
                    *_, last, terminator = block.operations
                    with terminator.operation.location, mlir.InsertionPoint(terminator):
                        mlir.Operation.create(_KEEP, operands=list(last.operation.results))
                PassManager.parse(_PIPELINE, context).run(module.operation)
                return list(map(self._generic, dags, blocks))
            except mlir.MLIRError:
                if len(dags) == 1:
                    return [None]
        return [self._generalized([dag])[0] for dag in dags]

    def _generic(self, named: _NamedDag, block: mlir.Block) -> GenericDag | None:
        """Return the generalized form of a DAG, with the matcher's value names; None for another operation."""
        operations = [op.operation for op in block.operations][:-2]
        root_op = operations[-1]
        if root_op.name != "linalg.generic":
            return None
        # The names of the arguments and results, and a prefix for others that no value name of the sequence uses.
        spec, root, end = self._spec, named.dag.root, named.dag.region.end - 1
        arguments = [token.text for token in spec.inside(named.arguments) if token.text[0] == "%"]
        _, results = spec.results(root.start)
        renamed = {
            **{old.get_name(): new for old, new in zip(block.arguments, arguments, strict=True)},
            **{old.get_name(): new for old, new in zip(root_op.results, results, strict=False)},
        }
        matches = _VALUE.finditer(spec.text, named.sequence.start, named.sequence.end)
        used = {match["value"] or "" for match in matches}
        prefix = "%dag_"
        while any(name.startswith(prefix) for name in used):
            prefix = prefix[:-1] + "x_"

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
        body = "".join("\n" + spec.indent(root.start) + line[shift:] for line in lines)
        before_bracket = spec.text[spec.line_start(end) : end]
        body += "\n" + (before_bracket if not before_bracket.strip() else "")
        maps = tuple(map(str, mlir.ArrayAttr(root_op.attributes["indexing_maps"])))
        return GenericDag(named.name, named.start, end, body, maps)
