"""The installed versions, extras, drivers, devices and caches."""

from __future__ import annotations

import platform
import re
from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Final

from tuninglink.errors import TuninglinkError
from tuninglink.specs.remote import cache_directory
from tuninglink.workers import JobError, JobTimeoutError, Pool, WorkerCrashedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_PACKAGES: Final = ("tuninglink", "iree-base-compiler", "iree-base-runtime")
_DEVELOPMENT: Final = ("dev", "docs")
_REQUIREMENT: Final = re.compile(r"(?P<name>[\w.-]+).*extra == ['\"](?P<extra>[\w-]+)['\"]")
_SECONDS: Final = 30.0
"""The time limit for a driver to list its devices."""


@dataclass(frozen=True)
class Driver:
    """A driver of the runtime.

    Attributes:
        name: its name, such as `cuda`.
        devices: the URI and the name of each device.
        failure: the reason why it lists no devices, or empty.
    """

    name: str
    devices: tuple[tuple[str, str], ...] = ()
    failure: str = ""


@dataclass(frozen=True)
class Environment:
    """The installed components.

    Attributes:
        versions: the versions of packages and of Python; empty for a missing package.
        extras: the missing packages of each extra.
        drivers: the drivers of the runtime; none without the runtime.
        cache: the directory of downloaded specs.
        cached_files: the number of files in it.
        cached_bytes: their total size.
    """

    versions: Mapping[str, str]
    extras: Mapping[str, tuple[str, ...]]
    drivers: tuple[Driver, ...]
    cache: Path
    cached_files: int
    cached_bytes: int


def environment() -> Environment:
    """Return the installed components. Listing devices may take some seconds."""
    cache = cache_directory()
    sizes = [path.stat().st_size for path in cache.rglob("*") if path.is_file()]
    return Environment(
        versions={
            **{name: _version(name) for name in _PACKAGES},
            "Python": platform.python_version(),
        },
        extras=_extras(),
        drivers=tuple(_drivers()),
        cache=cache,
        cached_files=len(sizes),
        cached_bytes=sum(sizes),
    )


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _extras() -> dict[str, tuple[str, ...]]:
    """Return the missing packages of each extra."""
    packages: dict[str, list[str]] = {}
    for requirement in metadata.requires("tuninglink") or ():
        match = _REQUIREMENT.match(requirement)
        if match and match["extra"] not in _DEVELOPMENT:
            packages.setdefault(match["extra"], []).append(match["name"])
    return {
        extra: tuple(name for name in names_ if not _version(name))
        for extra, names_ in packages.items()
    }


def _drivers() -> Iterator[Driver]:
    if not _version("iree-base-runtime"):
        return
    with Pool(1) as pool:  # Vendors' libraries in drivers may crash or hang.
        for name in pool.submit(driver_names, seconds=_SECONDS).result():
            try:
                devices = pool.submit(device_names, name, seconds=_SECONDS).result()
                yield Driver(name, devices)
            except TuninglinkError as failure:
                yield Driver(name, failure=failure.diagnostics[0].message)
            except (JobError, JobTimeoutError, WorkerCrashedError) as failure:
                yield Driver(name, failure=str(failure))


def driver_names() -> list[str]:
    """Return the drivers of the runtime."""
    from iree import runtime as rt  # noqa: PLC0415 - an extra

    return sorted(rt.query_available_drivers())


def device_names(driver: str) -> tuple[tuple[str, str], ...]:
    """Return the URI and the name of each device of a driver.

    Raises:
        DeviceError: the driver cannot be loaded, or lists no devices.
    """
    from tuninglink.tuning.devices.device import LOCAL_DRIVERS, describe, devices_of  # noqa: PLC0415

    if driver in LOCAL_DRIVERS:
        return ((f"{driver}://", describe(driver).name),)
    return tuple((device.uri, device.name) for device in devices_of(driver))
