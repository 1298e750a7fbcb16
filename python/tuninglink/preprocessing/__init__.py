"""Preprocessing: the replacement of ops of a program by functions of specs, after the compiler's own preprocessing.

The compiler's own interpreter runs the replace entries of all specs as one list. Dead code elimination and inlining run
separately afterwards: in between, the replaced ops are still in the program, with a tag that names their entry.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from mmap import ACCESS_READ, mmap
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir
from iree.compiler.passmanager import PassManager

from tuninglink.errors import (
    CompileError,
    Diagnostic,
    Place,
    Severity,
    TuninglinkError,
    UsageError,
)
from tuninglink.files import temporary_directory
from tuninglink.iree import Target, ancestors
from tuninglink.mlir import (
    DiagnosticSink,
    FreshNames,
    body,
    collect,
    defining_op,
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
    MAKERS,
    PREPROCESSING_FLAG,
    DefaultLibrary,
    ReplaceEntry,
    ReplaceList,
    Spec,
    SpecFiles,
    add_main,
    annotate,
    binding_of,
    copy_sequence,
    entry_binding,
    is_any_op,
    kernels_of,
    link_replace_entries,
    link_specs,
    load_spec,
    pairs_of,
    read_specs,
    spec_module,
    suits,
    unfit_kernels,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

REPLACED_BY: Final = "tuninglink.replaced_by"
"""The tag of an op that an action is applied to: the number of the entry."""

_MOVED: Final = "tuninglink.moved"
"""The name of the location of a constant that was outside of the body that it is in."""


@dataclass(frozen=True)
class Replaced:
    """An op that was replaced by a call of a function of a spec.

    Attributes:
        operation: the name of the op.
        function: the symbol of the function of the program that the op was in.
        place: the place of the op in the program.
        position: the position of the spec among the given ones; their number for a default spec.
        called: the function of the spec, followed by the kernels that it calls, in words.
    """

    operation: str
    function: str
    place: Place | None
    spec: str
    entry: ReplaceEntry
    position: int
    called: str = ""


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
    targets: Sequence[Target],
    given: Sequence[Spec],
    library: DefaultLibrary | None,
    report: Callable[[Diagnostic], None],
    *,
    machine: Target | None = None,
) -> Replacement:
    """Replace ops of a program at `preprocessing` by the entries of specs, the first of which wins.

    An entry applies if it is bound to all targets of the program, or to none, and its kernels run on them. The default spec
    comes last, in a program for one target. A `machine` is the target that the user named: a GPU that runs code for the
    target in the program.

    Raises:
        CompileError: the compiler rejects an entry.
    """
    distinct: Sequence[Target | None] = [*dict.fromkeys(targets)] or [None]
    specs = list(given)
    if library is not None and len(distinct) == 1 and distinct[0] is not None:
        file = library.find(distinct[0])
        if file is not None and file.may_replace:
            specs.append(file.load(thread_context(), upgrade=library.upgrade))
    if machine is not None and machine.backend == "cuda":
        distinct = [
            machine if target and target.backend == "cuda" else target for target in distinct
        ]
    lists, origins, foreign = applicable_entries(specs, distinct, report)
    if not lists:
        return Replacement(foreign=foreign)
    # A function of the program with the name of one of a spec would be called in its place.
    context = lists[0].module.context
    linked = link_replace_entries(lists, context, taken=symbols(program))
    assert linked is not None, "there are entries"
    with _constants_in_bodies(program, linked):
        errors = _run(program, _tagging(linked))
    # Read the tags, then remove the replaced ops and inline the calls.
    replaced: list[Replaced] = []
    failing: list[Replaced] = []

    def read(operation: mlir.Operation) -> None:
        if REPLACED_BY not in operation.attributes:
            return
        position, entry = origins[mlir.IntegerAttr(operation.attributes[REPLACED_BY]).value]
        del operation.attributes[REPLACED_BY]
        around = (op for op in ancestors(operation) if op.name == names.UTIL_FUNCTION)
        function = next(map(symbol_name, around), None) or ""
        place, source = place_of(operation.location), specs[position].source
        replacing = specs[position].replacing
        own = replacing.table.symbols.get(entry.function) if replacing else None
        kernels = map(str, kernels_of(own)) if own is not None else ()
        called = ", ".join([entry.function, *kernels])
        item = Replaced(operation.name, function, place, source, entry, position, called)
        # Nothing uses an op any more that was replaced.
        is_used = any(True for result in operation.results for _ in result.uses)
        (failing if errors and is_used else replaced).append(item)

    visit(program, read)
    if not errors:
        with context, mlir.Location.unknown():
            cleaning = spec_module("clean_up")
        add_main(cleaning, ())
        errors = _run(program, cleaning)
    if errors:
        raise CompileError(_failure(failing or replaced[-1:]), *errors)
    return Replacement(linked, tuple(replaced), foreign)


def with_made_entries(
    program: mlir.Operation,
    targets: Sequence[Target],
    specs: Sequence[Spec],
    placeholders: Sequence[Spec],
) -> list[Spec]:
    """Return specs with the replace entries that the libraries of their placeholders make for a program."""
    given = list(specs)
    for position, placeholder in enumerate(placeholders):
        if not placeholder.maker:
            continue
        text, entries = MAKERS[placeholder.maker].replacing(program, targets), None
        if text:
            bound_to = binding_of(placeholder.module) or ()
            made = load_spec(text.encode(), name=placeholder.source, targets=bound_to)
            entries = made.replacing
        given[position] = replace(given[position], replacing=entries)
    return given


def _failure(failing: Sequence[Replaced]) -> Diagnostic:
    """Return the error before those of the compiler: the op that could not be replaced, and the remedy."""
    if not failing:
        return error("replace entries failed")
    (op, *_) = failing
    matcher, function = op.entry.matcher, op.entry.function
    message = f"replace entry '{matcher}' of '{op.spec}' failed on this {op.operation}"
    remedy = f"'@{matcher}' must match only what '@{function}' takes and returns; 'tuninglink check' compares what it shows of that"
    return error(message, op.place, (note("the replace entry", op.entry.place), note(remedy)))


def applicable_entries(
    specs: Sequence[Spec], targets: Sequence[Target | None], report: Callable[[Diagnostic], None]
) -> tuple[list[ReplaceList], list[tuple[int, ReplaceEntry]], dict[int, str]]:
    """Return the replace entries for targets, each with the position of its spec, and why other specs do not apply.

    `report` receives a warning for an entry that does not apply beside others of its spec that do.
    """
    lists: list[ReplaceList] = []
    origins: list[tuple[int, ReplaceEntry]] = []
    foreign: dict[int, str] = {}
    for position, spec in enumerate(specs):
        if spec.replacing is None:
            continue
        kept, unfit = [], list[tuple[ReplaceEntry, str]]()
        entries = spec.replacing.entries
        bindings = [entry_binding(entry, spec.replacing) for entry in entries]
        for at, (entry, binding) in enumerate(zip(entries, bindings, strict=True)):
            function = spec.replacing.table.symbols.get(entry.function)
            bound_to = [target for target in targets if suits(binding, target, ())]
            reasons = {
                target: next(unfit_kernels(function, binding, target), "") for target in bound_to
            }
            unfit += [(entry, reason) for reason in reasons.values() if reason]
            suiting = [target for target in bound_to if not reasons[target]]
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
            for entry, why in unfit:
                message = (
                    f"replace entry '{entry.matcher}' of '{spec.source}' is not applied: {why}"
                )
                report(Diagnostic(Severity.WARNING, message, entry.place))
        else:
            bound = ", ".join(dict.fromkeys(name for binding in bindings for name in binding or ()))
            own = ", ".join(str(target) for target in targets if target) or "no known target"
            why = next((reason for _, reason in unfit), f"it is bound to {bound or 'no target'}")
            foreign[position] = f"{why}, the program is for {own}"
    return lists, origins, foreign


def _replacing(sources: Sequence[str], sink: DiagnosticSink, *, upgrade: bool) -> list[Spec]:
    """Return the specs among sources that have replace entries."""
    files = read_specs(sources, sink)
    specs = SpecFiles(files, upgrade=upgrade, diagnostics=sink)
    return [spec for spec in specs if spec.replacing is not None]


@contextmanager
def replacing_flags(
    program: str,
    sources: Sequence[str],
    flags: Sequence[str],
    target_of: Callable[[Sequence[str]], Target],
    report: Callable[[Diagnostic], None],
    *,
    upgrade: bool = True,
) -> Iterator[tuple[str, ...]]:
    """Yield flags with which the compiler itself applies the replace entries of specs to a program; none without entries.

    The file that they name exists during the block.

    Args:
        program: the path of the program.
        sources: the specs, as on the command line.
        flags: the other flags of the compiler.
        target_of: returns the target of flags; an error means that the program names it.
        report: receives warnings.
        upgrade: whether specs for an older compiler are upgraded.

    Raises:
        UsageError: the flags name a preprocessing spec as well.
    """
    specs = _replacing(sources, DiagnosticSink(report), upgrade=upgrade)
    targets: list[Target | None] = [None]
    if specs and any(flag.startswith(PREPROCESSING_FLAG) for flag in flags):
        message = f"'{PREPROCESSING_FLAG}' and specs with replace entries cannot be combined here"
        remedy = note("a list of replace entries can be given as another --spec")
        raise UsageError(error(message, notes=[remedy]))
    if specs:
        with suppress(TuninglinkError):
            targets = [target_of(flags)]
    lists, _, _ = applicable_entries(specs, targets, report)
    if not lists:
        yield ()
        return
    # The compiler would call a function of the program that has the name of one of a spec.
    defined = {name for entries in lists for name in entries.table.symbols}
    taken: list[str] = []
    with (
        suppress(OSError, ValueError),
        Path(program).open("rb") as file,
        mmap(file.fileno(), 0, access=ACCESS_READ) as content,
    ):
        taken += (name for name in sorted(defined) if content.find(name.encode()) >= 0)
    linked = link_replace_entries(lists, lists[0].module.context, taken=taken)
    assert linked is not None, "there are entries"
    with temporary_directory() as directory:
        path = directory / "replacing.mlirbc"
        path.write_bytes(to_bytecode(linked.module))
        yield (f"{PREPROCESSING_FLAG}={path}",)


def entries_text(specs: Iterable[Spec]) -> str:
    """Return a preprocessing spec with the replace entries of specs as text; empty without entries."""
    lists = [spec.replacing for spec in specs if spec.replacing is not None]
    linked = link_replace_entries(lists, thread_context())
    return "" if linked is None else Spec(linked.module, "").text()


def with_entries(
    spec: str, forms: str = "", sources: Sequence[str] = (), *, upgrade: bool = True
) -> str:
    """Return a spec with the replace entries of sources, and of a text, before its own."""
    own = entries_text(_replacing(sources, DiagnosticSink(lambda _: None), upgrade=upgrade))
    texts = [text for text in (own, forms) if text]
    if not texts:
        return spec
    specs = [load_spec(text.encode()) for text in (*texts, spec)]
    return link_specs(specs, name=specs[-1].name).spec.text()


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
        # The first operand of a call is the op next to which it is inserted. Another op is tagged only without a call.
        calls = [op for op in body(tagging) if op.name == names.CAST_AND_CALL]
        arguments = [call.operands[0] for call in calls] or [
            argument
            for argument in tagging.regions[0].blocks[0].arguments
            if is_any_op(argument.type)
        ]
        with module.context, tagging.location:
            if arguments and isinstance(arguments[0], mlir.BlockArgument):
                with mlir.InsertionPoint.at_block_begin(tagging.regions[0].blocks[0]):
                    annotate(arguments[0], REPLACED_BY, number)
            elif arguments:
                with mlir.InsertionPoint(calls[0]):
                    annotate(arguments[0], REPLACED_BY, number)
            pairs.append((matcher, mlir.FlatSymbolRefAttr.get(symbol_name(tagging) or "")))
    for dag in collect(module, names.MATCH_DAG):
        for generic in collect(dag, names.GENERIC):
            _begin_with_constants(generic)
    main = copy.table.symbols[names.TRANSFORM_MAIN]
    del copy  # Its table has handles to the list.
    main.erase()
    add_main(module, pairs, cleans_up=False)
    return module


@contextmanager
def _constants_in_bodies(program: mlir.Operation, linked: ReplaceList) -> Iterator[None]:
    """Have constants of a program in the bodies that use them, if a matcher shows one there.

    Canonicalization moves constants out of bodies. The compiler's matchers compare no value from outside of a body.
    """
    shown = collect(linked.module, names.MATCH_DAG)
    generics = [generic for dag in shown for generic in collect(dag, names.GENERIC)]
    if not any(collect(generic, names.CONSTANT) for generic in generics):
        yield
        return
    for generic in collect(program, names.GENERIC):
        _begin_with_constants(generic)
    # An action may run passes, which erase ops: there are no handles in the meantime.
    try:
        yield
    finally:
        for function in collect(program, names.UTIL_FUNCTION):
            _end_constants(function)


def _begin_with_constants(generic: mlir.Operation) -> None:
    """Have the constants that a body uses at its beginning, each value once, in the order of their first use.

    Those that were outside of the body have a location that marks them.
    """
    block = generic.regions[0].blocks[0]
    first, *_ = operations = list(block.operations)
    copies: dict[mlir.Attribute, mlir.Operation] = {}
    for operation in operations:
        for position, operand in enumerate(operation.operands):
            constant = defining_op(operand)
            if constant is None or constant.name != names.CONSTANT:
                continue
            value = constant.attributes["value"]
            if value not in copies:
                with mlir.InsertionPoint(first):
                    copies[value] = constant.clone().operation
                if constant.parent != generic:
                    place = constant.location
                    copies[value].location = mlir.Location.name(_MOVED, place, place.context)
            operation.operation.operands[position] = copies[value].results[0]
    for operation in operations:
        if operation.name == names.CONSTANT and not [*operation.results[0].uses]:
            operation.erase()


def _end_constants(function: mlir.Operation) -> None:
    """Move marked constants out of bodies, to equal ones before these, or to the beginning of a function."""
    constants: dict[mlir.Attribute, mlir.Operation] = {}
    for block in function.regions[0].blocks if function.regions else ():
        for operation in list(block.operations):
            if operation.name == names.CONSTANT and block == function.regions[0].blocks[0]:
                constants.setdefault(operation.attributes["value"], operation.operation)
            for copy in collect(operation, names.CONSTANT):
                location = copy.location
                if not (isinstance(location, mlir.NameLoc) and location.name_str == _MOVED):
                    continue
                copy.location = location.child_loc
                if copy.parent is None or copy.parent.name != names.GENERIC:
                    continue  # a pass has moved it
                value = copy.attributes["value"]
                if value not in constants:
                    with mlir.InsertionPoint.at_block_begin(function.regions[0].blocks[0]):
                        constants[value] = copy.clone().operation
                copy.results[0].replace_all_uses_with(constants[value].results[0])
                copy.erase()


def _run(program: mlir.Operation, spec: mlir.Operation) -> Sequence[Diagnostic]:
    """Run `@__transform_main` of a module on a program, which may be in another context. Return the errors."""
    # The pass reads a file. This one has no name, so it vanishes with the process.
    with TemporaryFile() as file:
        file.write(to_bytecode(spec))
        file.flush()
        options = f"transform-spec-path=/dev/fd/{file.fileno()}"
        pipeline = f"builtin.module(iree-preprocessing-transform-interpreter{{{options}}})"
        try:
            PassManager.parse(pipeline, program.context).run(program)
        except mlir.MLIRError as failure:
            return [*map(from_mlir, failure.error_diagnostics)] or [error(str(failure))]
    return ()
