"""The parts of an initial spec, as data, its text with comments, and the verification of its effects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from iree.compiler import ir as mlir

from tuninglink.compiler.applying import SpecChoice
from tuninglink.compiler.compilation import Compilation, Compiler
from tuninglink.compiler.compile_options import CompileOptions, Phase
from tuninglink.compiler.prepared_dispatches import DispatchSources, executable_name
from tuninglink.compiler.tracing import Applied
from tuninglink.errors import CompileError
from tuninglink.iree.dispatch_cost import DispatchCost
from tuninglink.iree.dispatches import containers, find_dispatches
from tuninglink.mlir import names
from tuninglink.mlir.diagnostics import place_of, thread_context
from tuninglink.mlir.serialization import to_bytecode
from tuninglink.mlir.symbols import symbol_name
from tuninglink.mlir.walk import collect
from tuninglink.spaces.configuration import Configuration
from tuninglink.spaces.knob_reference import meaning
from tuninglink.spaces.knob_values import AllowedValues, knob_values, tiled_problem
from tuninglink.spaces.provider_registry import ProviderRegistry
from tuninglink.spaces.workload import Workload
from tuninglink.specs.spec import load_spec


@dataclass(frozen=True)
class StartingPoint:
    """Dispatches with one root op and one configuration, for one entry.

    Attributes:
        dispatches: their names.
        label: the name of the function of the first dispatch.
        words: a description of the root op.
        calls: the total number of calls in the program.
        cost: the cost of one call.
        target: the target of the dispatches.
        workload: the root op as matchers see it.
        configuration: the compiler's own choice.
        attributes: the attributes by which a spec sets this configuration, by name, as MLIR prints them.
    """

    dispatches: tuple[str, ...]
    label: str
    words: str
    calls: int
    cost: DispatchCost
    target: str
    workload: Workload
    configuration: Configuration
    attributes: Mapping[str, str]

    @property
    def flops(self) -> int:
        """The arithmetic operations of all calls; 0 if they are unknown."""
        return self.calls * (self.cost.flops or 0)

    @property
    def impact(self) -> tuple[int, int]:
        """The sort key for the cost of the dispatches: arithmetic operations, then bytes."""
        return self.flops, self.calls * (self.cost.bytes or 0)


@dataclass(frozen=True)
class LeftOut:
    """Dispatches without an entry.

    Attributes:
        dispatches: their names.
        words: a description of their root op, as far as it is known.
        reason: the reason why there is no entry.
    """

    dispatches: tuple[str, ...]
    words: str
    reason: str

    def __str__(self) -> str:
        more = f" and {len(self.dispatches) - 1} more" if len(self.dispatches) > 1 else ""
        what = f" ({self.words})" if self.words else ""
        return f"{self.dispatches[0]}{more}{what}: {self.reason}"


@dataclass(frozen=True)
class InitSpec:
    """An initial spec.

    Attributes:
        text: the spec, as MLIR text with comments.
        entries: its entries by the symbol of the matcher, the most expensive first.
        left_out: the selected dispatches without an entry.
    """

    text: str
    entries: Mapping[str, StartingPoint]
    left_out: tuple[LeftOut, ...]


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
        heading: the lines of a comment at the beginning.
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
    options = allowed.options if allowed else {}
    for name in [name for name in options if name not in values]:
        about = meaning(name)
        yield f"Option, not set: {name} ({about}): {', '.join(options[name])}"
    if allowed and not allowed.by_place:
        yield f"Other valid values are unknown: {allowed.reason}"


@dataclass(frozen=True)
class Backend:
    """The rest of a compilation, after `executable-sources`.

    Attributes:
        session_flags: flags of the session. Process-wide flags are set already.
    """

    session_flags: Sequence[str] = ()

    def run(self, sources: bytes, last: Phase, specs: Sequence[str] = ()) -> Compilation:
        """Compile a program at `executable-sources`.

        Args:
            sources: the program.
            last: the last phase to run.
            specs: the specs to apply, as text.

        Raises:
            CompileError: the compiler reported an error.
            SpecError: a spec is malformed.
        """
        options = CompileOptions(
            compile_from=Phase.EXECUTABLE_SOURCES, compile_to=last, emit_bytecode=True
        )
        loaded = [load_spec(spec.encode()) for spec in specs]
        compiler = Compiler(options, SpecChoice(loaded), self.session_flags)
        return compiler.compile_bytes(sources, "<dispatches>")


class Verifier:
    """A comparison of a program with and without a spec.

    Args:
        backend: the compiler for both.
        sources: the program at `executable-sources`.
        configured: the program at `executable-configurations`, without a spec.
    """

    def __init__(self, backend: Backend, sources: bytes, configured: bytes) -> None:
        self._backend = backend
        self._sources = sources
        self._plain = _dispatches(configured)

    def failures(self, spec: str, entries: Mapping[str, StartingPoint]) -> dict[str, str]:
        """Return the reasons for entries without the intended effect.

        Args:
            spec: the spec, as text.
            entries: the dispatches of its entries, by the symbol of the matcher.

        Raises:
            CompileError: the compiler fails with the spec.
        """
        compiled = self._backend.run(self._sources, Phase.EXECUTABLE_CONFIGURATIONS, [spec])
        changed = self._changed(spec, compiled.output)
        reasons = {}
        for matcher, point in entries.items():
            reason = _failure(matcher, point, compiled.applied, changed)
            if reason:
                reasons[matcher] = reason
        return reasons

    def _changed(self, spec: str, configured: bytes) -> set[str]:
        """Return the dispatches whose code the spec changes."""
        tuned = _dispatches(configured)
        suspected = [name for name, text in tuned.items() if text != self._plain[name]]
        executables = dict.fromkeys(map(executable_name, suspected))
        if not executables:
            return set()
        # The compiler also configures ops around the root op, which may not change the code.
        module = mlir.Module.parse(self._sources, thread_context()).operation
        differing = self._differing(module, list(executables), spec)
        return {name for name in suspected if executable_name(name) in differing}

    def _differing(self, module: mlir.Operation, executables: list[str], spec: str) -> set[str]:
        """Return the executables whose code the spec changes. If the compiler fails, each is compiled separately."""
        part = to_bytecode(DispatchSources(module).program(executables).operation)
        plain, code = (self._code(part, specs) for specs in ((), (spec,)))
        if len(executables) > 1 and (plain is None or code is None):
            parts = (self._differing(module, [executable], spec) for executable in executables)
            return {name for differing in parts for name in differing}
        if plain is None:
            return set()  # It does not compile without the spec either.
        return {name for name in executables if code is None or plain[name] != code[name]}

    def _code(self, program: bytes, specs: Sequence[str]) -> dict[str, str] | None:
        """Return the code of each executable, or None if the compiler fails."""
        try:
            return _executables(self._backend.run(program, Phase.EXECUTABLE_TARGETS, specs).output)
        except CompileError:
            return None


def _failure(
    matcher: str, point: StartingPoint, applied: Iterable[Applied], changed: set[str]
) -> str:
    effects = {
        item.dispatch: item for item in applied if item.entry and item.entry.matcher == matcher
    }
    for name in point.dispatches:
        if name not in effects:
            return f"its matcher does not match the root op of {name}"
        if not effects[name].is_own:
            return f"the compiler changes the configuration in {name}"
    for name in effects:
        if name in changed:
            return f"the entry changes the code of {name}, as the compiler's configuration consists of more than the entry"
    return ""


def _dispatches(program: bytes) -> dict[str, str]:
    module = _parsed_apart(program)
    return {dispatch.name: str(dispatch.module) for dispatch in find_dispatches(module)}


def _parsed_apart(program: bytes) -> mlir.Operation:
    """Parse a program in a new context: in one that has its weights already, their names get other suffixes."""
    return mlir.Module.parse(program, mlir.Context()).operation


def _executables(program: bytes) -> dict[str, str]:
    module = _parsed_apart(program)
    return {
        symbol_name(container) or "": str(container)
        for container in containers(module)
        if container.name == names.EXECUTABLE
    }
