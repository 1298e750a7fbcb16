"""Symbols and their uses, fresh names, walks over operations, and access to the parameters of attributes."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeVar

from iree.compiler import ir as mlir

from tuninglink.errors import escaped
from tuninglink.mlir import names

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence


def symbol_name(operation: mlir.Operation | mlir.OpView) -> str | None:
    """Return the name of the symbol that `operation` defines, or None."""
    attribute = operation.attributes.get(names.SYMBOL_NAME)
    return attribute.value if isinstance(attribute, mlir.StringAttr) else None


def symbols(table: mlir.Operation | mlir.OpView) -> dict[str, mlir.Operation]:
    """Return the symbols that `table` defines, by name, in order."""
    return {name: op for op in body(table) if (name := symbol_name(op)) is not None}


def join_path(path: Iterable[str]) -> str:
    """Return a nested reference as one string: names joined with `::`, quoted and escaped where necessary.

    Different references give different strings: a symbol named `a::b` differs from the symbol `b` in `a`.
    """
    return "::".join(
        name
        if ":" not in name and '"' not in name and name.isprintable()
        else '"' + escaped(name.replace("\\", "\\\\").replace('"', '\\"')) + '"'
        for name in path
    )


def reference(attribute: mlir.Attribute) -> str:
    """Return a symbol reference as one string, as `join_path` writes it."""
    if isinstance(attribute, mlir.FlatSymbolRefAttr):
        return join_path((attribute.value,))
    assert isinstance(attribute, mlir.SymbolRefAttr)
    return join_path(attribute.value)


def split_path(path: str) -> list[str]:
    """Return the names of a string that `join_path` wrote."""
    if '"' not in path:
        return path.split("::")

    path_names = []
    for match in _PATH_NAME.finditer(path):
        quoted, plain = match.groups()
        if quoted is None:
            path_names.append(plain)
            continue
        decoded = _ESCAPED.sub(
            lambda part: bytes.fromhex(part[1].decode()) if part[1] else part[2], quoted.encode()
        )
        path_names.append(decoded.decode())
    return path_names


class FreshNames:
    """A generator of unused names, numbered as IREE's linker does: `name`, `name_0`, `name_1` and so on.

    Only their present owners may keep `reserved` names; `start` is the first number to try.
    """

    def __init__(
        self, taken: Iterable[str] = (), reserved: Iterable[str] = (), start: int = 0
    ) -> None:
        self._reserved = set(reserved)
        self._start = start
        self._taken = set(taken)
        self._next: dict[str, int] = {}

    def take(self, name: str) -> str:
        """Reserve and return `name` if it is unused, or else the first unused `name_N`."""
        if name not in self._taken:
            self._taken.add(name)
            return name
        count = self._next.get(name, self._start)
        while (fresh := f"{name}_{count}") in self._reserved or fresh in self._taken:
            count += 1
        self._next[name] = count + 1
        self._taken.add(fresh)
        return fresh


def rename_symbols(
    operations: Iterable[mlir.Operation],
    renames: Mapping[str, str],
    nested: Mapping[tuple[str, str], str] = MappingProxyType({}),
) -> None:
    """Rename symbols that `operations` of one table define and all references in them, in one walk.

    References are renamed wherever they occur: in the callee of an `include`, in the lists of a `foreach_match`, at
    the root of a nested reference, inside arrays, dictionaries and dialect attributes. If the operations import a
    symbol into programs, so are the strings by which the compiler looks the symbol up there. A nested symbol table that
    defines one of the names keeps its references to that name. The program that a matcher shows keeps the
    references to its own symbols.

    Args:
        operations: usually all operations of a module.
        renames: old name to new name. A new name must be unused, or the old name of another renamed symbol. An old
            name without a symbol in the table redirects its references to the symbol of the new name.
        nested: the new names, by nested table and symbol, of symbols of nested tables that move to the outer table.
            References in the nested tables stay as they are.
    """
    operations = list(operations)
    renaming = SymbolRenaming(renames, nested)
    if renaming and operations:
        renaming.follow_imports(operations)
        with operations[0].context, mlir.Location.unknown():
            for operation in operations:
                renaming.rename_symbol(operation, symbol_name(operation))
                renaming.rename_references(operation)


def references(attribute: mlir.Attribute) -> Iterator[tuple[str, ...]]:
    """Yield every reference to a symbol in `attribute`, from the outermost name to the innermost.

    The bindings do not expose the parts of some attributes. Their references are read from the printed form, which may
    yield too many, never too few.
    """
    if isinstance(attribute, _LEAVES):
        return
    if isinstance(attribute, mlir.FlatSymbolRefAttr):
        yield (attribute.value,)
    elif isinstance(attribute, mlir.SymbolRefAttr):
        yield tuple(attribute.value)
    elif isinstance(attribute, mlir.ArrayAttr):
        for element in attribute:
            yield from references(element)
    elif isinstance(attribute, mlir.DictAttr):
        for element in entries_of(attribute).values():
            yield from references(element)
    else:
        for name in _REFERENCE.findall(str(attribute)):
            yield (name.strip('"'),)


def references_in(root: mlir.Operation) -> Iterator[tuple[str, ...]]:
    """Yield every reference to a symbol in `root`, as often as it occurs.

    The program that a matcher shows is left out: its references are to its own symbols.
    """
    reference_paths: list[tuple[str, ...]] = []
    paths_by_attribute: dict[mlir.Attribute, tuple[tuple[str, ...], ...]] = {}

    def visitor(operation: mlir.Operation) -> mlir.WalkResult | None:
        for attribute in operation.attributes.values():
            paths = paths_by_attribute.get(attribute)
            if paths is None:
                paths = paths_by_attribute[attribute] = tuple(references(attribute))
            reference_paths.extend(paths)
        return mlir.WalkResult.SKIP if operation.name in names.SHOWING else None

    visit(root, visitor)
    yield from reference_paths


class SymbolRenaming:
    """A renaming with the arguments of `rename_symbols`. Each distinct attribute is read once."""

    def __init__(
        self,
        renames: Mapping[str, str],
        nested: Mapping[tuple[str, str], str] = MappingProxyType({}),
    ) -> None:
        self._renames = {old: new for old, new in renames.items() if old != new}
        self._nested = nested
        self._strings: dict[str, str] = {}
        self._done: dict[mlir.Attribute, mlir.Attribute] = {}
        self._flat_done: dict[str, mlir.FlatSymbolRefAttr] = {}

    def __bool__(self) -> bool:
        return bool(self._renames or self._nested)

    def follow_imports(self, operations: Iterable[mlir.Operation]) -> None:
        """Also rename, in strings, the symbols that `operations` import into programs."""
        for operation in (op for root in operations for op in collect(root, names.IMPORT_SYMBOL)):
            for path in references(operation.attributes["symbol"]):
                new = self._renames.get(path[0]) if len(path) == 1 else self._nested.get(path)  # type: ignore[arg-type]
                if new is not None:
                    self._strings[path[-1]] = new

    def rename_symbol(self, operation: mlir.Operation, name: str | None) -> None:
        """Rename the symbol `name`, which an op in the table defines."""
        if name in self._renames:
            operation.attributes[names.SYMBOL_NAME] = mlir.StringAttr.get(self._renames[name])

    def rename_references(self, operation: mlir.Operation) -> None:
        """Rename the references in an op in the table."""
        if operation.name != names.MODULE:

            def rename(inner: mlir.Operation) -> mlir.WalkResult | None:
                attributes = inner.attributes
                for name, attribute in attributes.items():
                    if (replaced := self.replace(attribute)) is not attribute:
                        attributes[name] = replaced
                return mlir.WalkResult.SKIP if inner.name in names.SHOWING else None

            visit(operation, rename)
            return
        # The symbols of a nested table hide outer ones.
        hidden = self._renames.keys() & symbols(operation).keys()
        inner = self
        if hidden or self._nested:
            visible = {old: new for old, new in self._renames.items() if old not in hidden}
            inner = SymbolRenaming(visible)
            inner._strings = {old: self._strings[old] for old in self._strings if old in visible}
        for child in body(operation):
            inner.rename_references(child)

    def rename_attribute(self, operation: mlir.Operation | mlir.OpView, name: str) -> None:
        """Rename the references in an attribute of an op in the table, if the op has it."""
        attribute = operation.attributes.get(name)
        if attribute is not None and (replaced := self.replace(attribute)) is not attribute:
            operation.attributes[name] = replaced

    def replace(self, attribute: mlir.Attribute) -> mlir.Attribute:
        """Return an attribute with its references renamed; the same object if it contains none."""
        if isinstance(attribute, mlir.FlatSymbolRefAttr):
            old: str = attribute.value
            if old not in self._renames:
                return attribute
            if old not in self._flat_done:
                self._flat_done[old] = mlir.FlatSymbolRefAttr.get(self._renames[old])
            return self._flat_done[old]
        if isinstance(attribute, _LEAVES):
            return attribute
        if attribute not in self._done:
            replaced: mlir.Attribute
            if isinstance(attribute, mlir.SymbolRefAttr):
                root, first, *nested = attribute.value
                path = [self._renames.get(root, root), first]
                if (root, first) in self._nested:
                    path = [self._nested[root, first]]
                replaced = mlir.SymbolRefAttr.get([*path, *nested])
            elif isinstance(attribute, mlir.ArrayAttr):
                replaced = mlir.ArrayAttr.get([self.replace(element) for element in attribute])
            elif isinstance(attribute, mlir.DictAttr):
                items = entries_of(attribute)
                values = {name: self.replace(value) for name, value in items.items()}
                if isinstance(strategy := items.get(_LOWERING_STRATEGY), mlir.StringAttr):
                    name = self._strings.get(strategy.value, strategy.value)
                    values[_LOWERING_STRATEGY] = mlir.StringAttr.get(name)
                replaced = mlir.DictAttr.get(values)
            else:
                replaced = self._replace_inside(attribute)
            self._done[attribute] = replaced
        # Equal attributes are the same attribute. Returning the argument lets the caller compare by identity.
        cached = self._done[attribute]
        return attribute if cached == attribute else cached

    def _replace_inside(self, attribute: mlir.Attribute) -> mlir.Attribute:
        """Replace references inside an attribute whose parts the bindings do not expose."""
        text = str(attribute)
        present = {name.strip('"') for name in _REFERENCE.findall(text)}
        names_some = bool(self._strings) and '"' in text
        if names_some or not present.isdisjoint(scope for scope, _ in self._nested):
            # Attributes of IREE that hold references and names.
            from iree.compiler.dialects import iree_codegen, iree_gpu  # noqa: PLC0415 - slow to import

            if isinstance(attribute, iree_codegen.CompilationInfoAttr):
                lowering = self.replace(attribute.lowering_config)
                translation = self.replace(attribute.translation_info)
                return iree_codegen.CompilationInfoAttr.get(lowering, translation)
            if isinstance(attribute, iree_gpu.LoweringConfigAttr):
                return iree_gpu.LoweringConfigAttr.get(self.replace(attribute.attributes))
            if isinstance(attribute, iree_codegen.TranslationInfoAttr):
                spec, configuration = attribute.codegen_spec, attribute.configuration
                return iree_codegen.TranslationInfoAttr.get(
                    self.replace(attribute.pass_pipeline),
                    spec and self.replace(spec),
                    attribute.workgroup_size,
                    attribute.subgroup_size,
                    configuration and self.replace(configuration),
                )
            if descriptor := _DESCRIPTOR.fullmatch(text):
                name = mlir.StringAttr(mlir.Attribute.parse(descriptor[2])).value
                new_name = mlir.StringAttr.get(self._strings.get(name, name))
                return mlir.Attribute.parse(f"{descriptor[1]}{new_name}{descriptor[3]}")
        renames = {old: self._renames[old] for old in present if old in self._renames}
        if not renames:
            return attribute
        # MLIR's own replacement handles such attributes, one symbol at a time. The printed form shows the possible
        # symbols, so other replacements can be skipped.
        scratch = mlir.Module.create()
        with mlir.InsertionPoint(scratch.body):
            holder = mlir.Operation.create(names.MODULE, regions=1)
            holder.regions[0].blocks.append()
        holder.attributes[_HOLDER] = attribute
        # In two steps, as a new name may be the old name of another symbol.
        for step, old in enumerate(renames):
            mlir.SymbolTable.replace_all_symbol_uses(old, f"\0{step}", scratch.operation)
        for step, new in enumerate(renames.values()):
            mlir.SymbolTable.replace_all_symbol_uses(f"\0{step}", new, scratch.operation)
        return holder.attributes[_HOLDER]


_LOWERING_STRATEGY: Final = "lowering_strategy"
"""The entry of a lowering config that names a sequence. `LoweringConfigInterpreter.cpp` looks it up."""

_DESCRIPTOR = re.compile(r'(#iree_codegen\.ukernel_descriptor<)(".*")(, \w+>)')
"""A microkernel by name. The bindings have no class for it; `SymbolicUKernelProviderAttr` looks it up."""

_LEAVES = (mlir.UnitAttr, mlir.StringAttr, mlir.TypeAttr, mlir.IntegerAttr, mlir.FloatAttr)
_HOLDER = "tuninglink.attribute"
_PATH_NAME = re.compile(r'"((?:[^"\\]|\\.)*)"|([^:]+)')
_ESCAPED = re.compile(rb"\\(?:([0-9A-F]{2})|(.))", re.DOTALL)
_REFERENCE = re.compile(r'@([A-Za-z_][\w$.-]*|"(?:[^"\\]|\\.)*")')


# --- Walks over operations and over graphs -------------------------------------------------------

Node = TypeVar("Node", bound="Hashable")


def visit(
    root: mlir.Operation | mlir.OpView,
    visitor: Callable[[mlir.Operation], mlir.WalkResult | None],
    order: mlir.WalkOrder = mlir.WalkOrder.PRE_ORDER,
) -> None:
    """Call `visitor` with `root` and every operation inside, parents before their children by default.

    The visitor may return a `WalkResult` to skip the regions of the operation or to end the walk. It may change
    attributes but must not erase or move operations: collect them first. An exception of the visitor ends the walk and
    is raised unchanged, where the bindings' own walk would wrap it.
    """
    raised: list[BaseException] = []

    def callback(operation: mlir.Operation) -> mlir.WalkResult:
        try:
            return visitor(operation) or mlir.WalkResult.ADVANCE
        except BaseException as exception:  # noqa: BLE001 - raised again below
            raised.append(exception)
            return mlir.WalkResult.INTERRUPT

    root.walk(callback, order)
    if raised:
        raise raised[0]


def collect(
    root: mlir.Operation | mlir.OpView,
    *names: str,
    order: mlir.WalkOrder = mlir.WalkOrder.PRE_ORDER,
    nested: bool = True,
) -> list[mlir.Operation]:
    """Return the operations in `root`, including itself, whose name is one of `names`, in walk order; all by default.

    Those inside others of them are left out unless `nested`.
    """
    operations: list[mlir.Operation] = []

    def keep(operation: mlir.Operation) -> mlir.WalkResult | None:
        if names and operation.name not in names:
            return None
        operations.append(operation)
        return None if nested else mlir.WalkResult.SKIP

    visit(root, keep, order)
    return operations


def children(operation: mlir.Operation) -> list[mlir.Operation]:
    """Return the operations directly inside the regions of `operation`, in order.

    Iteration over a block creates an `OpView` for each operation, for which the bindings import the module of its
    dialect: 0.2 s for linalg. A walk does not.
    """
    operations: list[mlir.Operation] = []

    def keep(inner: mlir.Operation) -> mlir.WalkResult | None:
        if inner == operation:
            return None
        operations.append(inner)
        return mlir.WalkResult.SKIP

    visit(operation, keep)
    return operations


def defining_op(value: mlir.Value[Any]) -> mlir.Operation | None:
    """Return the operation with a value as a result; None for the argument of a block."""
    owner = value.owner
    return None if isinstance(owner, mlir.Block) else owner.operation


def constant_value(value: mlir.Value[Any]) -> int | None:
    """Return the value of an integer constant of `arith`; None for any other value."""
    operation = defining_op(value)
    if operation is None or operation.name != "arith.constant":
        return None
    constant = operation.attributes["value"]
    return int(constant.value) if isinstance(constant, mlir.IntegerAttr) else None


def postorder(
    roots: Iterable[Node], successors: Callable[[Node], Iterable[Node]]
) -> Iterator[Node]:
    """Yield the nodes reachable from `roots`, each once and after its successors, except in cycles."""
    entered: set[Node] = set()
    path: list[Node] = []
    waiting = [iter(roots)]
    while waiting:
        node = next((successor for successor in waiting[-1] if successor not in entered), None)
        if node is not None:
            entered.add(node)
            path.append(node)
            waiting.append(iter(successors(node)))
            continue
        waiting.pop()
        if path:
            yield path.pop()


def body(operation: mlir.Operation | mlir.OpView) -> Iterator[mlir.Operation]:
    """Yield the operations directly inside the first region of `operation`, in order.

    Collect them in a list before moving or erasing any of them.
    """
    for block in operation.regions[0].blocks:
        for child in block.operations:
            yield child.operation


# --- Access to the parameters of attributes without classes in the bindings, and ranges of affine expressions


def parameters(attribute: mlir.Attribute) -> mlir.ArrayAttr | None:
    """Return the parameters of an attribute that is printed like an array, or None."""
    inside = str(attribute).partition("<")[2].rpartition(">")[0]  # A type may follow.
    parsed = parse_attribute(f"[{inside}]", attribute.context)
    return parsed if isinstance(parsed, mlir.ArrayAttr) else None


def named_parameters(
    attribute: mlir.Attribute, prefix: str = ""
) -> dict[str, mlir.Attribute] | None:
    """Return the parameters of an attribute that is printed like a dictionary, after a prefix, or None."""
    text = str(attribute)
    if not text.startswith(prefix):
        return None
    inside = text.partition("<")[2].rpartition(">")[0]
    parsed = parse_attribute(f"{{{inside}}}", attribute.context)
    return entries_of(parsed) if isinstance(parsed, mlir.DictAttr) else None


def is_dialect_attribute(attribute: mlir.Attribute) -> bool:
    """Return whether an attribute belongs to a dialect of the compiler, other than MLIR's builtin dialect."""
    return not isinstance(attribute, (*_LEAVES, mlir.ArrayAttr, mlir.DictAttr))


def entries_of(attribute: mlir.Attribute | None) -> dict[str, mlir.Attribute]:
    """Return the entries of a dictionary attribute. Any other attribute has none."""
    if not isinstance(attribute, mlir.DictAttr):
        return {}
    named = (attribute[position] for position in range(len(attribute)))
    return {entry.name: entry.attr for entry in named}


def integers_of(attribute: mlir.Attribute | None) -> list[int]:
    """Return the integers in an array attribute. Any other attribute has none."""
    elements = attribute if isinstance(attribute, mlir.ArrayAttr) else ()
    return [int(element.value) for element in elements if isinstance(element, mlir.IntegerAttr)]


def integer_value(attribute: mlir.Attribute) -> int:
    """Return the value of an integer attribute of any width."""
    assert isinstance(attribute, mlir.IntegerAttr)
    return int(attribute.value)


def parse_attribute(text: str, context: mlir.Context) -> mlir.Attribute | None:
    """Return the attribute that a text denotes, or None if the compiler rejects the text."""
    try:
        return mlir.Attribute.parse(text, context)
    except mlir.MLIRError:
        return None


def value_range(expression: Any, sizes: Sequence[Any]) -> tuple[Any, Any]:
    """Return the least and the greatest value of an affine expression over loops of sizes that are numbers or terms.

    Raises:
        ValueError: it is not a sum of dimensions, constants, and dimensions multiplied by constants.
    """
    if isinstance(expression, mlir.AffineDimExpr):
        return 0, sizes[expression.position] - 1
    if isinstance(expression, mlir.AffineConstantExpr):
        return expression.value, expression.value
    if isinstance(expression, mlir.AffineAddExpr):
        lhs, rhs = (value_range(operand, sizes) for operand in (expression.lhs, expression.rhs))
        return lhs[0] + rhs[0], lhs[1] + rhs[1]
    if isinstance(expression, mlir.AffineMulExpr):
        low, high = value_range(expression.lhs, sizes)
        factor = expression.rhs  # MLIR puts the constant there.
        if isinstance(factor, mlir.AffineConstantExpr):
            ends = low * factor.value, high * factor.value
            return ends if factor.value >= 0 else (ends[1], ends[0])
    raise ValueError(f"the range of '{expression}' cannot be determined")
