"""Replacement of ops of a program by functions of specs, after the compiler's preprocessing with the flags of the user.

The compiler's own interpreter runs the replace entries of all specs as one list. Dead code elimination and inlining run
separately afterwards: in between, the replaced ops are still in the program, with a tag that names their entry.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from tempfile import TemporaryFile
from typing import Final

from iree.compiler import ir as mlir
from iree.compiler.passmanager import PassManager

from tuninglink.compiler.targets import program_targets
from tuninglink.errors import CompileError, Diagnostic, Place, Severity
from tuninglink.iree import Target, ancestors
from tuninglink.mlir import (
    FreshNames,
    body,
    error,
    from_mlir,
    names,
    note,
    place_of,
    reference,
    symbol_name,
    symbols,
    thread_context,
    to_bytecode,
    visit,
)
from tuninglink.specs import (
    DefaultLibrary,
    ReplaceEntry,
    ReplaceList,
    Spec,
    add_main,
    annotate,
    copy_sequence,
    is_any_op,
    link_replace_entries,
    pairs_of,
    replace_binding,
    spec_module,
    suits,
)

REPLACED_BY: Final = "tuninglink.replaced_by"
"""The tag of a replaced op: the number of the entry."""


@dataclass(frozen=True)
class Replaced:
    """An op that was replaced by a call of a function of a spec.

    Attributes:
        operation: the name of the op.
        function: the symbol of the function of the program that the op was in.
        place: the place of the op in the program.
        position: the position of the spec among the given ones; their number for a default spec.
    """

    operation: str
    function: str
    place: Place | None
    spec: str
    entry: ReplaceEntry
    position: int


@dataclass(frozen=True)
class Replacement:
    """The effect of replace entries on a program.

    Attributes:
        entries: the entries that applied to the targets of the program, as one list; None if there were none.
        foreign: the reasons why specs do not apply to the targets, by the positions of the specs.
    """

    entries: ReplaceList | None = None
    replaced: tuple[Replaced, ...] = ()
    foreign: Mapping[int, str] = field(default_factory=dict)


def replace_ops(
    program: mlir.Operation,
    given: Sequence[Spec],
    library: DefaultLibrary | None,
    report: Callable[[Diagnostic], None],
) -> Replacement:
    """Replace ops of a program at `preprocessing` by the entries of specs, the first of which wins.

    An entry applies if it is bound to all targets of the program, or to none. The default spec comes last, in a program
    for one target.

    Raises:
        CompileError: the compiler rejects an entry.
    """
    targets: Sequence[Target | None] = [*dict.fromkeys(program_targets(program))] or [None]
    specs = list(given)
    if library is not None and len(targets) == 1 and targets[0] is not None:
        file = library.find(targets[0])
        if file is not None and names.TRANSFORM_MAIN.encode() in file.content:
            specs.append(file.load(thread_context(), upgrade=library.upgrade))
    # Select the entries for the targets.
    lists: list[ReplaceList] = []
    origins: list[tuple[int, ReplaceEntry]] = []
    foreign: dict[int, str] = {}
    for position, spec in enumerate(specs):
        if spec.replacing is None:
            continue
        kept = []
        bindings = [
            replace_binding(spec.replacing, at) for at in range(len(spec.replacing.entries))
        ]
        for at, (entry, binding) in enumerate(zip(spec.replacing.entries, bindings, strict=True)):
            suiting = [target for target in targets if suits(binding, target, ())]
            if len(suiting) == len(targets):
                kept.append(at)
                origins.append((position, entry))
            elif suiting:
                others = ", ".join(str(target) for target in targets if target not in suiting)
                message = f"replace entry '{entry.matcher}' of '{spec.source}' is not applied: the program is also for {others}"
                reason = note("ops are replaced before the code for several targets is separate")
                report(Diagnostic(Severity.WARNING, message, entry.place, (reason,)))
        if kept:
            lists.append(spec.replacing.subset(kept))
        else:
            bound = ", ".join(dict.fromkeys(name for binding in bindings for name in binding or ()))
            own = ", ".join(str(target) for target in targets if target) or "no known target"
            foreign[position] = f"it is bound to {bound or 'no target'}, the program is for {own}"
    if not lists:
        return Replacement(foreign=foreign)
    # A function of the program with the name of one of a spec would be called in its place.
    context = lists[0].module.context
    linked = link_replace_entries(lists, context, taken=symbols(program))
    assert linked is not None, "there are entries"
    _run(program, _tagging(linked))
    # Read the tags, then remove the replaced ops and inline the calls.
    tagged: list[mlir.Operation] = []

    def look(operation: mlir.Operation) -> None:
        if REPLACED_BY in operation.attributes:
            tagged.append(operation)

    visit(program, look)
    replaced = []
    for operation in tagged:
        position, entry = origins[mlir.IntegerAttr(operation.attributes[REPLACED_BY]).value]
        del operation.attributes[REPLACED_BY]
        around = (op for op in ancestors(operation) if op.name == names.UTIL_FUNCTION)
        function = next(map(symbol_name, around), None) or ""
        place, source = place_of(operation.location), specs[position].source
        replaced.append(Replaced(operation.name, function, place, source, entry, position))
    with context, mlir.Location.unknown():
        cleaning = spec_module("clean_up")
    add_main(cleaning, ())
    _run(program, cleaning)
    return Replacement(linked, tuple(replaced), foreign)


def _tagging(linked: ReplaceList) -> mlir.Operation:
    """Return a copy of a list whose actions tag the replaced ops, and that leaves these and the calls in the program."""
    module = linked.module.clone().operation
    copy = ReplaceList(module)
    fresh = FreshNames(symbols(module))
    pairs = []
    for number, (matcher, action) in enumerate(pairs_of(copy.foreach_match)):
        sequence = copy.table.lookup(reference(action))
        assert sequence is not None, "the module is verified"
        tagging = copy_sequence(sequence, fresh.take(symbol_name(sequence) or ""))
        calls = [op for op in body(tagging) if op.name == names.CAST_AND_CALL]
        arguments = tagging.regions[0].blocks[0].arguments
        handles = [argument for argument in arguments if is_any_op(argument.type)]
        with module.context, tagging.location:
            # The first operand of a call is the op next to which it is inserted.
            if calls:
                with mlir.InsertionPoint.after(calls[0]):
                    annotate(calls[0].operands[0], REPLACED_BY, number)
            elif handles:
                with mlir.InsertionPoint.at_block_begin(tagging.regions[0].blocks[0]):
                    annotate(handles[0], REPLACED_BY, number)
            pairs.append((matcher, mlir.FlatSymbolRefAttr.get(symbol_name(tagging) or "")))
    copy.table.symbols[names.TRANSFORM_MAIN].erase()
    add_main(module, pairs, cleans_up=False)
    return module


def _run(program: mlir.Operation, spec: mlir.Operation) -> None:
    """Run `@__transform_main` of a module on a program, which may be in another context."""
    # The pass reads a file. This one has no name, so it vanishes with the process.
    with TemporaryFile() as file:
        file.write(to_bytecode(spec))
        file.flush()
        options = f"transform-spec-path=/dev/fd/{file.fileno()}"
        pipeline = f"builtin.module(iree-preprocessing-transform-interpreter{{{options}}})"
        try:
            PassManager.parse(pipeline, program.context).run(program)
        except mlir.MLIRError as failure:
            errors = map(from_mlir, failure.error_diagnostics)
            raise CompileError(error("replace entries failed"), *errors) from None
