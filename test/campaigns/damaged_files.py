"""Damages files of every kind that a command reads: no traceback, no hang, and an error wherever a command fails.

Run by hand; each case follows from the seed and its number:

    python test/campaigns/damaged_files.py --cases 500 --seed 0
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import numpy as np
from iree import runtime as rt

ROOT: Final = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "support"))

from database_writers import trial  # noqa: E402

from tuninglink.tuning.database import Database  # noqa: E402

TOOLS: Final = Path(sys.executable).parent
CPU: Final = ("--target", "host")
SECONDS: Final = 600
"""The time limit of a command on a busy machine."""

PROGRAM: Final = """
util.global private @w = #flow.parameter.named<"model"::"w"> : tensor<8x8xf32>
func.func @main(%a: tensor<8x8xf32>, %c: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %w = util.global.load @w : tensor<8x8xf32>
  %0 = linalg.matmul ins(%a, %w : tensor<8x8xf32>, tensor<8x8xf32>) outs(%c : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
"""

COMMANDS: Final[dict[str, tuple[tuple[str, ...], ...]]] = {
    "spec.mlir": (
        ("check", "spec.mlir"),
        ("link", "spec.mlir", "-o", "out.mlir"),
        ("upgrade", "spec.mlir", "-o", "out.mlir"),
        ("compile", "program.mlir", "--spec", "spec.mlir", *CPU, "-o", "out.vmfb"),
        ("opt", "spec.mlir", "--tuninglink-verify-specs"),
        ("diff", "spec.mlir", "good.mlir"),
    ),
    "spec.mlirbc": (
        ("check", "spec.mlirbc"),
        ("link", "spec.mlirbc", "-o", "out.mlir"),
        ("explain", "program.mlir", "--spec", "spec.mlirbc", *CPU),
        ("dump", "spec.mlirbc"),
        ("opt", "spec.mlirbc", "--tuninglink-link-specs"),
        ("opt", "spec.mlirbc", "--allow-unregistered-dialect", "--tuninglink-strip-configs"),
    ),
    "program.mlir": (
        ("explain", "program.mlir", *CPU),
        ("init", "program.mlir", *CPU, "-o", "out.mlir"),
    ),
    "program.mlirbc": (("compile", "program.mlirbc", *CPU, "-o", "out.vmfb"),),
    "tuninglink.toml": (("check",), ("compile", "program.mlir", *CPU, "-o", "out.vmfb")),
    "pyproject.toml": (("link", "-o", "out.mlir"),),
    "tuninglink.lock": (("lock", "--check"), ("check",)),
    "more.flags": (
        ("compile", "program.mlir", *CPU, "-o", "out.vmfb"),
        ("explain", "program.mlir", *CPU, "@more.flags"),
    ),
    "report.json": (
        ("diff", "report.json", "good.json"),
        ("explain", "program.mlir", *CPU, "--profile", "report.json"),
    ),
    "times.json": (("explain", "program.mlir", *CPU, "--profile", "times.json"),),
    "trials.db": (
        ("database", "show", "trials.db"),
        ("database", "merge", "new.db", "trials.db"),
        ("database", "export", "trials.db", "-o", "out.json"),
        ("database", "history", "trials.db", "--all"),
        ("explain", "program.mlir", *CPU, "--database", "trials.db"),
    ),
    "trials.json": (("database", "import", "new.db", "trials.json"),),
    "weights.irpa": (("verify", "program.mlir", *CPU, "--parameters", "model=weights.irpa"),),
    "problems.txt": (
        ("tune", "--problems", "problems.txt", *CPU, "--trials", "1", "-o", "out.mlir"),
    ),
}
"""The commands that read each file."""


def prepare(folder: Path) -> None:
    """Write sound files of every kind."""
    spec = (ROOT / "examples" / "spec_gfx942.mlir").read_text()
    for name in ("spec.mlir", "good.mlir"):
        (folder / name).write_text(spec)
    (folder / "program.mlir").write_text(PROGRAM)
    for name in ("spec", "program"):
        command = [TOOLS / "iree-opt", "--emit-bytecode", f"{name}.mlir", "-o", f"{name}.mlirbc"]
        subprocess.run(command, cwd=folder, check=True)
    (folder / "tuninglink.toml").write_text('specs = ["good.mlir"]\nflags = ["@more.flags"]\n')
    (folder / "more.flags").write_text("--iree-opt-level=O1\n--iree-llvmcpu-target-cpu='generic'\n")
    times = {"name": "@main_dispatch_0", "calls": 10, "microseconds": 100.0}
    document = {"format": "tuninglink.explanation", "dispatches": [times]}
    (folder / "times.json").write_text(json.dumps(document))
    (folder / "problems.txt").write_text(
        "matmul 4x256x256 f32 transpose_b\nconv -n 1 -c 8 -H 10 -W 10 -k 16\n"
    )
    with Database(folder / "trials.db") as database:
        database.record_all([trial(number) for number in range(40)])
    index = rt.ParameterIndex()
    index.add_buffer("w", np.ones((8, 8), np.float32))
    index.create_archive_file(str(folder / "weights.irpa"))
    for command in (
        ("lock",),
        ("explain", "program.mlir", *CPU, "--format", "json", "-o", "report.json"),
        ("database", "export", "trials.db", "-o", "trials.json"),
    ):
        subprocess.run(
            [TOOLS / "tuninglink", *command], cwd=folder, check=True, capture_output=True
        )
    (folder / "good.json").write_bytes((folder / "report.json").read_bytes())
    (folder / "pyproject.toml").write_text('[tool.tuninglink]\nspecs = ["good.mlir"]\n')


def damaged(content: bytes, numbers: random.Random) -> bytes:
    """Return a file with random damage."""
    data = bytearray(content)
    kind = numbers.randrange(10)
    start = numbers.randrange(len(data))
    if kind < 4:
        for _ in range(numbers.choice((1, 3, 20, 200))):
            data[numbers.randrange(len(data))] ^= 1 << numbers.randrange(8)
        return bytes(data)
    if kind == 4:
        return bytes(data[:start])
    if kind == 5:
        return bytes(data[start:] + data[:start])
    insert = numbers.choice(
        (
            b"[" * 50_000,
            b"{" * 20_000,
            b'{"a":' * 5_000,
            b"(" * 5_000,
            b"9" * 5_000,
            b"a" * 6_000,
            b"\0" * 100,
            b"\xff\xfe",
            numbers.randbytes(300),
            b"\x1b[31m\n::error::x\n",
        )
    )
    if kind == 6:  # in place of a value
        end = min(len(data), start + numbers.randrange(20))
        return bytes(data[:start] + insert + data[end:])
    if kind == 7:  # a number of a text becomes the insertion
        digits = [place for place, byte in enumerate(data) if 48 <= byte < 58]
        place = numbers.choice(digits or [start])
        return bytes(data[:place] + insert + data[place + 1 :])
    if kind == 8:
        return insert
    return b"" if numbers.random() < 0.2 else json.dumps(numbers.choice(VALUES)).encode()


VALUES: Final = (
    None,
    1,
    [],
    {},
    "x",
    [1, [2]],
    {"version": 1},
    {"format": 1},
    {"specs": {"good.mlir": {}}},
    True,
)


def run(number: int, seed: int, sound: Path) -> tuple[str, str]:
    """Run the commands on a damaged file, and return its name and what went wrong."""
    numbers = random.Random(f"{seed} {number}")
    names = list(COMMANDS)
    name = names[number % len(names)]
    command = numbers.choice(COMMANDS[name])
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(sound, folder, dirs_exist_ok=True)
        if name != "pyproject.toml":
            (Path(folder) / "pyproject.toml").unlink()
        else:
            (Path(folder) / "tuninglink.toml").unlink()
        if name != "tuninglink.lock":
            (Path(folder) / "tuninglink.lock").unlink()
        path = Path(folder) / name
        path.write_bytes(damaged(path.read_bytes(), numbers))
        program = "tuninglink-opt" if command[0] == "opt" else "tuninglink"
        words = command[1:] if command[0] == "opt" else command
        try:
            done = subprocess.run(
                [TOOLS / program, *words],
                cwd=folder,
                capture_output=True,
                check=False,
                timeout=SECONDS,
                stdin=subprocess.DEVNULL,
                env={**os.environ, "NO_COLOR": "1", "TUNINGLINK_CACHE_DIR": f"{folder}/cache"},
            )
        except subprocess.TimeoutExpired:
            return f"{name}: {' '.join(command)}", "hangs"
    text = done.stderr.decode(errors="replace")
    fault = ""
    if "Traceback" in text or "nanobind" in text:
        fault = "traceback: " + text[-800:]
    elif done.returncode not in (0, 1, 2):
        fault = f"exit code {done.returncode}: {text[-300:]}"
    elif done.returncode and not re.search("error|option: '", text) and program == "tuninglink":
        fault = f"fails without an error: {text[-300:]}"
    elif any(line.startswith("::error::x") for line in text.splitlines()) or "\x1b" in text:
        fault = "control characters: " + text[-300:]
    elif "the compiler crashed" in text:
        fault = "(the compiler crashed)"
    return f"{name}: {' '.join(command)}", fault or f"exit code {done.returncode}"


def main() -> int:
    """Run the campaign; the exit code is 1 if a command misbehaves."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    outcomes: Counter[str] = Counter()
    faults = 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as pool:
        prepare(Path(folder))
        cases = range(options.first, options.first + options.cases)
        results = pool.map(lambda number: run(number, options.seed, Path(folder)), cases)
        for number, (what, outcome) in zip(cases, results, strict=True):
            is_known = outcome.startswith(("exit code 0", "exit code 1", "exit code 2", "("))
            outcomes[outcome if is_known else "faults"] += 1
            if not is_known or outcome.startswith("("):
                faults += not is_known
                print(f"case {number}: {what}: {outcome}", flush=True)
    print(f"{options.cases} files: {dict(outcomes)}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
