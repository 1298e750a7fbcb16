"""Checks of the installed compiler: the behaviour that all commands of Tuninglink depend on."""

from __future__ import annotations

import mmap
from concurrent.futures import CancelledError
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Final

from iree.compiler import _mlir_libs
from iree.compiler import ir as mlir

from tuninglink.compiler import compile as compile_program
from tuninglink.errors import TuninglinkError
from tuninglink.iree.compile_flags import compile_flags
from tuninglink.iree.gpu_configurations import ENTRIES
from tuninglink.iree.targets import Target
from tuninglink.mlir import names
from tuninglink.specs.default_library import shipped
from tuninglink.workers import JobError, JobTimeoutError, Pool, WorkerCrashedError

if TYPE_CHECKING:
    from collections.abc import Iterator

_TARGETS: Final = ("gfx942", "sm_80", "vulkan-rdna3", "metal", "x86_64", "vmvx")
"""A target of each backend. `spec.mlir` has an entry for each."""

_SECONDS: Final = 60.0
"""The time limit of a compilation, which takes less than a second."""


@dataclass(frozen=True)
class CheckResult:
    """The result of one check.

    Attributes:
        name: the property that is checked.
        failure: the reason why it does not hold; empty if it does.
    """

    name: str
    failure: str = ""


def self_check() -> Iterator[CheckResult]:
    """Yield the results of all checks, which take some seconds."""
    yield CheckResult("matcher operations are registered", missing_operations())
    yield CheckResult("knobs of lowering configurations are read", unknown_knobs())
    yield CheckResult("default specs load", _unloadable_defaults())
    with Pool(1) as pool:  # A compiler that aborts must not end the checks.
        for name in _TARGETS:
            target = Target.parse(name)
            check = f"an embedded spec takes effect on {target.backend}"
            try:
                specs = pool.submit(configuring_specs, name, seconds=_SECONDS).result()
                failure = "" if specs else "its entry did not configure the program"
            except (
                *(TuninglinkError, JobError, JobTimeoutError),
                *(WorkerCrashedError, CancelledError),
            ) as reason:
                failure = str(reason)
            yield CheckResult(check, failure)


def configuring_specs(target: str) -> list[str]:
    """Return the names of the specs that configure the check's program for a target.

    Raises:
        TuninglinkError: the program does not compile, or the spec does not load.
    """
    files = resources.files("tuninglink.doctor")
    compilation = compile_program(
        files.joinpath("program.mlir").read_bytes(),
        specs=[files.joinpath("spec.mlir").read_bytes()],
        default_specs=False,
        flags=[*compile_flags(Target.parse(target)), "--compile-to=executable-configurations"],
    )
    return [applied.spec_name for applied in compilation.applied]


def missing_operations() -> str:
    """Return the matcher operations that the compiler lacks, in words, or an empty string."""
    context = mlir.Context()
    context.load_all_available_dialects()
    operations = {value for value in vars(names).values() if _is_matcher_operation(value)}
    missing = sorted(name for name in operations if not context.is_registered_operation(name))
    return f"missing: {', '.join(missing)}" if missing else ""


def _is_matcher_operation(value: object) -> bool:
    prefixes = ("transform.match.", "transform.iree.match.", "transform.structured.match")
    return isinstance(value, str) and value.startswith(prefixes)


def unknown_knobs() -> str:
    """Return the knobs missing from the strings of the compiler's library, in words, or an empty string."""
    library = Path(_mlir_libs.__file__).parent / "libIREECompiler.so"
    try:
        with (
            library.open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content,
        ):
            unread = [name for name in ENTRIES if content.find(b"\0%b\0" % name.encode()) < 0]
    except OSError as failure:
        return f"cannot read '{library}': {failure.strerror}"
    return f"unknown to the compiler: {', '.join(unread)}" if unread else ""


def _unloadable_defaults() -> str:
    try:
        return "" if shipped() else "no default specs are installed"
    except TuninglinkError as failure:
        return str(failure)
