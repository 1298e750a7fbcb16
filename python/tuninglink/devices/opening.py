"""Devices by their URIs: those of this machine in processes of their own, and boards."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from typing import Final, TypeAlias

from tuninglink.devices.board import BoardDevice
from tuninglink.devices.board_uri import BOARD, BoardUri
from tuninglink.devices.device import (
    COMPILING_DRIVERS,
    DISTINCT_FAMILIES,
    LOCAL_DRIVERS,
    THREADED_DRIVER,
    DeviceError,
    backend_of,
    default_device,
    describe,
    driver_error,
    driver_of,
    physical_cores,
)
from tuninglink.devices.device_set import AHEAD, AheadLoader, DeviceProcess, DeviceSet
from tuninglink.devices.times import Settings
from tuninglink.errors import TuninglinkError
from tuninglink.mlir import error, note
from tuninglink.workers import JobTimeoutError, Pool, WorkerCrashedError

_CHECK_SECONDS: Final = 60.0
"""The time limit for a driver to load and to list its devices; see `DeviceProcess`."""

_TRIPLE: Final = "--iree-llvmcpu-target-triple="


def foreign_family(flags: Sequence[str], machine: str) -> str:
    """Return the instruction set that the compiler's flags name; empty if a machine of `uname -m` may run it."""
    named = next((f[len(_TRIPLE) :].split("-")[0] for f in flags if f.startswith(_TRIPLE)), "")
    family = {"arm64": "aarch64", "amd64": "x86_64"}.get(named, named)
    return family if family != machine and {family, machine} <= DISTINCT_FAMILIES else ""


def check_devices(uris: Sequence[str], flags: Sequence[str] = ()) -> None:
    """Check devices that a run names, or else the one that runs code for its flags, without opening them.

    Vendors' drivers, which may crash or hang, are loaded in a separate process. Boards are not reached.

    Raises:
        DeviceError: the driver or device does not exist, or this machine does not run code for the flags.
    """
    backend = backend_of(flags)
    uris = uris or ((default_device(backend),) if backend else ())
    # Code for another processor would fail with the compiler's choices, after a minute of compilation.
    family = foreign_family(flags, here := platform.machine())
    if family and any(driver_of(uri) in LOCAL_DRIVERS for uri in uris):
        remedy = "name one that does, as in --device 'run:ssh board'; see docs/guides/boards.md"
        message = f"this machine ({here}) does not run code for {family}"
        raise DeviceError(error(message, notes=[note(remedy)]))
    with Pool(1) as pool:
        for uri in sorted(uris, key=lambda uri: driver_of(uri) not in LOCAL_DRIVERS):
            driver = driver_of(uri)
            try:
                if driver == BOARD:
                    BoardUri.parse(uri).access()
                elif driver in LOCAL_DRIVERS:
                    describe(uri)
                else:
                    pool.submit(describe, uri, seconds=_CHECK_SECONDS).result()
            except JobTimeoutError:
                message = f"driver '{driver}' lists no devices within {_CHECK_SECONDS:.0f} s"
                raise driver_error(message) from None
            except WorkerCrashedError as failure:
                message = f"the process that loads driver '{driver}' ended: {failure}"
                raise driver_error(message) from None


OpenedDevice: TypeAlias = DeviceProcess | BoardDevice
"""A device that is closed when its block ends."""


def opened_device(
    uri: str, settings: Settings, timeout: float = 30.0, cores: Sequence[int] = ()
) -> OpenedDevice:
    """Open a device; the arguments are those of `DeviceProcess`.

    Raises:
        DeviceError: the device does not exist, cannot be opened or reached.
    """
    if driver_of(uri) == BOARD:
        return BoardDevice(uri, settings, timeout)
    return DeviceProcess(uri, cores, settings, timeout)


class Devices(DeviceSet):
    """Devices of one kind that this machine reaches: each in a separate process here, or a board.

    Args:
        uris: the devices.
        settings: the settings of measurements.
        timeout: the seconds after which a benchmark counts as hanging.

    Raises:
        DeviceError: a device is missing or cannot be opened.
        TuninglinkError: the devices are not equal, or there are more CPU devices than cores.
    """

    def __init__(self, uris: Sequence[str], settings: Settings, timeout: float) -> None:
        # Threaded CPU devices divide the cores among themselves.
        cores: list[int] = []
        if len(uris) > 1 and THREADED_DRIVER in uris:
            cores = physical_cores()
            if len(uris) > len(cores):
                needed = f"{len(uris)} devices '{THREADED_DRIVER}' need as many cores"
                raise TuninglinkError(error(f"{needed}; there are {len(cores)}"))
        share = len(cores) // len(uris)
        compiles = driver_of(uris[0]) in COMPILING_DRIVERS
        super().__init__(len(uris) + (AHEAD if compiles else 0))
        try:
            for number, uri in enumerate(uris):
                own = cores[number * share : (number + 1) * share]
                device = opened_device(uri, settings, timeout, own)
                self.callback(device.close)
                self.add(device)
                # They must be equal to share the work.
                first, name = self.first.description.name, device.description.name
                if name != first:
                    names = f"device '{uri}' is a {name}, and '{uris[0]}' is a {first}"
                    message = f"{names}; devices that share the work must be equal"
                    raise TuninglinkError(error(message))
            if compiles:  # not before: what opens a device at the same time delays it
                self.ahead = AheadLoader(uris[0], AHEAD, timeout)
                self.callback(self.ahead.pool.close)
        except BaseException:
            self.close()
            raise
