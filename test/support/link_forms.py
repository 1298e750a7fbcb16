"""Every form that linking and the optimizations can give some specs, compared with the specs one by one."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import combinations
from random import Random
from typing import TYPE_CHECKING

from interpreter import apply_spec, apply_to_module
from iree.compiler import ir as mlir
from iree.compiler.passmanager import PassManager
from linked_specs import random_program, random_specs
from sequential import ActionError, Alternatives, apply_one_by_one, attributes_of

from tuninglink.errors import TuninglinkError
from tuninglink.matching import PruningLinker, SignatureReader, index_matchers
from tuninglink.mlir import DiagnosticSink, body, thread_context
from tuninglink.passes.dedupe_sequences import deduplicate_sequences
from tuninglink.passes.drop_shadowed import drop_shadowed
from tuninglink.specs import (
    LinkForm,
    Spec,
    has_entry_point,
    link_nested_specs,
    link_specs,
    load_spec,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from linked_specs import GeneratedSpec
    from sequential import Attributes


def _index(module: mlir.Operation) -> None:
    index_matchers(module, longest=1)


OPTIMIZATIONS: dict[str, Callable[[mlir.Operation], object]] = {
    "deduplicated": deduplicate_sequences,
    "without subsumed entries": drop_shadowed,
    "indexed": _index,
}
COMBINED = [
    chosen
    for count in range(1, len(OPTIMIZATIONS) + 1)
    for chosen in combinations(OPTIMIZATIONS, count)
]
"""The combinations of optimizations, in order; all but the last one of a combination occur earlier in the list."""


@dataclass
class Outcome:
    """The results of comparisons.

    Attributes:
        counts: the numbers of comparisons, and of impossible ones.
        failures: what differed.
    """

    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)


def optimized(spec: Spec, optimization: str) -> Spec:
    """Return a copy of a spec with an optimization applied."""
    module = spec.module.clone()
    OPTIMIZATIONS[optimization](module)
    assert module.verify()
    return Spec(module, spec.source)


def all_optimized(spec: Spec) -> list[Spec]:
    """Return a copy of a spec for each combination of optimizations, as `COMBINED` lists them."""
    done = {(): spec}
    for chosen in COMBINED:
        done[chosen] = optimized(done[chosen[:-1]], chosen[-1])
    return [done[chosen] for chosen in COMBINED]


def forms(
    specs: Sequence[Spec], program: mlir.Operation, *, fails: bool = False
) -> Iterator[tuple[str, Spec | None]]:
    """Yield all forms of the specs: linked in every way, optimized before or after that, and linked again.

    Args:
        specs: the specs.
        program: the program that they are pruned for.
        fails: whether one of them fails, which the compiler's linker hides.
    """
    result = link_specs(specs)
    linked = result.spec
    yield f"{result.form.value}", linked
    for chosen, spec in zip(COMBINED, all_optimized(linked), strict=True):
        yield f"{result.form.value}, {', '.join(chosen)}", spec
    pruned = PruningLinker(specs).link(SignatureReader().read(program))
    yield "pruned", None if pruned is None else pruned.spec
    again = PruningLinker([linked]).link(SignatureReader().read(program))
    yield "linked, then pruned", None if again is None else again.spec
    yield "nested", nested(specs)
    yield "linked again", link_specs([linked]).spec
    inputs = zip(*map(all_optimized, specs), strict=True)
    for chosen, each in zip(COMBINED, inputs, strict=True):
        yield f"{', '.join(chosen)}, then linked", link_specs(each).spec
    for cut in range(1, len(specs)):
        first, last = link_specs(specs[:cut]).spec, link_specs(specs[cut:]).spec
        yield f"the first {cut} linked before", link_specs([first, *specs[cut:]]).spec
        yield f"the last {len(specs) - cut} linked before", link_specs([*specs[:cut], last]).spec
        again = [optimized(first, "indexed"), *specs[cut:]]
        yield f"the first {cut} linked and indexed before", link_specs(again).spec
    for position, spec in enumerate(() if fails else specs):
        if nested_before := nested_by_compiler(spec):
            again = [*specs[:position], nested_before, *specs[position + 1 :]]
            yield f"number {position + 1} nested by the compiler", link_specs(again).spec
            pruned = PruningLinker(again).link(SignatureReader().read(program))
            yield (
                f"number {position + 1} nested by the compiler, pruned",
                None if pruned is None else pruned.spec,
            )


def nested_by_compiler(spec: Spec) -> Spec | None:
    """Return what the compiler's linker makes of a spec that it nests in a module; None where it does not run it."""
    context = mlir.Context()
    context.enable_multithreading(enable=False)
    # Aliases of attributes are defined at the top.
    aliases, start, rest = spec.text().partition("module")
    text = f"{aliases}module attributes {{transform.with_named_sequence}} {{ {start}{rest} }}"
    module = mlir.Module.parse(text, context)
    try:
        manager = PassManager.parse("builtin.module(iree-codegen-link-tuning-specs)", context)
        manager.run(module.operation)
    except mlir.MLIRError:
        return None
    linked = module.operation
    is_nested = has_entry_point(linked) and any(op.name == "builtin.module" for op in body(linked))
    return load_spec(str(linked).encode(), name="nested by the compiler") if is_nested else None


def nested(specs: Sequence[Spec]) -> Spec:
    """Link specs that are nested in one module."""
    with thread_context(), mlir.Location.unknown():
        container = mlir.Module.create().operation
        container.attributes["sym_name"] = mlir.StringAttr.get("outer")
        container.attributes["transform.with_named_sequence"] = mlir.UnitAttr.get()
        with mlir.InsertionPoint(container.regions[0].blocks[0]):
            for number, each in enumerate(specs):
                module = each.module.clone().operation
                name = module.attributes.get("sym_name")
                taken = "" if name is None or name.value == "__kernel_config" else f"_{number}"
                if name is not None and (taken or number):
                    module.attributes["sym_name"] = mlir.StringAttr.get(
                        f"{name.value}{taken or number}"
                    )
    link_nested_specs(container, None, DiagnosticSink(lambda _: None))
    assert container.verify()
    return Spec(container, "nested")


def compare(specs: Sequence[GeneratedSpec], program: str, outcome: Outcome) -> None:
    """Compare all forms of some specs with the specs one by one, on one program."""
    counts = outcome.counts
    module = mlir.Module.parse(program, thread_context()).operation
    before = attributes_of(module)
    original = module.clone()
    expected: Sequence[Attributes] | str
    found: Sequence[Attributes] | str
    # Alternatives replace the function with a copy, which the compiler does not survive.
    to_module = any(isinstance(step, Alternatives) for each in specs for step in each.walks.steps)
    apply = apply_to_module if to_module else apply_spec
    try:
        walks = [each.walks for each in specs]
        module = apply_one_by_one(walks, module, to_module=to_module)
        module.verify()  # An action may have put what is none of a module's attributes on one.
        expected = attributes_of(module)
    except ActionError:
        expected = AN_ERROR
        counts["scenarios in which an action fails"] += 1
    except (mlir.MLIRError, ValueError):
        counts["scenarios that the interpreter refuses"] += 1
        return
    counts["scenarios"] += 1
    counts["scenarios in which something is configured"] += expected not in (before, AN_ERROR)
    loaded = [load_spec(each.text.encode(), name=f"spec {n}") for n, each in enumerate(specs)]
    warnings: list[str] = []
    link_specs(loaded, diagnostics=DiagnosticSink(lambda each: warnings.append(each.message)))
    counts["scenarios with a warning"] += bool(warnings)
    what, differs = "nothing", False
    try:
        for what, spec in forms(loaded, original, fails=expected == AN_ERROR):
            counts["comparisons"] += 1
            counts[f"comparisons: {_kind(what)}"] += 1
            try:
                found = before if spec is None else attributes_of(apply(spec, program))
            except (mlir.MLIRError, ValueError):
                found = AN_ERROR
            if found == expected:
                continue
            assert warnings, _difference(expected, found)
            counts["comparisons that differ, with a warning"] += 1
            differs = True
    except (AssertionError, mlir.MLIRError, TuninglinkError) as error:
        texts = "\n\n".join([program, *(each.text for each in specs)])
        outcome.failures.append(f"'{what}', or what comes behind it: {error}\n{texts}")
    counts["scenarios with a warning that differ"] += differs


AN_ERROR = "an error"


def _kind(what: str) -> str:
    for form in LinkForm:
        if what.startswith(form.value):
            return form.value
    return "pruned, nested, or linked again"


def _difference(expected: Sequence[Attributes] | str, found: Sequence[Attributes] | str) -> str:
    if isinstance(expected, str) or isinstance(found, str) or len(expected) != len(found):
        return f"one by one {_counted(expected)}, but {_counted(found)}"
    lines = [
        f"op {number}: {_shown(one)} one by one, but {_shown(other)}"
        for number, (one, other) in enumerate(zip(expected, found, strict=True))
        if one != other
    ]
    return "\n".join(lines)


def _counted(ops: Sequence[Attributes] | str) -> str:
    return ops if isinstance(ops, str) else f"{len(ops)} ops"


def _shown(attributes: dict[str, mlir.Attribute]) -> str:
    shown = [f"{name} = {value}" for name, value in attributes.items() if "map" not in name]
    return "{" + ", ".join(shown) + "}"


def run_scenario(seed: int, number: int, outcome: Outcome) -> None:
    """Compare on the random scenario with this seed and number."""
    random = Random(f"{seed}/{number}")
    program = random_program(random)
    specs = random_specs(random)
    failures = len(outcome.failures)
    compare(specs, program, outcome)
    for position in range(failures, len(outcome.failures)):
        outcome.failures[position] = f"scenario {number}: {outcome.failures[position]}"
