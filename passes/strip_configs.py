"""The pass `tuninglink-strip-configs`."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar, Final

from iree.compiler import ir as mlir

from tuninglink.errors import PipelineError
from tuninglink.mlir import (
    DiagnosticSink,
    Pass,
    entries_of,
    error,
    names,
    option,
    symbol_name,
    visit,
)
from tuninglink.specs import check_is_program


class ConfigurationKind(Enum):
    """The kinds of configuration. The value is the name in options."""

    TRANSLATION_INFO = "translation-info"
    LOWERING_CONFIG = "lowering-config"
    COMPILATION_INFO = "compilation-info"
    DECOMPOSITION_CONFIG = "decomposition-config"
    UKERNEL = "ukernel"
    CONSTRAINTS = "constraints"
    ROOT_OP = "root-op"
    EMBEDDED_SPEC = "embedded-spec"
    MARKER = "marker"


@dataclass(frozen=True)
class StripConfigs(Pass):
    """Remove all configurations from a program.

    The compiler then chooses its own configurations again, and a spec applied to the result finds no configuration
    that takes precedence over it. For example, the dispatch benchmarks of `--iree-hal-dump-executable-benchmarks-to`
    contain configurations.

    The pass removes, from operations of all kinds:

    - `translation-info`: the attribute `translation_info`, of functions and exports;
    - `lowering-config`: the attribute `lowering_config`;
    - `compilation-info`: the attribute `compilation_info`;
    - `decomposition-config`: `qk_attrs` and `pv_attrs` in `decomposition_config`; the rest of it stays;
    - `ukernel`: the attribute `iree_codegen.ukernel` with the code of the ukernel: the attribute
    `hal.executable.objects` of the same op, or a function without other uses;
    - `constraints`: the operations `iree_codegen.smt.constraints`;
    - `root-op`: the attribute `root_op`;
    - `embedded-spec`: the attribute `iree_codegen.tuning_spec_mlirbc`;
    - `marker`: the attributes in the option `markers`.

    Attributes inside dictionaries of other attributes are removed as well, and so are dictionaries that become empty.
    The bodies of transform sequences are not changed.

    The pass does not undo code generation after the choice of a configuration: it applies up to the phase
    `executable-configurations`.

    Example:
        Before:

        ```mlir
        func.func @pack(…) attributes {translation_info = #translation} {
          %0 = linalg.pack … {lowering_config = #config, root_op = #iree_codegen.root_op<set = 0>} : …
          %1:3 = iree_linalg_ext.online_attention {
              decomposition_config = {qk_attrs = {lowering_config = #config}, use_exp2 = false}} …
        }
        ```

        After:

        ```mlir
        func.func @pack(…) {
          %0 = linalg.pack … : …
          %1:3 = iree_linalg_ext.online_attention {decomposition_config = {use_exp2 = false}} …
        }
        ```
    """

    name: ClassVar[str] = "tuninglink-strip-configs"
    anchor: ClassVar[str | None] = None

    keep: tuple[str, ...] = option(
        (), f"kinds to keep: {', '.join(kind.value for kind in ConfigurationKind)}"
    )
    markers: tuple[str, ...] = option(
        (names.SPEC_APPLIED,), "attributes that only mark configured operations"
    )

    def apply(self, operation: mlir.Operation, diagnostics: DiagnosticSink) -> None:  # noqa: ARG002 - it cannot fail after the checks
        """Strip `operation` and everything inside it."""
        keep = []
        kinds = [kind.value for kind in ConfigurationKind]
        for name in self.keep:
            if name not in kinds:
                nearest = difflib.get_close_matches(name, kinds, n=1)
                hint = f"did you mean '{nearest[0]}'?" if nearest else ""
                hint = hint or f"expected one of {', '.join(kinds)}"
                message = f"{self.name}: unknown kind '{name}' in option 'keep'; {hint}"
                raise PipelineError(error(message))
            keep.append(ConfigurationKind(name))
        check_is_program(operation)
        strip_configurations(operation, keep, self.markers)


def strip_configurations(
    root: mlir.Operation,
    keep: Collection[ConfigurationKind] = (),
    markers: Collection[str] = (names.SPEC_APPLIED,),
) -> int:
    """Remove the configurations from `root` and everything inside it, in one walk.

    Attributes are removed by name, wherever they occur: on any operation, inherent or discardable, or in a dictionary
    inside another attribute. Dictionaries that become empty are removed as well. Transform sequences are skipped,
    since a spec is not a configuration before it is applied.

    `markers` are the attributes that mark an operation as configured. Return the number of removed or changed attributes
    and erased operations.
    """
    stripping = _Stripping(frozenset(keep), frozenset(markers))
    visit(root, stripping.inspect)
    return stripping.carry_out()


_KINDS: Final = {
    names.TRANSLATION_INFO: ConfigurationKind.TRANSLATION_INFO,
    names.LOWERING_CONFIG: ConfigurationKind.LOWERING_CONFIG,
    names.COMPILATION_INFO: ConfigurationKind.COMPILATION_INFO,
    names.UKERNEL: ConfigurationKind.UKERNEL,
    names.ROOT_OP: ConfigurationKind.ROOT_OP,
    names.EMBEDDED_SPEC: ConfigurationKind.EMBEDDED_SPEC,
}
"""The configuration attributes, for any operation."""

_DECOMPOSED: Final = frozenset({"qk_attrs", "pv_attrs"})
"""The configurations of the two matmuls of an attention, in its `decomposition_config`."""

_UKERNEL_OBJECTS: Final = "hal.executable.objects"
"""The code of a ukernel, which the compiler attaches next to the name of the ukernel."""


class _Stripping:
    """The pending removals: collected in a walk, then carried out."""

    def __init__(self, keep: frozenset[ConfigurationKind], markers: frozenset[str]) -> None:
        kinds = _KINDS | dict.fromkeys(markers, ConfigurationKind.MARKER)
        self._removed = frozenset(name for name, kind in kinds.items() if kind not in keep)
        self._kept = frozenset(name for name, kind in kinds.items() if kind in keep)
        if ConfigurationKind.DECOMPOSITION_CONFIG in keep:
            self._kept |= {names.DECOMPOSITION_CONFIG}
        self._removes_constraints = ConfigurationKind.CONSTRAINTS not in keep
        self._changes: list[tuple[mlir.Operation, str, mlir.Attribute | None]] = []
        self._erased: list[mlir.Operation] = []
        self._ukernels: set[mlir.Attribute] = set()
        self._functions: list[mlir.Operation] = []
        self._called: set[str] = set()

    def inspect(self, operation: mlir.Operation) -> mlir.WalkResult | None:
        """Collect the removals from an operation."""
        if operation.name == names.NAMED_SEQUENCE:
            return mlir.WalkResult.SKIP
        if operation.name == names.CONSTRAINTS:
            if self._removes_constraints:
                self._erased.append(operation)
            return mlir.WalkResult.SKIP  # Kept constraints need all their attributes.
        attributes = operation.attributes
        for name, attribute in attributes.items():
            cleaned = self._clean(name, attribute)
            if cleaned is not attribute:
                self._changes.append((operation, name, cleaned))
        if names.UKERNEL in self._removed:
            # Collect the code of a ukernel: a binary on the same op, or a function.
            ukernel = operation.attributes.get(names.UKERNEL)
            if ukernel is not None:
                self._ukernels.add(ukernel)
                if _UKERNEL_OBJECTS in operation.attributes:
                    self._changes.append((operation, _UKERNEL_OBJECTS, None))
            if operation.name == names.UTIL_FUNCTION:
                self._functions.append(operation)
            elif operation.name == names.UTIL_CALL:
                callee = operation.attributes["callee"]
                if isinstance(callee, mlir.FlatSymbolRefAttr):
                    self._called.add(callee.value)
        return None

    def carry_out(self) -> int:
        """Carry out the removals, and return their number."""
        # A function that is only the code of a ukernel that was removed is erased.
        for function in self._functions if self._ukernels else ():
            name = symbol_name(function)
            if name is not None and name not in self._called:
                quoted = mlir.StringAttr.get(name, function.context)
                descriptor = f"#iree_codegen.ukernel_descriptor<{quoted}, tensor>"
                if mlir.Attribute.parse(descriptor, function.context) in self._ukernels:
                    self._erased.append(function)
        self._functions.clear()
        count = len(self._changes) + len(self._erased)
        for operation, name, attribute in self._changes:
            if attribute is None:
                del operation.attributes[name]
            else:
                operation.attributes[name] = attribute
        self._changes.clear()
        while self._erased:
            self._erased.pop().erase()
        return count

    def _clean(self, name: str, attribute: mlir.Attribute) -> mlir.Attribute | None:
        """Return the rest of an attribute: itself, another one, or None."""
        if name in self._removed:
            return None
        if name in self._kept:
            return attribute
        if isinstance(attribute, mlir.DictAttr):
            dropped = _DECOMPOSED if name == names.DECOMPOSITION_CONFIG else frozenset[str]()
            entries = entries_of(attribute)
            left: dict[str, mlir.Attribute] = {}
            for key, entry in entries.items():
                cleaned = None if key in dropped else self._clean(key, entry)
                if cleaned is not None:
                    left[key] = cleaned
            if left == entries:
                return attribute
            return mlir.DictAttr.get(left, context=attribute.context) if left else None
        if isinstance(attribute, mlir.ArrayAttr):
            # Clean the elements of an array. Emptied elements stay, to keep the positions of the others.
            elements: list[mlir.Attribute] = []
            for element in attribute:
                cleaned = self._clean("", element)
                emptied = mlir.DictAttr.get({}, context=attribute.context)
                elements.append(emptied if cleaned is None else cleaned)
            if elements == list(attribute):
                return attribute
            return mlir.ArrayAttr.get(elements, context=attribute.context)
        return attribute
