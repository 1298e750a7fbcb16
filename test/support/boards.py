"""Boards that are this machine: by a plain prefix, in a small directory, and by an emulator of AArch64 where it is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import ZipFile

import pytest
from places import ROOT

from tuninglink.explaining import runtime_tool

if TYPE_CHECKING:
    from collections.abc import Iterator

TOOLS = runtime_tool("iree-run-module").parent
EMULATOR = "qemu-aarch64-static -cpu max -L /usr/aarch64-linux-gnu"
LIBRARY = Path("/usr/aarch64-linux-gnu/lib/libstdc++.so.6")


def uri(directory: Path, command: str = "env", tools: Path = TOOLS, **others: object) -> str:
    parts = {"tools": tools, "dir": directory, "driver": "local-sync", **others}
    return f"run[{','.join(f'{key}={value}' for key, value in parts.items())}]:{command}"


def aarch64_tools() -> Path:
    """Return the directory of the runtime's tools for AArch64; skip the test without them or the emulator."""
    if shutil.which(EMULATOR.split(maxsplit=1)[0]) is None or not LIBRARY.exists():
        pytest.skip("no qemu-user-static with libstdc++6-arm64-cross is installed")
    version = metadata.version("iree-base-runtime")
    place = ROOT / "build" / f"aarch64-{version}"
    tools = place / "iree" / "_runtime_libs"
    if not (tools / "iree-run-module").exists():
        download = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "-q",
            "--no-deps",
            "--only-binary=:all:",
        ]
        download += ["--platform", "manylinux_2_28_aarch64", "-d", str(place)]
        done = subprocess.run([*download, f"iree-base-runtime=={version}"], check=False)
        wheel = next(place.glob("*.whl"), None)
        if done.returncode or wheel is None:
            pytest.skip(f"no wheel of iree-base-runtime {version} for AArch64 can be downloaded")
        with ZipFile(wheel) as archive:
            for tool in ("iree-benchmark-module", "iree-run-module"):
                Path(archive.extract(f"iree/_runtime_libs/{tool}", place)).chmod(0o755)
        wheel.unlink()
    return tools


def connection(script: str) -> tuple[str, ...]:
    """Return a command that runs a script in front of the command that it gets as arguments."""
    return ("sh", "-c", f'{script}\nexec "$@"', "connection")


@contextmanager
def small_directory(place: Path, megabytes: int) -> Iterator[tuple[str, ...]]:
    """Let a directory have little room; the commands that run others with it. Without rights, no file is larger."""
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(place)]
    if os.geteuid() or subprocess.run(mount, check=False, capture_output=True).returncode:
        yield connection(f"ulimit -f {megabytes * 1024}")
        return
    try:
        yield ("env",)
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)
