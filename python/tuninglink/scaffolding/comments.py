"""The text of an initial spec: the spec as MLIR prints it, with comments above its parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.mlir.contexts import thread_context
from tuninglink.mlir.diagnostics import place_of
from tuninglink.mlir.symbols import symbol_name
from tuninglink.mlir.walk import collect
from tuninglink.spaces.knob_reference import meaning
from tuninglink.spaces.knob_values import AllowedValues, knob_values, tiled_problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tuninglink.scaffolding.scaffold import StartingPoint
    from tuninglink.spaces.provider_registry import ProviderRegistry

_INDENT = "  "


def commented(
    text: str,
    entries: Mapping[str, StartingPoint],
    registry: ProviderRegistry | None,
    heading: Sequence[str],
) -> str:
    """Return a spec with comments on its entries and their knobs.

    Args:
        text: the spec, as MLIR prints it.
        entries: the dispatches of its entries, by the symbol of the matcher.
        registry: the providers of valid values; None to leave them out.
        heading: lines for the beginning.
    """
    # Without aliases, which would be shared, each entry can be edited separately.
    text = str(mlir.Module.parse(text, thread_context()).operation.get_asm(use_local_scope=True))
    module = mlir.Module.parse(text, thread_context())
    above: dict[int, list[str]] = {1: list(heading)}
    for sequence in collect(module.operation, names.NAMED_SEQUENCE):
        point = entries.get(symbol_name(sequence) or "")
        if point is not None:
            above[_line(sequence)] = [f"{_INDENT}// {text_}" for text_ in _about(point)]
            parameter = collect(sequence, names.PARAM_CONSTANT)[0]
            knobs = _about_knobs(point, registry)
            above[_line(parameter)] = [f"{_INDENT * 2}// {knob}" for knob in knobs]
    lines: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        lines += [*above.get(number, ()), line]
    return "\n".join(lines) + "\n"


def _line(operation: mlir.Operation) -> int:
    place = place_of(operation.location)
    assert place is not None  # it was parsed from text
    return place.line


def _about(point: StartingPoint) -> Iterator[str]:
    count = len(point.dispatches)
    yield point.words
    called = "called once" if point.calls == 1 else f"{point.calls:,} calls"
    cost = point.cost
    if cost.flops is not None and cost.bytes is not None:
        called += f"; {cost.flops:,} operations and {cost.bytes:,} bytes a call"
    yield f"{point.dispatches[0]}{f' and {count - 1:,} more' if count > 1 else ''}: {called}"


def _about_knobs(point: StartingPoint, registry: ProviderRegistry | None) -> Iterator[str]:
    """Yield a line for each knob: its name, its value, its meaning, and other valid values."""
    allowed = registry and AllowedValues(point.workload, point.configuration, registry)
    also = ", and the values that are valid while the others stay" if allowed else ""
    yield f"Each knob with its value and its meaning{also}:"
    values = knob_values(point.configuration)
    problem = tiled_problem(point.workload.problem, values)
    for place, value in values.items():
        text = f"{_INDENT}{place} = {value}"
        about = meaning(place, problem)
        yield f"{text}  ({about})" if about else text
        valid = allowed.by_place.get(place) if allowed else None
        if valid is not None:
            alternatives = ", ".join(valid[1:]) or "no other, unless another knob changes, too"
            yield f"{_INDENT * 3}also: {alternatives}"
    if allowed and not allowed.by_place:
        yield f"Other valid values are unknown: {allowed.reason}"
