"""Checks of configurations against the constraints of their pipelines."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.checking.entry_answers import Answer, Details
from tuninglink.mlir import names
from tuninglink.mlir.diagnostics import first_error
from tuninglink.payloads import configured
from tuninglink.solver.answers import Limits, Verdict
from tuninglink.spaces.configuration import Configuration, read_configuration
from tuninglink.spaces.configuration_answers import ConfigurationAnswer, miscompilation
from tuninglink.spaces.proposals import replaced_entries
from tuninglink.spaces.verification import verify_configuration

if TYPE_CHECKING:
    from tuninglink.payloads import Payload
    from tuninglink.spaces.provider_registry import ProviderRegistry
    from tuninglink.spaces.workload import Workload

_DIGEST_SIZE: Final = 16

_MOST_CACHED: Final = 256
"""The capacity of the caches of digests and configurations."""

MOST_PROPOSALS: Final = 20
"""The number of rejected configurations whose nearest valid one is computed, unless specs are fixed."""


@dataclass(frozen=True)
class Judged:
    """The verdict about a configuration, which can be sent to another process.

    Attributes:
        answer: whether the configuration is valid, without the nearest valid one among the details.
        key: the key of a rejected configuration, the same for equal configurations of equal ops; empty for others.
        details: computes all details, including the nearest valid configuration, which takes the most time; None for a
            configuration that is not rejected, and for a verdict from another process.
    """

    answer: Answer
    key: bytes = b""
    details: Callable[[], Details] | None = field(default=None, repr=False, compare=False)

    def __getstate__(self) -> dict[str, object]:
        return {"answer": self.answer, "key": self.key, "details": None}


class Proposals:
    """The nearest valid configurations for the first few rejected ones.

    Args:
        most: the maximum number of rejected configurations whose nearest valid one is computed.
    """

    def __init__(self, most: int = MOST_PROPOSALS) -> None:
        self._most = most
        self._known: dict[bytes, Answer] = {}

    def answer(self, judged: Judged, again: Callable[[], Details]) -> Answer:
        """Return the answer about a configuration; the first few rejected ones get the nearest valid one.

        Args:
            judged: the verdict about the configuration.
            again: computes all details if `judged` does not provide them.
        """
        if not judged.key:
            return judged.answer
        if judged.key not in self._known:
            answer = judged.answer
            if len(self._known) < self._most:
                details = (judged.details or again)()
                knobs = details.knobs or answer.knobs
                answer = replace(
                    answer, details=details.notes, knobs=knobs, replaced=details.replaced
                )
            self._known[judged.key] = answer
        return self._known[judged.key]


class ConfigurationChecks:
    """Checks configurations; equal ones of equal ops are checked once.

    Args:
        registry: the providers of constraints.
        limits: the time limit of a solver query.
    """

    def __init__(self, registry: ProviderRegistry, limits: Limits) -> None:
        self._registry = registry
        self._limits = limits
        self._known: dict[bytes, Judged] = {}
        self._digest = lru_cache(_MOST_CACHED)(_digest)
        self._first_equal = lru_cache(_MOST_CACHED)(_same)
        self._proposals = Proposals()

    def check(self, dispatch: Workload) -> Answer:
        """Return whether the configuration of the root op of a dispatch is valid."""
        return self._proposals.answer(self.judge(dispatch), lambda: self.details(dispatch))

    def check_payload(self, payload: Payload, target: mlir.Attribute) -> Answer:
        """Return whether the configuration that its entry gives to a payload is valid.

        Args:
            payload: the payload.
            target: a `#hal.executable.target`.
        """
        return self._proposals.answer(
            self.judge_payload(payload, target),
            lambda: self.details(configured(payload.entry, payload, target)),
        )

    def judge_payload(self, payload: Payload, target: mlir.Attribute) -> Judged:
        """Return the verdict about the configuration that its entry gives to a payload."""
        try:
            dispatch = configured(payload.entry, payload, target)
        except mlir.MLIRError as failure:
            reason = f"the compiler refuses it: {first_error(failure)}"
            return Judged(Answer(Verdict.REFUTED, reason))
        return self.judge(dispatch)

    def judge(self, dispatch: Workload) -> Judged:
        """Return the verdict about the configuration of the root op of a dispatch."""
        configuration = read_configuration(dispatch.root, dispatch.function)
        if configuration is None:
            reason = "it sets no lowering_config, so there is nothing to check"
            return Judged(Answer(Verdict.NOT_DECIDED, reason))
        configuration = self._first_equal(configuration)
        key = self._key(dispatch, configuration)
        judged = self._known.get(key)
        if judged is None:
            judged = _judged(self._verify(dispatch, configuration), key, configuration)
            reason = miscompilation(dispatch, configuration)
            if reason:
                judged = replace(judged, answer=replace(judged.answer, miscompilation=reason))
            self._known[key] = replace(
                judged, details=None
            )  # the details would keep the constraints alive
        return judged

    def details(self, dispatch: Workload) -> Details:
        """Return all details about the configuration of a dispatch, including the nearest valid one."""
        configuration = read_configuration(dispatch.root, dispatch.function)
        if configuration is None:
            return Details()
        return _details(self._verify(dispatch, configuration), configuration)

    def _verify(self, dispatch: Workload, configuration: Configuration) -> ConfigurationAnswer:
        return verify_configuration(dispatch, configuration, self._registry, self._limits)

    def _key(self, dispatch: Workload, configuration: Configuration) -> bytes:
        """Return a key that equal dispatches share, in this process and in others."""
        if dispatch.family is not None:
            # The operands determine the sizes of the other values.
            types = ", ".join(str(operand.type) for operand in dispatch.root.operands)
            parts = (self._digest(dispatch.family), self._digest(configuration), types.encode())
            return blake2b(b"".join(parts), digest_size=_DIGEST_SIZE).digest()
        # The local scope leaves other functions of the module alone.
        text = str(dispatch.function.get_asm(use_local_scope=True))
        if names.EXECUTABLE_TARGET not in dispatch.function.attributes:
            text += str(dispatch.target)
        return _digest(text)


def _details(answer: ConfigurationAnswer, configuration: Configuration) -> Details:
    replaced = replaced_entries(configuration, answer.proposal)
    return Details(answer.notes, answer.knobs, replaced)


def _judged(outcome: ConfigurationAnswer, key: bytes, configuration: Configuration) -> Judged:
    if outcome.violations:
        reason = f"{outcome.violations[0]} in pipeline {outcome.pipeline}"
        knobs = outcome.violations[0].knobs
        answer = Answer(outcome.verdict, reason, outcome.further_violations, knobs=knobs)
    elif outcome.discouraged:
        warning = f"{outcome.discouraged[0]} in pipeline {outcome.pipeline}"
        knobs = outcome.discouraged[0].knobs
        answer = Answer(
            outcome.verdict, outcome.reason, outcome.further_violations, warning, knobs=knobs
        )
    elif outcome.unsafe:
        crash, knobs = str(outcome.unsafe[0]), outcome.unsafe[0].knobs
        answer = Answer(
            outcome.verdict, outcome.reason, outcome.further_violations, crash=crash, knobs=knobs
        )
    elif outcome.slow:
        slow, knobs = str(outcome.slow[0]), outcome.slow[0].knobs
        answer = Answer(
            outcome.verdict, outcome.reason, outcome.further_violations, slow=slow, knobs=knobs
        )
    else:
        return Judged(Answer(outcome.verdict, outcome.reason))
    return Judged(answer, key, lambda: _details(outcome, configuration))


def _same(configuration: Configuration) -> Configuration:
    """Return the argument. The cache makes it return the first of equal values, whose properties are cached."""
    return configuration


def _digest(value: Hashable) -> bytes:
    """Return a digest of the text of a value."""
    return blake2b(str(value).encode(), digest_size=_DIGEST_SIZE).digest()
