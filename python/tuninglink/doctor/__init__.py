"""The state of an installation: versions, extras, drivers, devices and caches; and checks of the installed compiler.

The checks cover the behaviour that all commands of Tuninglink depend on.
"""

from __future__ import annotations

import mmap
import platform
import re
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import CancelledError
from dataclasses import dataclass
from importlib import metadata, resources
from pathlib import Path
from typing import Final

from iree.compiler import _mlir_libs, ir as mlir

from tuninglink.compiler import compile as compile_program, compile_flags
from tuninglink.errors import TuninglinkError
from tuninglink.iree import ENTRIES, PeakRates, Target
from tuninglink.mlir import names
from tuninglink.specs import SPEC_FOLDERS, cache_directory, load_spec, shipped, shipped_libraries
from tuninglink.workers import JobError, JobTimeoutError, Pool, WorkerCrashedError

_RUNTIME: Final = "iree-base-runtime"
_PACKAGES: Final = ("tuninglink", "iree-base-compiler", _RUNTIME)
_DEVELOPMENT: Final = ("dev", "docs")
_REQUIREMENT: Final = re.compile(r"(?P<name>[\w.-]+).*extra == ['\"](?P<extra>[\w-]+)['\"]")
_JOB_ERRORS: Final = (JobError, JobTimeoutError, WorkerCrashedError)
_SECONDS: Final = 30.0
"""The time limit for a driver to list its devices."""


@dataclass(frozen=True)
class ListedDevice:
    """A device of a driver, such as `cuda://0`, and its state; None for values that its driver does not report."""

    uri: str
    name: str
    clock_mhz: int | None = None
    power_watts: float | None = None
    temperature_celsius: float | None = None


@dataclass(frozen=True)
class Driver:
    """A driver of the runtime, such as `cuda`, and the reason why it lists no devices; empty if it lists them."""

    name: str
    devices: tuple[ListedDevice, ...] = ()
    failure: str = ""


@dataclass(frozen=True)
class Environment:
    """The installed components.

    Attributes:
        versions: the versions of packages and of Python; empty for a missing package.
        extras: the missing packages of each extra.
        drivers: the drivers of the runtime; none without the runtime.
        cache: the directory of downloaded specs, with its numbers of files and bytes.
        peaks: the measured peak rates of processors, which are also in the cache.
    """

    versions: Mapping[str, str]
    extras: Mapping[str, tuple[str, ...]]
    drivers: tuple[Driver, ...]
    cache: Path
    cached_files: int
    cached_bytes: int
    peaks: tuple[PeakRates, ...] = ()


def environment() -> Environment:
    """Return the installed components. Listing devices may take some seconds."""
    cache = cache_directory()
    folders = (cache / name for name in SPEC_FOLDERS)
    sizes = [
        path.stat().st_size for folder in folders for path in folder.rglob("*") if path.is_file()
    ]
    versions = {name: _version(name) for name in _PACKAGES}
    # Find the packages of the extras.
    packages: dict[str, list[str]] = {}
    for requirement in metadata.requires("tuninglink") or ():
        match = _REQUIREMENT.match(requirement)
        if match and match["extra"] not in _DEVELOPMENT:
            packages.setdefault(match["extra"], []).append(match["name"])
    peaks: tuple[PeakRates, ...] = ()
    drivers: list[Driver] = []
    if versions[_RUNTIME]:
        from tuninglink.devices import stored_peaks  # noqa: PLC0415 - an extra

        peaks = tuple(stored.rates for stored in stored_peaks())
        with Pool(1) as pool:  # Vendors' libraries in drivers may crash or hang.
            for name in pool.submit(driver_names, seconds=_SECONDS).result():
                try:
                    devices = pool.submit(listed_devices, name, seconds=_SECONDS).result()
                    drivers.append(Driver(name, devices))
                except TuninglinkError as failure:
                    drivers.append(Driver(name, failure=failure.diagnostics[0].message))
                except _JOB_ERRORS as failure:
                    drivers.append(Driver(name, failure=str(failure)))
    return Environment(
        versions={**versions, "Python": platform.python_version()},
        extras={
            extra: tuple(name for name in names_ if not _version(name))
            for extra, names_ in packages.items()
        },
        drivers=tuple(drivers),
        cache=cache,
        cached_files=len(sizes),
        cached_bytes=sum(sizes),
        peaks=peaks,
    )


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def driver_names() -> list[str]:
    """Return the drivers of the runtime."""
    from iree import runtime as rt  # noqa: PLC0415 - an extra

    return sorted(rt.query_available_drivers())


def listed_devices(driver: str) -> tuple[ListedDevice, ...]:
    """Return the devices of a driver with their state.

    Raises:
        DeviceError: the driver cannot be loaded, or lists no devices.
    """
    from tuninglink.devices import (  # noqa: PLC0415 - an extra
        devices_of,
        sensors_of,
    )

    devices = []
    for device in devices_of(driver):
        sensors = sensors_of(device.uri)
        time.sleep(_READING_SECONDS)
        values = [value for state in sensors() for value in vars(state).values()]
        devices.append(ListedDevice(device.uri, device.name, *values))
    return tuple(devices)


_READING_SECONDS: Final = 0.1
"""The time over which the energy counters of processors give a mean power."""


_TARGETS: Final = ("gfx942", "sm_80", "vulkan-rdna3", "metal", "x86_64", "vmvx")
"""A target of each backend. `spec.mlir` has an entry for each."""

_CHECK_SECONDS: Final = 60.0
"""The time limit of a compilation, which takes less than a second."""


@dataclass(frozen=True)
class CheckResult:
    """The property that a check is about, and the reason why it does not hold; empty if it does."""

    name: str
    failure: str = ""


def self_check() -> Iterator[CheckResult]:
    """Yield the results of all checks, which take some seconds."""
    yield CheckResult("matcher operations are registered", missing_operations())
    yield CheckResult("knobs of lowering configurations are read", unknown_knobs())
    try:
        failure = "" if shipped() else "no default specs are installed"
    except TuninglinkError as reason:
        failure = str(reason)
    yield CheckResult("default specs load", failure)
    yield CheckResult("shipped libraries load", unloadable_libraries())
    with Pool(1) as pool:  # A compiler that aborts must not end the checks.
        for name in _TARGETS:
            target = Target.parse(name)
            check = f"an embedded spec takes effect on {target.backend}"
            try:
                specs = pool.submit(configuring_specs, name, seconds=_CHECK_SECONDS).result()
                failure = "" if specs else "its entry did not configure the program"
            except (TuninglinkError, CancelledError, *_JOB_ERRORS) as reason:
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
    prefixes = ("transform.match.", "transform.iree.match.", "transform.structured.match")
    values = (value for value in vars(names).values() if isinstance(value, str))
    operations = {value for value in values if value.startswith(prefixes)}
    missing = sorted(name for name in operations if not context.is_registered_operation(name))
    return f"missing: {', '.join(missing)}" if missing else ""


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


def unloadable_libraries() -> str:
    """Return the errors of the first shipped library that does not load, or an empty string."""
    try:
        for file in shipped_libraries():
            load_spec(file.content, name=file.name)
    except TuninglinkError as failure:
        return str(failure)
    return ""
