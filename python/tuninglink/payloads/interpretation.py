"""Runs of the compiler's interpreter that show which entries match payloads."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir
from iree.compiler.passmanager import PassManager

from tuninglink.mlir import names
from tuninglink.mlir.diagnostics import collected_diagnostics
from tuninglink.mlir.serialization import to_bytecode
from tuninglink.mlir.symbols import FreshNames, split_path, symbols
from tuninglink.mlir.walk import body, collect, postorder
from tuninglink.payloads.payload import Payload, module_of, root_of
from tuninglink.specs.embedding import spec_attribute
from tuninglink.specs.module_scan import is_any_op, signature
from tuninglink.specs.transform_ops import (
    FAILURES_PROPAGATE,
    add_list,
    annotate,
    any_op,
    include,
    named_sequence,
    yield_,
)

if TYPE_CHECKING:
    from tuninglink.spaces.workload import Workload
    from tuninglink.specs.structure import Anatomy, Entry

_TAG: Final = "tuninglink.entry"
_PIPELINE: Final = "builtin.module(iree-codegen-materialize-user-configs)"
_CONFIGURATIONS: Final = (names.LOWERING_CONFIG, names.COMPILATION_INFO)


def matches(entry: Entry, payload: Payload) -> bool:
    """Return whether an entry, alone in its spec, matches the root op of a payload."""
    (number,) = _matching_entries([entry], [payload])
    return number is not None


def winners(anatomy: Anatomy, payloads: Sequence[Payload]) -> list[Entry | None]:
    """Return the first entry of a spec that matches the root op of each payload, or None.

    A single run of the interpreter handles all payloads. It runs only the matchers, not the actions.
    """
    entries = anatomy.entries
    numbers = _matching_entries(entries, payloads)
    return [None if number is None else entries[number] for number in numbers]


def configures(entry: Entry, payload: Payload) -> bool:
    """Return whether an entry configures the root op of a payload within its whole spec."""
    (winner,) = winners(entry.anatomy, [payload])
    return winner == entry and configuration(entry, payload) is not None


def configuration(entry: Entry, payload: Payload) -> str | None:
    """Return the configuration that an entry alone sets on the root op of a payload, as text.

    The result is None if the entry does not match, or if the compiler rejects the configuration.
    """
    try:
        dispatch = configured(entry, payload)
    except mlir.MLIRError:
        return None
    attributes = [
        *(dispatch.root.attributes.get(name) for name in _CONFIGURATIONS),
        dispatch.function.attributes.get(names.TRANSLATION_INFO),
    ]
    return ", ".join(str(attribute) for attribute in attributes if attribute is not None) or None


def configured(entry: Entry, payload: Payload, target: mlir.Attribute | None = None) -> Workload:
    """Return the dispatch of a payload as an entry alone configures it, in the context of the entry.

    The dispatch is for `target`, a `#hal.executable.target` of any context.

    Raises:
        MLIRError: the compiler rejects the configuration.
    """
    dispatch = payload.dispatch(target, entry.anatomy.module.context)
    assert dispatch.module is not None
    apply_alone(entry, dispatch.module)
    return replace(dispatch, root=root_of(dispatch.function))


def apply_alone(entry: Entry, module: mlir.Operation) -> None:
    """Run an entry alone on the module of a dispatch, in the context of the entry.

    Raises:
        MLIRError: the interpreter failed.
    """
    _alone(entry).run(module)


def configured_if_matched(
    entry: Entry, module: mlir.Operation, target: mlir.Attribute
) -> mlir.Operation | None:
    """Configure the function in a payload's body as an entry alone does. Return the function, or None without a match.

    This takes one run of the interpreter, whereas `matches` and `configured` together take two.

    Args:
        entry: the entry.
        module: the body, in the context of the entry; modified in place.
        target: the target of the dispatch, a `#hal.executable.target` of the same context.

    Raises:
        MLIRError: the compiler rejects the configuration. Whether the entry matches remains unknown.
    """
    ((function, _),) = configured_functions([entry], module, target)
    return function


def configured_functions(
    entries: Sequence[Entry],
    module: mlir.Operation,
    target: mlir.Attribute,
    excluded: Collection[str] = (),
) -> list[tuple[mlir.Operation | None, int]]:
    """Configure the functions in the bodies of payloads, each with the first entry that matches its root op.

    Args:
        entries: the entries.
        module: the functions, in the context of the entries; modified in place.
        target: the target of the dispatches, a `#hal.executable.target` of the same context.
        excluded: names of ops that no entry matches, so that the interpreter skips them.

    Returns:
        Each function with the position of the entry, None for a function that no entry matches.

    Raises:
        MLIRError: the compiler rejects a configuration. Which entries match remains unknown.
    """
    spec = _Interpreted(entries[0].anatomy, entries)
    actions = (
        spec.tagging_action(entry, number, after=entry.action)
        for number, entry in enumerate(entries)
    )
    spec.add_entry_point(list(actions), excluded)
    for function in body(module):
        function.attributes[names.EXECUTABLE_TARGET] = target
    spec.run(module)
    result: list[tuple[mlir.Operation | None, int]] = []
    for function in body(module):
        root = root_of(function)
        tag = root.attributes.get(_TAG)
        if not isinstance(tag, mlir.IntegerAttr):
            result.append((None, 0))
            continue
        del root.attributes[_TAG]
        result.append((function, tag.value))
    return result


def spec_of(*entries: Entry) -> bytes:
    """Return a spec with only some entries of a spec and the symbols that they use, as bytecode."""
    return _alone(*entries).bytecode()


def _alone(*entries: Entry) -> _Interpreted:
    spec = _Interpreted(entries[0].anatomy, entries)
    spec.add_entry_point([entry.action for entry in entries])
    return spec


def _matching_entries(entries: Sequence[Entry], payloads: Sequence[Payload]) -> list[int | None]:
    """Return the position of the first matching entry for each payload."""
    if not entries or not payloads:
        return [None] * len(payloads)
    spec = _Interpreted(entries[0].anatomy, entries)
    spec.add_entry_point(
        [spec.tagging_action(entry, number) for number, entry in enumerate(entries)]
    )
    module = module_of(payloads, entries[0].anatomy.module.context)
    spec.run(module)
    matching_entries: list[int | None] = []
    for function in collect(module, names.FUNCTION):
        tag = root_of(function).attributes.get(_TAG)
        matching_entries.append(tag.value if isinstance(tag, mlir.IntegerAttr) else None)
    return matching_entries


class _Interpreted:
    """A copy of some entries of a spec and the symbols that they use, with other actions, to be interpreted."""

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
        """Return the ops that the entries use. The cost does not depend on the size of the spec."""
        table = self._anatomy.table
        paths = [path for entry in self._entries for path in (entry.matcher, entry.action)]
        reached = postorder(
            (split_path(path)[0] for path in paths),
            lambda name: table.referenced(name) if table.symbol(name) is not None else (),
        )
        return [op for name in reached if (op := table.symbol(name)) is not None]

    def tagging_action(self, entry: Entry, number: int, after: str = "") -> str:
        """Add an action that annotates its operation with the number of an entry. Return its name.

        Args:
            entry: the entry.
            number: the number.
            after: an action to run before the new action; none by default.
        """
        sequence = self._anatomy.table.lookup(entry.matcher)
        assert sequence is not None
        types = signature(sequence).results
        name = self._fresh.take(f"tag_{number}")
        with self._module.context, sequence.location:
            with mlir.InsertionPoint(self._module.regions[0].blocks[0]):
                block = named_sequence(name, types).regions[0].blocks[0]
            with mlir.InsertionPoint(block):
                if after:
                    include(split_path(after), list(block.arguments), [], FAILURES_PROPAGATE)
                for argument in block.arguments:
                    if is_any_op(argument.type):
                        annotate(argument, _TAG, number)
                        break
                yield_([])
        return name

    def add_entry_point(self, actions: Sequence[str], excluded: Collection[str] = ()) -> None:
        """Add the entry point, with an action for each entry. Ops with `excluded` names are not tried.

        Of entries with the same matcher, only the first is kept, as the others never win. The compiler recurses
        endlessly on a `foreach_match` that names a matcher twice.
        """
        pairs: dict[str, str] = dict([self._excluding_pair(excluded)] if excluded else ())
        for entry, action in zip(self._entries, actions, strict=True):
            pairs.setdefault(entry.matcher, action)
        with self._module.context:
            paths = [(_symbol(matcher), _symbol(action)) for matcher, action in pairs.items()]
        add_list(self._module, paths)

    def _excluding_pair(self, excluded: Collection[str]) -> tuple[str, str]:
        """Add a matcher of ops by name, and an action that does nothing. Return their names."""
        matcher, action = self._fresh.take("excluded"), self._fresh.take("ignore")
        block = self._module.regions[0].blocks[0]
        with self._module.context, self._module.location:
            with mlir.InsertionPoint(block):
                matching = named_sequence(matcher, [any_op()], [any_op()]).regions[0].blocks[0]
                ignoring = named_sequence(action, [any_op()]).regions[0].blocks[0]
            with mlir.InsertionPoint(matching):
                texts = [mlir.StringAttr.get(name) for name in sorted(excluded)]
                mlir.Operation.create(
                    names.MATCH_OPERATION_NAME,
                    operands=[matching.arguments[0]],
                    attributes={"op_names": mlir.ArrayAttr.get(texts)},
                )
                yield_([matching.arguments[0]])
            with mlir.InsertionPoint(ignoring):
                yield_([])
        return matcher, action

    def bytecode(self) -> bytes:
        """Return the copy as bytecode."""
        return to_bytecode(self._module)

    def run(self, module: mlir.Operation) -> None:
        """Apply the spec to a module.

        Raises:
            MLIRError: the interpreter failed.
        """
        context = module.context
        module.attributes[names.EMBEDDED_SPEC] = spec_attribute(self.bytecode(), context)
        manager = PassManager.parse(_PIPELINE, context)
        with collected_diagnostics(context):
            manager.run(module)


def _symbol(path: str) -> mlir.Attribute:
    return mlir.SymbolRefAttr.get(split_path(path))
