"""The contents of a database as data classes."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

from tuninglink.plain_data import HIDDEN, named, written
from tuninglink.spaces.former_names import current_names
from tuninglink.tuning.devices import PROTOCOL_VERSION
from tuninglink.tuning.results import Failure, FailureKind

EXPORT_FORMAT: Final = "tuninglink.trials"
EXPORT_VERSION: Final = 1
"""The form of an exported database."""


def now() -> str:
    """Return the current time in the format of databases."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


@dataclass(frozen=True)
class ProblemRecord:
    """A problem.

    Attributes:
        key: the hash of the stripped dispatch and its target.
        kind: the kind of the root op, such as `contraction`.
        description: the problem in words.
        program: the function of the dispatch, or the program, as MLIR text.
    """

    key: str
    kind: str
    description: str
    program: str


@dataclass(frozen=True)
class EnvironmentRecord:
    """The conditions of a measurement, apart from the problem and the configuration.

    Attributes:
        target: the target architecture, such as `gfx942`.
        sku: the target product, such as `mi300x`; empty if unknown.
        device: the name of the device that ran it.
        driver: the driver of the runtime, with the version of the vendor's driver.
        compiler: the version of the compiler.
        runtime: the version of the runtime.
        flags: the flags of the compiler, in order, separated by spaces.
        cores: the number of threads of a CPU device; 0 for other devices.
        protocol: the version of the measurement protocol.
    """

    target: str
    sku: str
    device: str
    driver: str
    compiler: str
    runtime: str
    flags: str = ""
    cores: int = 0
    protocol: int = PROTOCOL_VERSION


@dataclass(frozen=True)
class ConfigurationRecord:
    """A configuration.

    Attributes:
        key: its unique key, such as a hash of the texts.
        pipeline: the pipeline, as MLIR writes it.
        knobs: the values of the knobs; empty if no space contains the configuration.
        attribute: the `#iree_codegen.compilation_info`, as MLIR writes it; empty where only the knobs are known.
        decomposition: the `decomposition_config` of an attention, or nothing.
    """

    key: str
    pipeline: str
    knobs: Mapping[str, int] = field(hash=False)
    attribute: str = ""
    decomposition: str = ""


@dataclass(frozen=True)
class Trial:
    """One attempt with a configuration.

    Attributes:
        problem: the problem.
        environment: the other conditions of the result.
        configuration: the configuration.
        stage: the step of the tuner: `screen`, `race` or `final`.
        origin: where the candidate came from: `default`, `space` or `spec`.
        samples: microseconds per iteration, one value for each batch; empty if the trial failed.
        batch: the iterations of a sample.
        caches: `warm` or `cold`.
        clocks_mhz: the measured clocks of the device.
        failure: the reason for missing samples; None if there are samples.
        time: the end of the trial, in ISO 8601.
    """

    problem: ProblemRecord = field(metadata=HIDDEN)
    environment: EnvironmentRecord
    configuration: ConfigurationRecord
    stage: str
    origin: str
    samples: tuple[float, ...] = field(default=(), metadata=named("samples_us"))
    batch: int = 0
    caches: str = "warm"
    clocks_mhz: tuple[int, ...] = ()
    failure: Failure | None = None
    time: str = field(default_factory=now)

    @written("problem")
    def problem_key(self) -> str:
        """Return the key of the problem."""
        return self.problem.key

    @property
    def is_compared(self) -> bool:
        """Whether the outputs were compared, as for candidates in a race and for the compiler's choice."""
        return self.failure is None and (self.stage != "screen" or self.origin == "default")

    @property
    def median(self) -> float | None:
        """The median of the samples in microseconds, None if the trial failed."""
        return statistics.median(self.samples) if self.samples else None


def exported_trials(data: Mapping[str, Any]) -> Iterator[Trial]:
    """Yield the trials of an exported database.

    Args:
        data: the JSON document.

    Raises:
        KeyError, TypeError, ValueError: the document has another version or form.
    """
    if data["version"] != EXPORT_VERSION:
        raise ValueError(f"version {data['version']}")
    problems = {problem["key"]: ProblemRecord(**problem) for problem in data["problems"]}
    for row in data["trials"]:
        failure, configuration = row["failure"], ConfigurationRecord(**row["configuration"])
        knobs = current_names(configuration.knobs)
        yield Trial(
            problem=problems[row["problem"]],
            environment=EnvironmentRecord(**row["environment"]),
            configuration=replace(configuration, knobs=knobs),
            stage=row["stage"],
            origin=row["origin"],
            samples=tuple(row["samples_us"]),
            batch=row["batch"],
            caches=row["caches"],
            clocks_mhz=tuple(row["clocks_mhz"]),
            failure=Failure(FailureKind(failure["kind"]), failure["message"]) if failure else None,
            time=row["time"],
        )


@dataclass(frozen=True)
class Winner:
    """The fastest configuration of a problem in an environment among those whose results were compared.

    Attributes:
        trial: the trial of the winner in the latest recorded stage.
        default_us: the median time of the compiler's own choice, None if it was not measured.
    """

    trial: Trial
    default_us: float | None
