"""Terms, integer and boolean, and their values; assertions, limits, and answers to queries about them.

Assertions are boolean terms. Terms have the semantics of SMT-LIB and can be exported to Z3. The search does not read Z3
expressions, since each access to one takes microseconds.
"""

from __future__ import annotations

import math
import operator
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, IntEnum, auto
from functools import lru_cache
from math import prod
from typing import Final

from tuninglink.errors import TuninglinkError
from tuninglink.mlir import error


class Kind(IntEnum):
    """The operator of a term. Comparisons and the boolean kinds give 0 or 1."""

    CONSTANT = auto()
    VARIABLE = auto()
    ADD = auto()
    MUL = auto()
    NEG = auto()
    DIV = auto()
    MOD = auto()
    ITE = auto()
    EQ = auto()
    LE = auto()
    LT = auto()
    AND = auto()
    OR = auto()
    NOT = auto()


_CONSTANT: Final = Kind.CONSTANT
_VARIABLE: Final = Kind.VARIABLE
_ITE: Final = Kind.ITE
_AND: Final = Kind.AND
_OR: Final = Kind.OR
_NOTHING: Final[frozenset[str]] = frozenset()


class Term:
    """A node: its kind, its operands, and the value of a constant or the name of a variable.

    Terms are immutable and compare by identity. The properties of their nodes are computed at creation, since they are
    needed often. The `tree_size` is the number of nodes if shared nodes are counted repeatedly.
    """

    __slots__ = ("depth", "kind", "name", "operands", "tree_size", "value", "variables")

    def __init__(
        self, kind: Kind, operands: tuple[Term, ...] = (), value: int = 0, name: str = ""
    ) -> None:
        self.kind = kind
        self.operands = operands
        self.value = value
        self.name = name
        variables = frozenset((name,)) if kind is _VARIABLE else _NOTHING
        size, depth = 1, 0
        for operand in operands:
            others = operand.variables
            if not others <= variables:
                variables = others | variables if variables else others
            size += operand.tree_size
            if operand.depth > depth:  # noqa: PLR1730 - `max` would take as long as the rest of the function
                depth = operand.depth
        self.variables: frozenset[str] = variables
        self.tree_size: int = size
        self.depth: int = 1 + depth

    def occurrences(self, name: str) -> int:
        """Return the number of occurrences of the variable `name`, capped at 2, counting each use of a shared node."""
        if name not in self.variables:
            return 0
        if self.kind is Kind.VARIABLE:
            return 1
        return min(2, sum(operand.occurrences(name) for operand in self.operands))


@lru_cache(maxsize=1 << 12)
def constant(value: int) -> Term:
    """Return the term of a number; true is 1, false is 0."""
    return Term(_CONSTANT, value=int(value))


def is_condition(term: Term) -> bool:
    """Return whether a term is a condition instead of a number; the constants 0 and 1 are both."""
    pending, done = [term], set()
    while pending:
        top = pending.pop()
        if top in done:
            continue
        done.add(top)
        if top.kind in _OF_CONDITIONS:
            pending += top.operands
        elif top.kind not in _COMPARISONS and not (top.kind is _CONSTANT and top.value in (0, 1)):
            return False
    return True


def make(kind: Kind, *operands: Term) -> Term:
    """Return the term of `kind` over `operands`, folded if all operands are constants.

    A division by zero is not folded: SMT-LIB leaves its value open.
    """
    for operand in operands:
        if operand.kind is not _CONSTANT:
            return Term(kind, operands)
    if kind in _DIVISIONS and operands[1].value == 0:
        return Term(kind, operands)
    return constant(_OPERATIONS[kind](*[operand.value for operand in operands]))


def divide(numerator: int, divisor: int) -> int:
    """Return the quotient as SMT-LIB defines it: the remainder is never negative."""
    return numerator // divisor if divisor > 0 else -(numerator // -divisor)


def modulo(numerator: int, divisor: int) -> int:
    """Return the remainder as SMT-LIB defines it, which is never negative."""
    return numerator % abs(divisor)


def evaluate(term: Term, values: Mapping[str, int], cache: dict[Term, int] | None = None) -> int:
    """Return the value of `term`; only the chosen branch of a choice is computed.

    Raises:
        ZeroDivisionError: the value depends on a division by zero.
        KeyError: a required variable has no value.
    """
    kind = term.kind
    if kind is _CONSTANT:
        return term.value
    if kind is _VARIABLE:
        return values[term.name]
    if cache is None:
        cache = {}
    if term in cache:
        return cache[term]
    if kind is _ITE:
        condition, yes, no = term.operands
        result = evaluate(yes if evaluate(condition, values, cache) else no, values, cache)
    elif kind is _AND or kind is _OR:
        # One operand with the decisive value decides, even if other operands are undefined.
        decisive = kind is _OR
        result, undefined = int(not decisive), None
        for operand in term.operands:
            try:
                if bool(evaluate(operand, values, cache)) is decisive:
                    result, undefined = int(decisive), None
                    break
            except ZeroDivisionError as failure:
                undefined = failure
        if undefined is not None:
            raise undefined
    else:
        operands = [evaluate(operand, values, cache) for operand in term.operands]
        result = _OPERATIONS[kind](*operands)
    cache[term] = result
    return result


def graph(roots: list[Term]) -> Iterator[Term]:
    """Yield every node under `roots` once, operands before their users."""
    done: set[int] = set()
    stack = [(root, False) for root in reversed(roots)]
    while stack:
        term, operands_done = stack.pop()
        if id(term) in done:
            continue
        if operands_done or not term.operands:
            done.add(id(term))
            yield term
        else:
            stack.append((term, True))
            stack += [(operand, False) for operand in term.operands]


_DIVISIONS = (Kind.DIV, Kind.MOD)
_COMPARISONS: Final = frozenset({Kind.EQ, Kind.LE, Kind.LT})
_OF_CONDITIONS: Final = frozenset({Kind.AND, Kind.OR, Kind.NOT, Kind.ITE})
"""Terms that are conditions if their operands are."""


_OPERATIONS: Final[Mapping[Kind, Callable[..., int]]] = {
    Kind.ADD: lambda *values: sum(values),
    Kind.MUL: lambda *values: prod(values),
    Kind.NEG: operator.neg,
    Kind.DIV: divide,
    Kind.MOD: modulo,
    Kind.ITE: lambda condition, yes, no: yes if condition else no,
    Kind.EQ: lambda one, other: int(one == other),
    Kind.LE: lambda one, other: int(one <= other),
    Kind.LT: lambda one, other: int(one < other),
    Kind.AND: lambda *values: int(all(values)),
    Kind.OR: lambda *values: int(any(values)),
    Kind.NOT: lambda value: int(not value),
}


class Grade(Enum):
    """The consequence of violating an assertion.

    - `NECESSARY`: code generation fails.
    - `SUFFICIENT`: code generation may fail. If all necessary and sufficient assertions hold, it succeeds.
    - `SLOW`: like `SUFFICIENT`, and code generation takes minutes where it succeeds.
    - `COMPILER`: the compiler's own constraints reject the configuration; code generation may succeed.
    - `UNSAFE`: code generation succeeds, but the code may crash.
    - `WRONG`: code generation succeeds, but the code computes wrong results.
    - `HEURISTIC`: none, but the configuration is not worth trying.
    """

    NECESSARY = "necessary"
    SUFFICIENT = "sufficient"
    SLOW = "slow"
    COMPILER = "compiler"
    UNSAFE = "unsafe"
    WRONG = "wrong"
    HEURISTIC = "heuristic"


@dataclass(frozen=True)
class Assertion:
    """A condition on the knobs and auxiliary unknowns of a set, and on what it is based.

    The `values` are integer expressions whose values fill the placeholders `{}` of the message, in order. The
    provenance is the compiler, a provider, or the bound of a knob.
    """

    expression: Term
    message: str
    values: tuple[Term, ...] = ()
    provenance: str = ""
    grade: Grade = Grade.NECESSARY


# --- Answers to queries about constraints: proven, refuted, or not decided with a reason ---------


class Verdict(Enum):
    """The verdict of a query; a `NOT_DECIDED` answer contains a reason."""

    PROVEN = "proven"
    REFUTED = "refuted"
    NOT_DECIDED = "not decided"


class UndecidedError(TuninglinkError):
    """A query cannot be answered within its limits, or is not supported; `reason` explains why."""

    def __init__(self, reason: str) -> None:
        super().__init__(error(f"not decided: {reason}"))
        self.reason = reason


class AssignmentError(TuninglinkError):
    """An assignment names an unknown knob, omits a knob, or has a value that is not an integer."""


@dataclass(frozen=True)
class Limits:
    """The limits of a query.

    Attributes:
        seconds: the time limit of the query. Infinity disables the limit; with zero or less, only immediate answers
            are given.
        solver_seconds: the time limit of each call of the solver.
        steps: the maximum number of search steps of some thousand partial assignments each. Unlike a time limit, it
            gives the same answer on a busy machine as on an idle one.

    Raises:
        ValueError: a limit is not a number.
    """

    seconds: float = 20.0
    solver_seconds: float = 5.0
    steps: float = math.inf

    def __post_init__(self) -> None:
        if any(map(math.isnan, (self.seconds, self.solver_seconds, self.steps))):
            raise ValueError("a limit must be a number")

    def start(self) -> Deadline:
        """Return the deadline for a query that starts now."""
        return Deadline(time.monotonic() + self.seconds, self, self.steps)


_MOST_MILLISECONDS = (1 << 32) - 2
"""The largest 32-bit number, which Z3 interprets as no limit."""


@dataclass
class Deadline:
    """The time limit of an answer, and the number of remaining steps."""

    _at: float
    _limits: Limits
    steps: float
    _whole: Deadline | None = None

    def extend(self, seconds: float = 0.0, steps: float = 0.0) -> None:
        """Add time that the caller used, or steps; fewer than none count as taken since their result is known."""
        self._at += seconds
        self.steps += steps
        if self._whole is not None:
            self._whole.extend(seconds, steps)

    def remaining(self) -> float:
        """Return the remaining seconds, at least zero."""
        return max(0.0, self._at - time.monotonic())

    def solver_milliseconds(self) -> int:
        """Return the time limit of a solver call now; at least 1 ms, since 0 disables the limit."""
        milliseconds = 1000 * min(self.remaining(), self._limits.solver_seconds)
        return max(1, int(min(milliseconds, _MOST_MILLISECONDS)))

    def share(self, parts: int = 1, steps: float = math.inf) -> Deadline:
        """Return the deadline for one of `parts` equal shares of the remaining time and steps, and at most some steps.

        Its steps count for the whole.
        """
        at = time.monotonic() + self.remaining() / parts
        return Deadline(at, self._limits, min(steps, self.steps / parts), self)

    def check(self) -> None:
        """Take a step.

        Raises:
            UndecidedError: the time or the steps are used up.
        """
        self.steps -= 1
        if self._whole is not None:
            self._whole.check()
        if self.steps < 0:
            raise UndecidedError(f"the limit of {self._limits.steps:g} steps is reached")
        if self.remaining() == 0:
            raise UndecidedError(f"the limit of {self._limits.seconds:g} s is reached")


DEFAULT_LIMITS: Final[Limits] = Limits()


@dataclass(frozen=True)
class Violation:
    """An assertion that does not hold, with the names of its knobs, and their values as display text."""

    message: str
    provenance: str
    values: tuple[str, ...] = ()
    grade: Grade = Grade.NECESSARY
    knobs: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.message} [{', '.join(self.values)}]" if self.values else self.message


@dataclass(frozen=True)
class CheckAnswer:
    """The answer to whether an assignment is valid.

    Attributes:
        verdict: refuted: it violates a necessary assertion, or one of the compiler's own constraints; not decided: it
            violates a sufficient one; proven: it violates none, or only heuristic ones.
        violations: the assertions that do not hold. With auxiliary unknowns, assertions that hold separately but
            never together are all listed.
        reason: if not decided, why not.
    """

    verdict: Verdict
    violations: tuple[Violation, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class UnsatAnswer:
    """The answer to whether no valid assignment agrees with a partial one.

    Attributes:
        verdict: proven: no such assignment exists; refuted: one exists.
        core: if proven, assertions that cannot hold together with `fixed`.
        fixed: if proven, the values of the partial assignment that the core needs.
        minimal: whether removing any one part of the core or of `fixed` is shown to leave a solution.
        witness: if refuted, a valid assignment that agrees with the partial one.
        reason: if not decided, why not.
    """

    verdict: Verdict
    core: tuple[Violation, ...] = ()
    fixed: Mapping[str, int] = field(default_factory=dict)
    minimal: bool = False
    witness: Mapping[str, int] | None = None
    reason: str = ""


@dataclass(frozen=True)
class NearestAnswer:
    """The valid assignment nearest to a given one.

    Attributes:
        verdict: proven: `assignment` is the nearest; refuted: no valid assignment exists; not decided: a limit was
            reached, and `assignment` is the best one found so far, if any.
        assignment: a valid assignment.
        changed: the changed knobs, with their values in `assignment`.
        reason: if not decided, why not.
    """

    verdict: Verdict
    assignment: Mapping[str, int] | None = None
    changed: Mapping[str, int] = field(default_factory=dict)
    reason: str = ""


@dataclass(frozen=True)
class CountAnswer:
    """The number of valid assignments."""

    verdict: Verdict
    count: int
    reason: str = ""
