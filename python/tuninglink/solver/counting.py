"""Counting solutions without listing them.

The variables fall into groups that no assertion connects, whose numbers of solutions are multiplied. In a group,
variables are given values one after the other, as in a search; but how many solutions the rest of them has
depends only on what the assertions that are still open see of the values so far, and is counted once for all
values that look the same: a product that must be at most 1024 sees the product, not its factors.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from tuninglink.solver.answers import CountAnswer, UndecidedError, Verdict
from tuninglink.solver.bounds import Bounds
from tuninglink.solver.compiled_terms import outlook
from tuninglink.solver.plan import order_variables, plan_levels

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

    from tuninglink.solver.answers import Deadline
    from tuninglink.solver.compiled_terms import Values
    from tuninglink.solver.plan import Level
    from tuninglink.solver.terms import Term

    Domains = Mapping[str, Sequence[int]]

_NODES_BETWEEN_CHECKS = 2048
_MOST_REMEMBERED = 1 << 19
"""If more counts than this are known, they are forgotten: some hundred bytes each."""


@dataclass(frozen=True)
class Counted:
    """The solutions of assertions, counted.

    Attributes:
        answer: how many there are, or how many there are at least, if they are not all counted in time.
    """

    answer: CountAnswer
    _parts: Sequence[_Count]

    @property
    def is_indexed(self) -> bool:
        """Whether a solution can be looked up by its number: all are counted, and all counts are known."""
        return self.answer.verdict is Verdict.PROVEN and all(part.is_known for part in self._parts)

    @property
    def size(self) -> int:
        """How many counts of parts are known."""
        return sum(part.size for part in self._parts)

    def solution(self, number: int) -> dict[str, int]:
        """Return one of the solutions; neighbors have numbers that are near to each other.

        Args:
            number: which, from 0; less than there are.
        """
        result: dict[str, int] = {}
        for part in self._parts:
            number, own = divmod(number, part.found)
            result |= part.solution(own)
        return result


def count_solutions(
    assertions: Sequence[Term], domains: Domains, hidden: frozenset[str], deadline: Deadline
) -> Counted:
    """Count the values of the variables that are not hidden with which all assertions can hold.

    Args:
        assertions: boolean terms.
        domains: the values of each variable, ascending, at least one.
        hidden: variables for which it is enough that values exist.
        deadline: when the answer is due.

    Raises:
        ZeroDivisionError: something is divided by zero, so that terms do not tell what holds.
    """
    if not all(assertion.variables for assertion in assertions):
        raise ZeroDivisionError  # what is constant otherwise was computed long ago
    groups = _groups(assertions, domains)
    groups.sort(key=lambda group: prod(len(domains[name]) for name in group.names))
    parts: list[_Count] = []
    reason = ""
    for position, group in enumerate(groups):
        due = deadline.share(len(groups) - position)
        parts.append(_Count())
        try:
            parts[-1].run(_plan(group, domains, hidden, due), due)
        except UndecidedError as failure:
            reason = failure.reason
        else:
            if parts[-1].found == 0:
                return Counted(CountAnswer(Verdict.PROVEN, 0), parts)
    verdict = Verdict.NOT_DECIDED if reason else Verdict.PROVEN
    return Counted(CountAnswer(verdict, prod(part.found for part in parts), reason), parts)


@dataclass(frozen=True)
class _Group:
    """Variables that assertions connect, and these assertions.

    Attributes:
        names: those with one value, and those with several that are connected.
        terms: the assertions over them.
    """

    names: Sequence[str]
    terms: Sequence[Term]


def _groups(assertions: Iterable[Term], domains: Domains) -> list[_Group]:
    fixed = [name for name, values in domains.items() if len(values) == 1]
    free = [name for name in domains if len(domains[name]) > 1]
    group_of = {name: [name] for name in free}
    for assertion in assertions:
        # In the order of the domains: that of a set differs from run to run.
        first, *others = [group_of[name] for name in free if name in assertion.variables] or [[]]
        for other in others:
            if other is not first:
                first += other
                group_of |= dict.fromkeys(other, first)
    terms_of: dict[int, list[Term]] = {}
    of_fixed: list[Term] = []
    for assertion in assertions:
        names = [name for name in assertion.variables if name in group_of]
        terms = terms_of.setdefault(id(group_of[names[0]]), []) if names else of_fixed
        terms.append(assertion)
    connected = {id(names): names for names in group_of.values()}
    groups = [_Group([*fixed, *names], terms_of.get(key, [])) for key, names in connected.items()]
    return [_Group(fixed, of_fixed), *groups] if fixed else groups


@dataclass(frozen=True)
class _Plan:
    """How a group is counted.

    Attributes:
        levels: its variables in order.
        outlooks: for each level, what the assertions that are open there see of the values before.
        shown: how many levels there are up to the last that is not hidden; for the others it is enough that
            there are values.
        slots: the levels that are not hidden.
        settled: for each level, whether it is hidden and nothing after it sees its value, so that one is enough.
    """

    levels: Sequence[Level]
    outlooks: Sequence[Callable[[Values], Hashable]]
    shown: int
    slots: Sequence[int]
    settled: Sequence[bool]

    def is_done(self, at: int, count: int) -> bool:
        """Return whether other values of a level change nothing once one was found that its assertions allow.

        Args:
            at: the level.
            count: how many solutions there are with the values that were tried.
        """
        return self.settled[at] or (count > 0 and at >= self.shown)

    def outlook(self, at: int, values: Values) -> Hashable | None:
        """Return what decides how many solutions the levels from `at` on have, None if there are none left."""
        return (at, self.outlooks[at](values)) if at < len(self.levels) else None


def _plan(group: _Group, domains: Domains, hidden: frozenset[str], deadline: Deadline) -> _Plan:
    own = {name: domains[name] for name in group.names}
    order = order_variables(group.terms, own, hidden, deadline)
    late: set[str] = set()
    while True:
        deadline.check()
        levels = plan_levels(group.terms, order, own)
        # Other values of what is hidden are the same solution: there must be no choice of them in between.
        choosing = {
            level.name
            for level in levels
            if level.name in hidden and len(level.domain) > 1 and not level.is_determined
        }
        if choosing <= late:
            break
        late |= choosing
        order = _with_late(late, order, group.terms)
    slots = {name: index for index, name in enumerate(order)}
    bounds = Bounds.spanning(own)
    outlooks = []
    for index in range(len(order)):
        known = frozenset(order[:index])
        open_terms = [each for each in group.terms if not each.variables <= known]
        outlooks.append(outlook(open_terms, known, slots, bounds))
    seen = [index for index, name in enumerate(order) if name not in hidden]
    ends = {
        name: index
        for index, each in enumerate(levels)
        for term in each.terms
        for name in term.variables
    }
    settled = [name in hidden and ends.get(name, at) <= at for at, name in enumerate(order)]
    return _Plan(levels, outlooks, max(seen, default=-1) + 1, seen, settled)


def _with_late(late: set[str], order: Sequence[str], assertions: Sequence[Term]) -> list[str]:
    """Move some variables to where all that they are connected with have a value, else to the end."""
    result = [name for name in order if name not in late]
    alone: list[tuple[int, str]] = []
    for name in sorted(late):
        partners = {
            other
            for assertion in assertions
            if name in assertion.variables
            for other in assertion.variables
        }
        if partners & late <= {name}:
            places = (result.index(other) + 1 for other in partners if other != name)
            alone.append((max(places, default=0), name))
    for place, name in sorted(alone, reverse=True):
        result.insert(place, name)
    return result + sorted(late - {name for _, name in alone})


class _Count:
    """Counts the solutions of a group.

    Attributes:
        found: how many there are, or were found by the time that was given.
        is_known: whether nothing that was counted is forgotten.
    """

    def __init__(self) -> None:
        self._plan = _Plan((), (), 0, (), ())
        self._known: dict[Hashable, int] = {}
        self.found = 0
        self.is_known = True

    @property
    def size(self) -> int:
        """How many counts are known."""
        return len(self._known)

    def run(self, plan: _Plan, deadline: Deadline) -> None:
        """Count them.

        Raises:
            UndecidedError: the time is up.
            ZeroDivisionError: something is divided by zero.
        """
        self._plan = plan
        values = [0] * len(plan.levels)
        totals = [0] * len(plan.levels)
        keys: list[Hashable] = [None] * len(plan.levels)
        choices = [iter(_choices(plan.levels[0], values))] * len(plan.levels)
        nodes = at = 0
        try:
            deadline.check()
            while at >= 0:
                for value in choices[at]:
                    nodes += 1
                    if nodes % _NODES_BETWEEN_CHECKS == 0:
                        deadline.check()
                    values[at] = value
                    if not plan.levels[at].holds(values):
                        continue
                    key = plan.outlook(at + 1, values)
                    known = 1 if key is None else self._known.get(key)
                    if known is None:
                        at += 1
                        keys[at] = key
                        choices[at] = iter(_choices(plan.levels[at], values))
                        break
                    totals[at] += known
                    if plan.is_done(at, known):
                        choices[at] = iter(())
                        break
                else:
                    self._remember(keys[at], totals[at])
                    at -= 1
                    if at >= 0:
                        totals[at] += totals[at + 1]
                        totals[at + 1] = 0
                        if plan.is_done(at, totals[at]):
                            choices[at] = iter(())
        finally:
            # What is counted below each level belongs to other values of the levels before.
            self.found = sum(totals)

    def solution(self, number: int) -> dict[str, int]:
        """Return one of the solutions that were counted, all of which must be known."""
        plan = self._plan
        values = [0] * len(plan.levels)
        for at, level in enumerate(plan.levels[: plan.shown]):
            for value in _choices(level, values):
                values[at] = value
                if level.holds(values):
                    key = plan.outlook(at + 1, values)
                    ways = 1 if key is None else self._known[key]
                    if number < ways:
                        break
                    number -= ways
        return {plan.levels[slot].name: values[slot] for slot in plan.slots}

    def _remember(self, key: Hashable, count: int) -> None:
        if len(self._known) == _MOST_REMEMBERED:
            self._known.clear()
            self.is_known = False
        self._known[key] = count


def _choices(level: Level, values: Values) -> Sequence[int]:
    if level.solve is None:
        return level.domain
    return level.few(level.solve(values), level.ranks)
