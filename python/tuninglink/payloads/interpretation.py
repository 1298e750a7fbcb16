"""Asking the compiler's interpreter which entries match payloads."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir
from iree.compiler.passmanager import PassManager

from tuninglink.mlir import names
from tuninglink.mlir.contexts import collected_diagnostics
from tuninglink.mlir.serialization import to_bytecode
from tuninglink.mlir.symbols import FreshNames, split_path, symbols
from tuninglink.mlir.walk import collect
from tuninglink.payloads.payload import root_of
from tuninglink.spaces.workload import read_workload
from tuninglink.specs.sequences import is_any_op, signature
from tuninglink.specs.transform_ops import (
    FAILURES_PROPAGATE,
    add_kernel_config,
    annotate,
    include,
    named_sequence,
    yield_,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tuninglink.payloads.payload import Payload
    from tuninglink.spaces.workload import Workload
    from tuninglink.specs.structure import Anatomy, Entry

_TAG: Final = "tuninglink.entry"
_PIPELINE: Final = "builtin.module(iree-codegen-materialize-user-configs)"
_CONFIGURATIONS: Final = (names.LOWERING_CONFIG, names.COMPILATION_INFO)


def matches(entry: Entry, payload: Payload) -> bool:
    """Tells whether an entry, were it alone in its spec, matches the root op of a payload."""
    (number,) = _matching_entries([entry], [payload])
    return number is not None


def winners(anatomy: Anatomy, payloads: Sequence[Payload]) -> list[Entry | None]:
    """Returns the entry of a spec that matches the root op of each payload first, None where none does.

    All payloads are given to the interpreter at once. The actions do not run, only the matchers do.
    """
    entries = anatomy.entries
    numbers = _matching_entries(entries, payloads)
    return [None if number is None else entries[number] for number in numbers]


def configures(entry: Entry, payload: Payload) -> bool:
    """Tells whether, in its whole spec, an entry is the one that configures the root op of a payload."""
    (winner,) = winners(entry.anatomy, [payload])
    return winner == entry and configuration(entry, payload) is not None


def configuration(entry: Entry, payload: Payload) -> str | None:
    """Returns the configuration that the root op of a payload gets from an entry alone, as text.

    None if it gets none, or what it gets is refused.
    """
    try:
        dispatch = configured(entry, payload)
    except mlir.MLIRError:
        return None
    result = [
        *(dispatch.root.attributes.get(each) for each in _CONFIGURATIONS),
        dispatch.function.attributes.get(names.TRANSLATION_INFO),
    ]
    return ", ".join(str(each) for each in result if each is not None) or None


def configured(entry: Entry, payload: Payload, target: mlir.Attribute | None = None) -> Workload:
    """Returns the dispatch of a payload as an entry alone configures it, in the context of the entry.

    The dispatch is for `target`, a `#hal.executable.target` of any context.

    Raises:
        MLIRError: the compiler refuses what the entry does.
    """
    spec = _alone(entry)
    dispatch = payload.dispatch(target, entry.anatomy.module.context)
    assert dispatch.module is not None
    spec.run(dispatch.module)
    return replace(dispatch, root=root_of(dispatch.function))


def configured_if_matched(
    entry: Entry, module: mlir.Operation, target: mlir.Attribute
) -> Workload | None:
    """Returns the dispatch in the body of a payload as an entry alone configures it, None if it does not match.

    That takes one run of the interpreter, where `matches` and `configured` take two.

    Args:
        entry: the entry.
        module: the body, in the context of the entry, which is changed.
        target: what the dispatch is for, a `#hal.executable.target` of the same context.

    Raises:
        MLIRError: the compiler refuses what the entry does; whether it matches is not known.
    """
    spec = _Interpreted(entry.anatomy, [entry])
    spec.add_entry_point([spec.tagging_action(entry, 0, behind=entry.action)])
    (function,) = collect(module, names.FUNCTION)
    function.attributes[names.EXECUTABLE_TARGET] = target
    spec.run(module)
    root = root_of(function)
    if _TAG not in root.attributes:
        return None
    del root.attributes[_TAG]
    return read_workload(root, function, module)


def spec_of(*entries: Entry) -> bytes:
    """Returns a spec with nothing but some entries of a spec and what they use, as bytecode."""
    return _alone(*entries).bytecode()


def _alone(*entries: Entry) -> _Interpreted:
    spec = _Interpreted(entries[0].anatomy, entries)
    spec.add_entry_point([entry.action for entry in entries])
    return spec


def _matching_entries(entries: Sequence[Entry], payloads: Sequence[Payload]) -> list[int | None]:
    """Returns the position of the first entry that matches each payload."""
    if not entries or not payloads:
        return [None] * len(payloads)
    spec = _Interpreted(entries[0].anatomy, entries)
    spec.add_entry_point([spec.tagging_action(each, number) for number, each in enumerate(entries)])
    module = _module_of(payloads, entries[0].anatomy.module.context)
    spec.run(module)
    matching_entries: list[int | None] = []
    for function in collect(module, names.FUNCTION):
        tag = root_of(function).attributes.get(_TAG)
        matching_entries.append(tag.value if isinstance(tag, mlir.IntegerAttr) else None)
    return matching_entries


def _module_of(payloads: Iterable[Payload], context: mlir.Context) -> mlir.Operation:
    """Returns one module with the functions of all payloads, in order."""
    module = mlir.Module.create(mlir.Location.unknown(context)).operation
    block = module.regions[0].blocks[0]
    for number, payload in enumerate(payloads):
        parsed = mlir.Module.parse(payload.body, context).operation
        (function,) = collect(parsed, names.FUNCTION)
        name = mlir.StringAttr.get(f"payload_{number}", context)
        function.attributes[names.SYMBOL_NAME] = name
        block.append(function)
    return module


class _Interpreted:
    """A copy of some entries of a spec, and of what they use, with other actions, for the interpreter."""

    def __init__(self, anatomy: Anatomy, entries: Sequence[Entry]) -> None:
        self._anatomy = anatomy
        self._entries = entries
        source = anatomy.module
        with source.context, source.location:
            attributes: dict[str, mlir.Attribute] = {
                name: mlir.UnitAttr.get()
                for name in (names.WITH_NAMED_SEQUENCE, names.DEFAULT_ENTRY_POINT)
            }
            self._module = mlir.Operation.create(names.MODULE, attributes=attributes, regions=1)
            block = self._module.regions[0].blocks.append()
            with mlir.InsertionPoint(block):
                for operation in self._used():
                    operation.clone()
        self._fresh = FreshNames(symbols(self._module))

    def _used(self) -> Iterable[mlir.Operation]:
        """Returns what the entries use of the spec; it costs as much as that is, however large the spec."""
        reached: dict[str, mlir.Operation] = {}
        waiting = [
            split_path(path)[0]
            for entry in reversed(self._entries)
            for path in (entry.action, entry.matcher)
        ]
        while waiting:
            name = waiting.pop()
            defined = self._anatomy.table.symbol(name)
            if name in reached or defined is None:
                continue
            reached[name] = defined
            waiting.extend(self._anatomy.table.referenced(name))
        return reached.values()

    def tagging_action(self, entry: Entry, number: int, behind: str = "") -> str:
        """Adds an action that notes the number of an entry on the operation that it gets; returns its name.

        Args:
            entry: the entry.
            number: the number.
            behind: an action that runs before; none by default.
        """
        sequence = self._anatomy.table.lookup(entry.matcher)
        assert sequence is not None
        types = signature(sequence).results
        name = self._fresh.take(f"tag_{number}")
        with self._module.context, sequence.location:
            with mlir.InsertionPoint(self._module.regions[0].blocks[0]):
                block = named_sequence(name, types).regions[0].blocks[0]
            with mlir.InsertionPoint(block):
                if behind:
                    include(split_path(behind), list(block.arguments), [], FAILURES_PROPAGATE)
                for argument in block.arguments:
                    if is_any_op(argument.type):
                        annotate(argument, _TAG, number)
                        break
                yield_([])
        return name

    def add_entry_point(self, actions: Sequence[str]) -> None:
        """Adds the entry point, with an action for each entry.

        Of entries with the same matcher only the first is there, as the others never win: a `foreach_match` that
        names a matcher twice sends the compiler into an endless recursion.
        """
        pairs: dict[str, str] = {}
        for entry, action in zip(self._entries, actions, strict=True):
            pairs.setdefault(entry.matcher, action)
        entry_point = add_kernel_config(self._module, consumes=True)
        block = entry_point.regions[0].blocks[0]
        with self._module.context, self._module.location, mlir.InsertionPoint(block):
            argument = block.arguments[0]
            loop = mlir.Operation.create(
                names.FOREACH_MATCH,
                results=[argument.type],
                operands=[argument],
                attributes={"matchers": _paths(pairs), "actions": _paths(pairs.values())},
            )
            yield_(list(loop.results))

    def bytecode(self) -> bytes:
        """Returns the copy as bytecode."""
        return to_bytecode(self._module)

    def run(self, module: mlir.Operation) -> None:
        """Applies the spec to a module.

        Raises:
            MLIRError: the interpreter fails.
        """
        context = module.context
        data = self.bytecode()
        with context, mlir.Location.unknown():
            kind = mlir.VectorType.get([len(data)], mlir.IntegerType.get_signless(8))
            attribute = mlir.DenseElementsAttr.get(memoryview(data), type=kind)
            module.attributes[names.EMBEDDED_SPEC] = attribute
        manager = PassManager.parse(_PIPELINE, context)
        with collected_diagnostics(context):
            manager.run(module)


def _paths(names_: Iterable[str]) -> mlir.ArrayAttr:
    return mlir.ArrayAttr.get([mlir.SymbolRefAttr.get(split_path(name)) for name in names_])
