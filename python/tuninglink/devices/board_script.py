"""Scripts for a device without Python: they compile, run and compare a program with the compiler's stock tools."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import metadata, resources
from pathlib import Path
from typing import Final

import numpy as np

from tuninglink.compiler import Phase, import_onnx
from tuninglink.devices.device import backend_of
from tuninglink.devices.running import input_bytes
from tuninglink.errors import TuninglinkError, escaped
from tuninglink.files import check_output, write_file
from tuninglink.iree import RANGES, GivenSizes
from tuninglink.mlir import error, note, to_text
from tuninglink.programs import (
    PLAIN_INTEGERS,
    CallOptions,
    FunctionCall,
    ProgramCalls,
    element_type,
    program_calls,
)
from tuninglink.specs import PREPROCESSING_FLAG, load_spec

_SPEC_FLAG: Final = "--iree-codegen-tuning-spec-path"

_READING_BACKENDS: Final = ("llvm-cpu", "rocm")
"""The backends for which the compiler's own command reads a spec; for others it ignores the flag."""

_SEED: Final = 0


@dataclass(frozen=True)
class BoardScript:
    """A script to be written.

    Attributes:
        path: the script; its folder, with the suffix `.run`, gets the inputs and what the script compiles.
        program: the program, which compilation starts at the phase `first` of.
        spec: the file of the tuned spec; empty for none.
        flags: the user's flags of the compiler.
        tuned_flags: the flags that tuning found.
        device: the URI of the device that the script uses by default.
        calls: the user's options for the calls of the program.
    """

    path: Path
    program: Path
    spec: str
    flags: tuple[str, ...]
    tuned_flags: tuple[str, ...]
    device: str
    calls: CallOptions
    sizes: tuple[GivenSizes, ...] = ()
    first: Phase = Phase.START

    @property
    def folder(self) -> Path:
        """The folder of the inputs and of what the script compiles."""
        return self.path.with_suffix(".run")

    def check(self, taken: Sequence[Path]) -> None:
        """Check that the script can be written, and takes the place of none of some other files.

        Raises:
            TuninglinkError: it cannot, or no function of the program can be called.
        """
        check_output(str(self.path))
        if self.folder.exists() and not self.folder.is_dir():
            message = f"cannot write to '{self.folder}': it is not a directory"
            raise TuninglinkError(error(message))
        roles = (
            (self.folder, "folder of its inputs", [*taken, self.path]),
            (self.path, "script", taken),
        )
        for place, what, others in roles:
            if other := next((o for o in others if o.resolve() == place.resolve()), None):
                message = f"'{other}' is also the {what} of '--emit-script {self.path}'"
                raise TuninglinkError(error(message, notes=[note("name another file")]))
        self._calls(self.program)

    def _calls(self, source: Path) -> tuple[ProgramCalls, list[FunctionCall], list[str]]:
        """Return the calls of the program, those of the script, and the reasons for leaving out others."""
        program = program_calls(str(source), first=self.first, sizes=self.sizes, options=self.calls)
        calls = program.functions if program else ()
        called = [call for call in calls if not call.obstacle]
        reasons = [f"{call.label}: {call.obstacle}" for call in calls if call.obstacle]
        if program is None or not called:
            reason = "; ".join(reasons) or "the functions of the program cannot be read"
            raise TuninglinkError(error(f"no function can be called in '{self.path}': {reason}"))
        return program, called, reasons

    def write(self) -> list[str]:
        """Write the script and the files that it needs, and return the reasons for functions that it does not call.

        Raises:
            TuninglinkError: a file cannot be written, or no function of the program can be called.
        """
        folder = self.folder
        folder.mkdir(parents=True, exist_ok=True)
        source = self.program
        if source.suffix == ".onnx":  # iree-compile does not import models
            source = folder / "program.mlirbc"
            write_file(source, import_onnx(self.program))
        program, called, reasons = self._calls(source)
        parameters = [
            f"--parameters={f'{file.scope}=' if file.scope else ''}{file.path}"
            for file in program.parameters.files
        ]
        if program.parameters.is_synthetic and program.parameters.parameters:
            reasons.append("the weights are random: RUN_FLAGS='--parameters=…' names their files")
        # 1. The commands that compile the program.
        plain = ["iree-compile", self._place(source), *self.flags]
        if self.first is not Phase.START:
            plain.append(f"--compile-from={self.first.value}")
        default = self._command(plain, "default.vmfb")
        tuned = self._command(self._tuned(plain, folder), "tuned.vmfb")
        # 2. The calls, each with its inputs.
        comparisons = []
        for call in called:
            label = re.sub(r"[^\w.-]+", "_", call.label)
            inputs = [*self._inputs(call, label, folder), *parameters]
            words = " ".join(map(self._quoted, (label, call.name, *inputs)))
            comparisons.append(f"  compare {words}")
        omitted = [f"# Not called: {escaped(reason)}" for reason in reasons]
        script, beside = shlex.quote(escaped(self.path.name)), escaped(folder.name)
        lines = [
            "#!/bin/sh",
            f"# Compile '{escaped(self.program.name)}' with and without what `tuninglink tune` found, run both on a device, and compare",
            "# outputs and times. Needs only the compiler's stock tools and a POSIX shell with awk and sort.",
            f"# Written for version {metadata.version('iree-base-compiler')} of the compiler.",
            "#",
            f"#   sh {script} compile   where iree-compile is: writes to {beside}",
            f"#   sh {script} run       where the device is, with {beside} next to the script",
            f"#   sh {script}           both",
            "#",
            "# Variables: DEVICE, RUN_FLAGS (further flags of the runtime), REPETITIONS, MIN_TIME (of one repetition), TOLERANCE",
            "# (absolute and relative), IREE_COMPILE, IREE_RUN_MODULE, IREE_BENCHMARK_MODULE (the tools).",
            *omitted,
            "set -eu",
            'here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)',
            f"files=$here/{shlex.quote(folder.name)}",
            f"device={shlex.quote(self.device)}",
            "",
            "compile() {",
            f"  {default}",
            f"  {tuned}",
            "}",
            "",
            "compare_all() {",
            *comparisons,
            "}",
        ]
        body = resources.files("tuninglink.tuning").joinpath("board_script.txt").read_text()
        write_file(self.path, "\n".join(lines) + "\n" + body)
        self.path.chmod(self.path.stat().st_mode | 0o111)
        return reasons

    def _tuned(self, plain: Sequence[str], folder: Path) -> list[str]:
        """Return the words that compile the program with the spec and the flags that tuning found."""
        words = [*plain, *self.tuned_flags]
        if not self.spec:
            return words
        spec = load_spec(self.spec)
        text = spec.text()
        preprocesses = any(flag.startswith(PREPROCESSING_FLAG) for flag in words)
        is_read = backend_of(self.flags) in _READING_BACKENDS and RANGES not in text
        if is_read and not (preprocesses and spec.replacing):
            if spec.replacing is None:
                return [*words, f"{_SPEC_FLAG}={self._place(Path(self.spec))}"]
            # The compiler reads the two kinds of entries in two specs.
            configuring, replacing = folder / "configure.mlir", folder / "replace.mlir"
            write_file(configuring, replace(spec, replacing=None).text())
            write_file(replacing, to_text(spec.replacing.module))
            return [
                *words,
                f"{_SPEC_FLAG}={self._place(configuring)}",
                f"{PREPROCESSING_FLAG}={self._place(replacing)}",
            ]
        # The compiler ignores a spec for this backend, but not one that the dispatches of a program carry.
        carrying = folder / "tuned.mlirbc"
        flags = [*plain[2:], *self.tuned_flags]
        command = [sys.executable, "-m", "tuninglink", "compile", str(self.program), *flags]
        command += ["--spec", self.spec, "--no-default-specs", "--no-project", "-o", str(carrying)]
        command += ["--emit-mlir-bytecode", f"--compile-to={Phase.EXECUTABLE_SOURCES.value}"]
        run = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own command
        if run.returncode:
            raise TuninglinkError(error(f"cannot compile '{self.program}': {run.stderr.strip()}"))
        kept = [
            flag
            for flag in (*self.flags, *self.tuned_flags)
            if not flag.startswith(PREPROCESSING_FLAG)
        ]
        from_sources = f"--compile-from={Phase.EXECUTABLE_SOURCES.value}"
        return ["iree-compile", self._place(carrying), *kept, from_sources]

    def _inputs(self, call: FunctionCall, label: str, folder: Path) -> Iterator[str]:
        """Write the inputs of a call to files, and yield the flags that name them; numbers are in their flags."""
        for number, argument in enumerate(call.inputs):
            values = input_bytes(argument, number, _SEED, PLAIN_INTEGERS)
            if argument.is_scalar:
                dtype = element_type(argument.element_type)
                yield f"--input={np.frombuffer(values.tobytes(), dtype)[0]}"
                continue
            file = folder / f"{label}.input{number}.bin"
            write_file(file, values.tobytes())
            kind = "x".join([*map(str, argument.shape), argument.element_type])
            yield f"--input={kind}=@{self._place(file)}"

    def _place(self, file: Path) -> str:
        """Return a file relative to the folder of the script, after a mark that `_quoted` replaces."""
        return _HERE + os.path.relpath(file.resolve(), self.path.parent.resolve())

    def _command(self, words: Sequence[str], output: str) -> str:
        quoted = " ".join(map(self._quoted, words[1:]))
        return f'"$compiler" {quoted} -o "$files"/{output}'

    def _quoted(self, word: str) -> str:
        """Quote a word for the shell, with the place of a file relative to that of the script."""
        before, mark, place = word.partition(_HERE)
        quoted = shlex.quote(before) if before else ""
        return f'{quoted}"$here"/{shlex.quote(place)}' if mark else shlex.quote(word)


_HERE: Final = "\0here/"
"""The mark of a file that has its place relative to the script."""
