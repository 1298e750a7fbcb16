"""Entries of preprocessing specs that put a form in the place of an op: a function, matchers and a replacing sequence.

A matcher shows the op itself, and the producers that are a part of its problem: names, attributes, indexing maps, types,
and the bodies of regions. The compiler's interpreter compares all of it; `transform.iree.match.attention` and `.contraction` compare neither bodies, nor scales,
nor what an accumulation starts from. Each other value may be any, since the function receives it.

The name of a function has a digest of its content: importing a function keeps one of the same name that the program
already has.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from iree.compiler import ir as mlir

from tuninglink.mlir import names, symbols, thread_context, to_text
from tuninglink.payloads import Value, constant
from tuninglink.specs import add_main, any_op, bind, create, named_sequence, yield_

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from tuninglink.replacing.problem import Spelled
    from tuninglink.specs import Pair

_ANY_VALUE: Final = "!transform.any_value"
_DIGITS: Final = 8


class Form(Protocol):
    """Another way to compute an op. It is data: equal forms have equal entries."""

    @property
    def problem(self) -> Spelled:
        """The op that it replaces."""

    @property
    def label(self) -> str:
        """Its name for symbols, without characters that need quotes."""

    @property
    def spellings(self) -> Sequence[Form]:
        """The form for each spelling of its problem, its own first."""

    @property
    def passed(self) -> Sequence[int]:
        """The positions of the operands that it needs."""

    def build(self, operands: Sequence[Value]) -> Value:
        """Build the form from the operands that it needs at the current insertion point."""


@runtime_checkable
class CallsCode(Form, Protocol):
    """A form whose function calls code that is not in the function."""

    @property
    def targets(self) -> Sequence[str]:
        """The targets that its entry is bound to; none for all."""

    @property
    def imports(self) -> Sequence[str]:
        """The symbols that its function refers to, which `build` adds to the module."""


def entry(form: Form) -> str:
    """Return the functions, matchers and replacing sequences of a form as a module without an entry point."""
    return _library([form], has_main=False)


def spec(forms: Sequence[Form], *, as_written: bool = False) -> str:
    """Return a preprocessing spec that replaces ops by forms, in all spellings or just `as_written`.

    Where several replace the same op, the one with the largest graph does, and among equal ones the first.
    """
    return _library(forms, has_main=True, as_written=as_written)


def comparison(form: Form) -> str:
    """Return a program with the functions `@plain`, the op, and `@form`.

    Both take the tensors that the form needs. Numbers are constants, see `Spelled.numbers`.
    """
    with thread_context(), mlir.Location.unknown():
        module = mlir.Module.create().operation
        kinds = form.problem.tensors()
        numbers = form.problem.numbers()
        taken = [position for position in form.passed if position not in numbers]
        for name in ("plain", "form"):
            block = _add_function(module, name, [kinds[at] for at in taken], kinds[-1])
            with mlir.InsertionPoint(block):
                values: dict[int, Value] = dict(zip(taken, block.arguments, strict=True))
                values |= {at: constant(kinds[at], number) for at, number in numbers.items()}
                built = form if name == "form" else form.problem
                result = built.build([values[at] for at in form.passed])
                mlir.Operation.create("func.return", operands=[result])
        module.verify()
        return to_text(module)


def _library(forms: Sequence[Form], *, has_main: bool, as_written: bool = False) -> str:
    """Return the entries of forms, with an entry point or without one."""
    with thread_context(), mlir.Location.unknown():
        module = mlir.Module.create().operation
        module.attributes[names.WITH_NAMED_SEQUENCE] = mlir.UnitAttr.get()
        # Each spelling of a problem has one matcher, each function one sequence that calls it.
        replacing: dict[str, str] = {}
        matched: set[Spelled] = set()
        pairs: list[tuple[int, Pair]] = []
        for form in forms:
            # Where the beginning of a graph has a form of its own, whose op comes first, it is matched from that op on.
            distances = {form.problem.ops_after(other.problem) for other in forms} | {0}
            for spelled in form.spellings[: 1 if as_written else None]:
                if spelled.problem in matched:
                    continue
                matched.add(spelled.problem)
                function = _add_form(module, spelled, replacing)
                if function not in replacing:
                    replacing[function] = f"replace_{function}"
                    count = len(spelled.problem.tensors())
                    imports = [*spelled.imports] if isinstance(spelled, CallsCode) else []
                    imports.append(function)
                    _add_replacing(module, replacing[function], imports, spelled.passed, count)
                for distance in sorted(distances, reverse=True):
                    matcher = f"match_{function}_{len(pairs)}"
                    size = _add_matcher(module, matcher, spelled.problem, distance)
                    if isinstance(form, CallsCode) and form.targets:
                        bind(symbols(module)[matcher], form.targets)
                    named = (matcher, replacing[function])
                    matching, action = (mlir.FlatSymbolRefAttr.get(symbol) for symbol in named)
                    pairs.append((size, (matching, action)))
        if has_main:
            # A smaller graph would compute its product once more beside the rest of a larger one: silu(x) is x * sigmoid(x).
            ordered = sorted(pairs, key=lambda pair: -pair[0])
            add_main(module, [pair for _, pair in ordered])
        module.verify()
        return to_text(module)


def _add_form(module: mlir.Operation, form: Form, added: Container[str]) -> str:
    """Add the function of a form unless it has been added, and return its name."""
    kinds = form.problem.tensors()
    inputs = [kinds[at] for at in form.passed]
    block = _add_function(module, form.label, inputs, kinds[-1], names.UTIL_FUNCTION)
    with mlir.InsertionPoint(block):
        mlir.Operation.create("util.return", operands=[form.build([*block.arguments])])
    function = block.owner
    digest = hashlib.sha256(to_text(function.operation).encode()).hexdigest()[:_DIGITS]
    name = f"{form.label}_{digest}"
    if name in added:
        function.erase()
    else:
        function.attributes[names.SYMBOL_NAME] = mlir.StringAttr.get(name)
        function.attributes[names.FORM] = mlir.StringAttr.get(str(form))
    return name


def _add_function(
    module: mlir.Operation,
    name: str,
    inputs: Sequence[mlir.Type],
    result: mlir.Type,
    kind: str = names.FUNCTION,
) -> mlir.Block:
    """Add a function, private if it is a `util.func`, and return its block."""
    attributes: dict[str, mlir.Attribute] = {
        names.SYMBOL_NAME: mlir.StringAttr.get(name),
        "function_type": mlir.TypeAttr.get(mlir.FunctionType.get([*inputs], [result])),
    }
    if kind == names.UTIL_FUNCTION:
        attributes["sym_visibility"] = mlir.StringAttr.get("private")
        untied = mlir.IntegerAttr.get(mlir.IndexType.get(), -1)
        attributes["tied_operands"] = mlir.ArrayAttr.get([untied])
    with mlir.InsertionPoint(module.regions[0].blocks[0]):
        function = mlir.Operation.create(kind, attributes=attributes, regions=1)
    block: mlir.Block = function.regions[0].blocks.append(*inputs)
    return block


def _add_sequence(
    module: mlir.Operation,
    name: str,
    ownership: str,
    inputs: Sequence[mlir.Type],
    results: Sequence[mlir.Type] = (),
) -> mlir.Block:
    with mlir.InsertionPoint(module.regions[0].blocks[0]):
        sequence = named_sequence(name, inputs, results, ownership)
    block: mlir.Block = sequence.regions[0].blocks[0]
    return block


def _add_matcher(module: mlir.Operation, name: str, problem: Spelled, distance: int) -> int:
    """Add a matcher of a problem that takes any values as its operands, and yields the op, its operands and its result.

    It starts at an op with a distance from that of the problem: each op between is the only user of the one before. Return
    the number of ops of its graph.
    """
    values = [mlir.Type.parse(_ANY_VALUE)] * 2
    block = _add_sequence(module, name, names.READONLY, [any_op()], [any_op(), *values])
    with mlir.InsertionPoint(block):
        root: Value = block.arguments[0]
        for _ in range(distance):
            root = _add_user(root)
        dag = mlir.Operation.create(names.MATCH_DAG, operands=[root], results=values, regions=1)
        kinds = problem.tensors()
        locations = [mlir.Location.unknown()] * len(kinds)
        shown = dag.regions[0].blocks.append(*kinds, arg_locs=locations)
        with mlir.InsertionPoint(shown):
            problem.build(list(shown.arguments))
            yield_([])
        yield_([root, *dag.results])
    return len(shown.operations)


def _add_user(root: Value) -> Value:
    """Build the only user of the result of an op."""
    match = mlir.Operation.create(
        names.MATCH_STRUCTURED, operands=[root], results=[any_op()], regions=1
    )
    with mlir.InsertionPoint(match.regions[0].blocks.append(any_op())):
        position = mlir.IntegerAttr.get(mlir.IntegerType.get_signless(64), 0)
        user = create(
            names.MATCH_USER,
            [*match.regions[0].blocks[0].arguments],
            [any_op()],
            position=position,
            single=mlir.UnitAttr.get(),
        )
        create(f"{names.MATCH_STRUCTURED}.yield", [*user], [])
    result: Value = match.results[0]
    return result


def _add_replacing(
    module: mlir.Operation, name: str, imports: Sequence[str], passed: Sequence[int], count: int
) -> None:
    """Add a sequence that imports symbols, the last of which is a function, and replaces results of an op by those of a call.

    The function takes the operands at the positions `passed` of the `count` that the problem has; only an op without
    producers in its problem has operands that are not passed.
    """
    values = [mlir.Type.parse(_ANY_VALUE)] * 2
    block = _add_sequence(module, name, names.READONLY, [any_op(), *values])
    with mlir.InsertionPoint(block):
        inputs: Value
        root, inputs, outputs = block.arguments
        if len(passed) < count:
            positions = mlir.DenseI64ArrayAttr.get([*passed])
            (inputs,) = create(names.GET_OPERAND, [root], [_ANY_VALUE], raw_position_list=positions)
        (table,) = create(names.NEAREST_SYMBOL_TABLE, [root], [any_op()])
        for symbol in imports:
            (imported,) = create(
                names.IMPORT_SYMBOL,
                [table],
                [any_op()],
                symbol=mlir.FlatSymbolRefAttr.get(symbol),
                if_undefined=mlir.UnitAttr.get(),
            )
        call = mlir.Operation.create(
            "transform.util.cast_and_call",
            operands=[root, inputs, outputs, imported],
            results=[any_op()],
            attributes={
                "insert_after": mlir.UnitAttr.get(),
                "operandSegmentSizes": mlir.DenseI32ArrayAttr.get([1, 1, 1, 1]),
            },
            regions=1,
        )
        with mlir.InsertionPoint(call.regions[0].blocks.append()):
            create("transform.type_conversion.tensor.cast_shape_dynamic_dims", [])
        yield_([])
