"""The plan of a search: the order of the variables, and the assertions decided after each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tuninglink.solver import Kind, Term
from tuninglink.solver.bounds import Bounds
from tuninglink.solver.compiled_checks import possibility
from tuninglink.solver.compiled_terms import Values, alternatives, conjunction, solutions

if TYPE_CHECKING:
    from tuninglink.solver.answers import Deadline

_DETERMINED = 0.9
"""The cost of a variable that has one value at most."""


@dataclass(frozen=True)
class Level:
    """One step of a search: a variable, and the conditions that can be decided once it has a value.

    Attributes:
        name: the variable.
        domain: its possible values, ascending.
        ranks: the positions of the values in the domain.
        terms: the assertions of which it is the last variable.
        holds: whether, for the values so far, all of `terms` hold and the assertions of later variables can hold.
        solve: computes the values for which one of `terms` can hold, if they are few.
        is_determined: whether `solve` leaves at most one value.
    """

    name: str
    domain: tuple[int, ...]
    ranks: Mapping[int, int]
    terms: tuple[Term, ...]
    holds: Callable[[Values], bool]
    solve: Callable[[Values], Sequence[int]] | None
    is_determined: bool

    def choices(self, ranks: Mapping[int, int], values: Values) -> Iterable[int]:
        """Return the values to try, given the values so far.

        Args:
            ranks: the values of the domain in the order of trying, with their positions in this order.
            values: the values so far.
        """
        if self.solve is None:
            return ranks
        try:
            return self.few(self.solve(values), ranks)
        except ZeroDivisionError:
            return ranks

    def few(self, values: Sequence[int], ranks: Mapping[int, int]) -> Sequence[int]:
        """Return the distinct values that are in the domain, in the order of trying."""
        if len(values) == 1:
            return values if values[0] in ranks else ()
        return sorted(ranks.keys() & set(values), key=ranks.__getitem__)


def order_variables(
    assertions: Sequence[Term],
    domains: Mapping[str, Sequence[int]],
    hidden: frozenset[str],
    deadline: Deadline,
) -> list[str]:
    """Choose the order of the variables: first those that equations determine, then those that decide most.

    Hidden variables that no equation determines come last.

    Raises:
        UndecidedError: the deadline has passed.
    """
    order = [name for name, values in domains.items() if len(values) == 1]
    placed = set(order)
    pending = [assertion for assertion in assertions if not assertion.variables <= placed]
    while len(order) < len(domains):
        deadline.check()
        left = [name for name in domains if name not in placed]
        costs = {name: _cost(name, len(domains[name]), pending, placed) for name in left}
        best = min(
            left, key=lambda name: (name in hidden and costs[name] > _DETERMINED, costs[name])
        )
        order.append(best)
        placed.add(best)
        pending = [term for term in pending if not term.variables <= placed]
    return order


def _cost(name: str, size: int, pending: Sequence[Term], placed: set[str]) -> float:
    """Return an estimate of the number of values of a variable that the decidable assertions leave."""
    cost = float(size)
    for term in pending:
        if name in term.variables and all(v == name or v in placed for v in term.variables):
            if term.kind is Kind.EQ and term.occurrences(name) == 1:
                divides = any(side.kind is Kind.MOD for side in term.operands)
                cost = cost * 0.5 if divides else min(cost, _DETERMINED)
            elif count := alternatives(term, name):
                cost = min(cost, count)
            else:
                cost *= 0.8
    return cost


def plan_levels(
    assertions: Sequence[Term], order: Sequence[str], domains: Mapping[str, Sequence[int]]
) -> list[Level]:
    """Return the levels of a search that assigns the variables in an order.

    Args:
        assertions: the assertions that must hold.
        order: the variables, also the order of the values that the functions of the levels receive.
        domains: the values of each variable.
    """
    # Decide an assertion at the level of its last variable.
    slots = {name: index for index, name in enumerate(order)}
    bounds = Bounds.spanning(domains)
    decided: list[list[Term]] = [[] for _ in order]
    for assertion in assertions:
        decided[max((slots[name] for name in assertion.variables), default=0)].append(assertion)
    levels = []
    for at, (name, terms) in enumerate(zip(order, decided, strict=True)):
        # Compile the checks of each level; the assertion with the fewest solutions generates its values.
        assigned = frozenset(order[: at + 1])
        later = [term for ahead in decided[at + 1 :] for term in ahead if name in term.variables]
        domain = tuple(domains[name])
        counts = {term: alternatives(term, name) for term in terms} if len(domain) > 1 else {}
        solvable = min(filter(counts.get, counts), key=counts.__getitem__, default=None)
        levels.append(
            Level(
                name,
                domain,
                {value: place for place, value in enumerate(domain)},
                tuple(terms),
                _both(
                    conjunction(terms, slots, bounds),
                    possibility(later, assigned, slots, bounds) if len(domain) > 1 else None,
                ),
                None if solvable is None else solutions(solvable, name, slots, bounds),
                solvable is not None and counts[solvable] == 1,
            )
        )
    return levels


def _both(
    holds: Callable[[Values], bool], may_hold: Callable[[Values], bool] | None
) -> Callable[[Values], bool]:
    if may_hold is None:
        return holds
    return lambda values: holds(values) and may_hold(values)


def with_late_variables(
    late: set[str], order: Sequence[str], assertions: Sequence[Term]
) -> list[str]:
    """Move some variables after all variables that they are connected with, otherwise to the end."""
    arranged = [name for name in order if name not in late]
    alone: list[tuple[int, str]] = []
    for name in sorted(late):
        partners = {
            other
            for assertion in assertions
            if name in assertion.variables
            for other in assertion.variables
        }
        if partners & late <= {name}:
            places = (arranged.index(other) + 1 for other in partners if other != name)
            alone.append((max(places, default=0), name))
    for place, name in sorted(alone, reverse=True):
        arranged.insert(place, name)
    return arranged + sorted(late - {name for _, name in alone})
