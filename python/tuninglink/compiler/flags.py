"""The arguments of `iree-compile` and of Tuninglink.

One command line combines three kinds of flags. Driver flags (`-o`, `--compile-to`) of `iree-compile` are reimplemented
here. Flags about specs belong to Tuninglink, or the compiler would read them too late. All other flags are passed to
the compiler.
"""

from __future__ import annotations

import os
import platform
import re
import shlex
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, Final

from iree.compiler import _mlir_libs, ir as mlir

from tuninglink.compiler.options import COMPILE_FLAGS, HOST, CompileOptions
from tuninglink.compiler.session import (
    Invocation,
    Phase,
    Session,
    registered_backends,
    session_flags,
)
from tuninglink.errors import (
    CompileError,
    TargetError,
    TuninglinkError,
    UsageError,
    did_you_mean,
)
from tuninglink.iree import Target, read_executable_target, targets
from tuninglink.llvm_flags import (
    CommandLine,
    CommandLineError,
    Flag,
    dashed,
)
from tuninglink.mlir import children, error, note, parameters, thread_context

_EMPTY_PROGRAM: Final = b"module {}\0"
"""A program whose only relevant parts are its devices. The null ends its text."""


def executable_target(flags: Iterable[str], context: mlir.Context) -> mlir.Attribute:
    """Return the `#hal.executable.target`, or the first of several, that the compiler derives from flags.

    Args:
        flags: flags of sessions that name a target, each `--name=value`.
        context: the context of the attribute.

    Raises:
        CompileError: the target is unknown, or the flags name none.
    """
    return mlir.Attribute.parse(_executable_target(tuple(flags)), context)


@lru_cache(maxsize=64)
def _executable_target(flags: tuple[str, ...]) -> str:
    """Return the attribute as text, which is valid in any context."""
    check_targets(flags)
    with (
        Session(flags) as session,
        session.wrap(_EMPTY_PROGRAM, "target.mlir") as program,
        Invocation(session) as invocation,
    ):
        invocation.parse(program)
        # The first phase after which the module has the devices.
        invocation.advance(Phase.START, Phase.PREPROCESSING)
        operations = children(invocation.module)
        values = (operation.attributes.get("initial_value") for operation in operations)
        targets = (target for value in values if value for target in _targets_in(value))
        target = next(targets, None)
        if target is None:
            raise no_target()
        return str(target)


_EXAMPLES: Final = {
    "the CPU of this machine": "host",
    "a GPU of AMD": "gfx942",
    "a GPU of NVIDIA": "sm_80",
}


def no_target() -> UsageError:
    """Return the error for a command line without a target, with examples to copy."""
    notes = [note(f"for {machine}: --target {name}") for machine, name in _EXAMPLES.items()]
    return UsageError(error("no target; name what to compile for", notes=notes))


def check_has_target(flags: Iterable[str], program: str = "") -> None:
    """Check that a program to compile has a target, before any work.

    Programs that cannot be read twice, and those with the name of the dialect that describes devices, are left to the
    compiler.

    Args:
        flags: flags of the compiler.
        program: the path of the program; empty for a generated program, which has no target.

    Raises:
        UsageError: neither the flags nor the program name a target.
    """
    if any(flag.startswith(_DEVICE_FLAGS) for flag in flags):
        return
    path = Path(program)
    if not program or path.suffix == ".onnx":
        raise no_target()
    if path.is_file() and path.stat().st_size:
        with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
            if content.find(b"hal") < 0:
                raise no_target()


_DEVICE_FLAGS: Final = ("--iree-hal-target-device", "--iree-hal-target-backends")


def _targets_in(attribute: mlir.Attribute) -> Iterator[mlir.Attribute]:
    """Yield the executable targets in a `#hal.device.target`, or in an attribute that lists device targets."""
    if read_executable_target(attribute) is not None:
        yield attribute
        return
    nested = attribute if isinstance(attribute, mlir.ArrayAttr) else parameters(attribute)
    for element in nested or ():
        yield from _targets_in(element)


_HOST_FLAGS: Final = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
)


def _is_host(name: str) -> bool:
    return name.strip().lower() == HOST


def named_target(name: str) -> Target:
    """Return the target with a name; `host` is the processor of this machine.

    Raises:
        TargetError: the name is unknown.
    """
    if _is_host(name):
        return Target.from_attribute(executable_target(_HOST_FLAGS, thread_context()))
    return Target.parse(name)


def read_target(name: str) -> Target:
    """Return the target with a name, for which the compiler generates code; `host` is the processor of this machine.

    Raises:
        TargetError: the name is unknown, or the compiler generates no code for the target.
    """
    target = named_target(name)
    if _is_host(name):
        return target
    try:
        executable_target(compile_flags(target), thread_context())
    except CompileError:
        # Name the alternatives for a target that the compiler does not know.
        remedies = []
        if target.backend == "rocm":
            architectures = targets.ROCM.get(target.family, ["gfx942"])
            if architectures:
                remedies.append(f"name the architecture, such as {', '.join(architectures)}")
            if target.family != target.backend:
                other = f"'vulkan-{target.family}' is its name for the backend vulkan"
                remedies.append(other)
        if target.backend == "cuda":
            remedies.append("GPUs run code for older architectures, such as sm_80")
        message = f"the compiler generates no code for '{name}'"
        raise TargetError(error(message, notes=list(map(note, remedies)))) from None
    return target


_DEVICES: Final = {"rocm": "hip", "cuda": "cuda", "vulkan": "vulkan", "metal": "metal"}
"""The device of a backend. Other backends run on the local device."""

_TARGET_FLAGS: Final = {
    "rocm": "--iree-rocm-target",
    "cuda": "--iree-cuda-target",
    "vulkan": "--iree-vulkan-target",
}


def expanded_target(name: str, explicit: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the compiler flags that `--target` stands for, without those that are also given explicitly.

    Args:
        name: the name of the target; see `read_target`.
        explicit: the other flags of the command line, each `--name=value` or `--name`.

    Raises:
        TargetError: the name is unknown, or the compiler generates no code for the target.
        UsageError: an explicit flag names another target.
    """
    target = read_target(name)
    flags = _HOST_FLAGS if _is_host(name) else tuple(compile_flags(target))
    values = dict(flag.split("=", 1) for flag in flags)
    for flag in explicit:
        key = flag.partition("=")[0]
        is_foreign = key in NAMING_FLAGS and NAMING_FLAGS[key] != target.backend
        if flag not in flags and (key in values or is_foreign):
            message = f"--target {name} conflicts with {flag}; it stands for {' '.join(flags)}"
            raise UsageError(error(message))
    return tuple(flag for flag in flags if flag not in explicit)


def compile_flags(target: Target) -> list[str]:
    """Return compiler flags for a target, as specific as possible.

    A target that names only a backend leaves the rest to the compiler, which may require more flags.
    """
    backend = target.backend
    device = _DEVICES.get(backend)
    if device is None:
        flags = ["--iree-hal-target-device=local"]
        flags.append(f"--iree-hal-local-target-device-backends={backend}")
        if backend == "llvm-cpu" and target.family != backend:
            flags.append(f"--iree-llvmcpu-target-triple={target.family}-unknown-linux-gnu")
            flags.append(f"--iree-llvmcpu-target-cpu={target.architecture or 'generic'}")
        return flags
    flags = [f"--iree-hal-target-device={device}"]
    sku = None if target.sku in targets.CUDA_PRODUCTS else target.sku
    family = None if target.family == target.backend else target.family
    name = sku or target.architecture or family
    if backend in _TARGET_FLAGS and name is not None:
        flags.append(f"{_TARGET_FLAGS[backend]}={name}")
    return flags


NAMING_FLAGS: Final = {
    **{flag: backend for backend, flag in _TARGET_FLAGS.items()},
    "--iree-llvmcpu-target-triple": "llvm-cpu",
    "--iree-llvmcpu-target-cpu": "llvm-cpu",
    **dict.fromkeys((*_DEVICE_FLAGS, "--iree-hal-local-target-device-backends"), ""),
}
"""The flags that name a target, with their backend; empty for any."""


# --- The arguments of `iree-compile` and of Tuninglink -------------------------------------------


def parse_arguments(arguments: Iterable[str]) -> CompileOptions:
    """Read the arguments of `tuninglink compile` after the program's name.

    Raises:
        UsageError: a value is malformed or missing, a flag is given twice, there is more than one input,
            or a flag is unknown.
    """
    return compile_options(FlagReader(COMPILE_FLAGS, arguments))


def compile_options(reader: FlagReader) -> CompileOptions:
    """Return the options of a compilation with the values of flags."""
    values: dict[str, Any] = reader.values
    return CompileOptions(input=reader.input, flags=reader.flags, **values)


_SHOWN: Final = 5
"""The number of inputs to list where one is expected."""


class FlagReader:
    """A parser of command lines with flags of the compiler and of the command.

    Args:
        own_flags: the command's own flags, by name without dashes.
        arguments: the arguments after the program's name.

    Attributes:
        values: the values of the command's own flags, by field, except for the target.
        target: the name of the target; empty for no target.
        target_flags: the flags that the target stands for.
        flags: these and all other flags, each as `--name` or `--name=value`.
        inputs: the remaining arguments, which are paths.

    Raises:
        UsageError: a value is malformed or missing, a flag is given twice or unknown, or the target conflicts with it.
        TargetError: the target is unknown.
    """

    def __init__(self, own_flags: Mapping[str, Flag], arguments: Iterable[str]) -> None:
        try:
            line = CommandLine(own_flags, arguments)
        except CommandLineError as failure:
            raise UsageError(error(str(failure))) from None
        for flag in line.unknown:
            name = flag.name
            if name in _TOOL_FLAGS and f"--{name}" not in session_flags():
                remedy = note("'tuninglink compile' has this flag")
                raise UsageError(
                    error(f"'{dashed(name)}' is not a flag of this command", notes=[remedy])
                )
            # Most flags belong to sessions. Other flags require the list of all flags.
            if f"--{name}" not in session_flags() and name not in compiler_options():
                # A suggestion for an unknown flag. LLVM's many flags are suggested only at a higher similarity.
                users = [
                    *own_flags,
                    *(option for option in compiler_options() if option.startswith("iree-")),
                ]
                hint = did_you_mean(dashed(name), map(dashed, users), cutoff=_LIKE) or did_you_mean(
                    dashed(name), map(dashed, compiler_options()), cutoff=_HARDLY_ANOTHER
                )
                raise UsageError(error(f"unknown flag '{dashed(name)}'{hint}"))
        # A single word is the input. A list of all flags, which takes 20 ms, is not needed then.
        flags, inputs = line.split(line.unknown, compiler_options if len(line.words) > 1 else dict)
        self.values = line.values
        explicit = tuple(f"--{flag.lstrip('-')}" for flag in flags)
        self.target: str = self.values.pop("target", "")
        self.target_flags = expanded_target(self.target, explicit) if self.target else ()
        self.flags = (*self.target_flags, *explicit)
        self.inputs = inputs

    @property
    def input(self) -> str | None:
        """The path of the program, or None.

        Raises:
            UsageError: there is more than one input.
        """
        if len(self.inputs) > 1:
            listed = ", ".join(f"'{input_}'" for input_ in self.inputs[:_SHOWN])
            more = ", ..." if len(self.inputs) > _SHOWN else ""
            raise UsageError(error(f"expected one input, found {len(self.inputs)}: {listed}{more}"))
        return self.inputs[0] if self.inputs else None


_TOOL_FLAGS: Final = frozenset(
    spelling for name, flag in COMPILE_FLAGS.items() for spelling in (name, flag.short) if spelling
)
"""The flags of `iree-compile` that sessions do not have, such as `-o`."""

_LIKE: Final = 0.75
_HARDLY_ANOTHER: Final = 0.9


# --- Runs of `iree-compile` in a separate process, for flags that could terminate the current process

_PROBED_PROGRAM: Final = """
func.func @probe(%a: tensor<4xi32>, %b: tensor<4xi32>) -> tensor<4xi32> {
  %sum = arith.addi %a, %b : tensor<4xi32>
  return %sum : tensor<4xi32>
}
"""

_BACKEND_FLAGS: Final = (
    "--iree-hal-target-backends",
    "--iree-hal-local-target-device-backends",
    "--iree-hal-local-host-device-backends",
)

_PROBED: Final = {
    "--iree-cuda-target": "cuda",
    "--iree-vulkan-target": "vulkan-spirv",
    "--iree-llvmcpu-target-triple": "llvm-cpu",
    "--iree-llvmcpu-target-cpu": "llvm-cpu",
    "--iree-llvmcpu-target-cpu-features": "llvm-cpu",
    "--iree-llvmcpu-target-data-layout": "llvm-cpu",
}
"""Flags whose values may crash the compiler, and the backend that reads them."""

_SECONDS: Final = 120
"""The time limit of the compiler's own tool."""

_CUDA_TARGETS: Final = frozenset({"sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_89"})
"""Targets known to be valid."""


def iree_compile() -> Path:
    """Return the path of the `iree-compile` that belongs to the loaded compiler."""
    return Path(_mlir_libs.__path__[0]) / "iree-compile"


@cache
def compiler_options() -> Mapping[str, bool]:
    """Return the names of all options of `iree-compile`, and whether each requires a value."""
    return {name: bool(kind) for name, kind in option_kinds().items()}


@cache
def option_kinds() -> Mapping[str, str]:
    """Return the names of all options of `iree-compile`, with the kind of the required value; empty for none."""
    pattern = re.compile(r"^  --?([\w.-]+)(?:[= ]<([^>]*)>)?", re.MULTILINE)
    return dict(pattern.findall(_listing()))


def listed_values() -> Mapping[str, list[str]]:
    """Return the names of all options of `iree-compile`, with the values that its help lists."""
    values: dict[str, list[str]] = {}
    for line in _listing().splitlines():
        if option := re.match(r"  --?([\w.-]+)", line):
            listed = values.setdefault(option[1], [])
        elif values and (value := re.match(r"\s+=([\w.-]+) +- ", line)):
            listed.append(value[1])
    return values


@cache
def _listing() -> str:
    """Return the help text of `iree-compile`, with hidden options."""
    return subprocess.run(  # noqa: S603 - the compiler's own tool
        [iree_compile(), "--help-list-hidden"],
        capture_output=True,
        text=True,
        check=True,
        timeout=_SECONDS,
    ).stdout


def check_targets(flags: Sequence[str]) -> None:
    """Check that the compiler supports the backends and targets in flags.

    Raises:
        CompileError: a backend or a target is unknown.
    """
    values = [flag.partition("=")[::2] for flag in flags]
    for name, value in values:
        if name in _BACKEND_FLAGS and value not in registered_backends():
            join = ", ".join(registered_backends())
            raise CompileError(error(f"target backend '{value}' is not registered; known: {join}"))
    for backend in dict.fromkeys(_PROBED[name] for name, _ in values if name in _PROBED):
        relevant = tuple(
            f"{name}={value}" for name, value in values if _PROBED.get(name) == backend
        )
        if not _are_known(relevant):
            _probe(backend, relevant)


def _are_known(flags: tuple[str, ...]) -> bool:
    """Return whether `flags`, all for one backend, name a target that is known to be valid."""
    given = dict(flag.split("=", 1) for flag in flags if "=" in flag)
    triple = given.get("--iree-llvmcpu-target-triple", platform.machine())
    instruction_set = triple.partition("-")[0]
    if len(given) != len(flags) or instruction_set not in targets.CPUS:
        return False
    cpus = ("generic", "host", *targets.CPUS[instruction_set].split())

    def is_known(name: str, value: str) -> bool:
        match name:
            case "--iree-cuda-target":
                return value in _CUDA_TARGETS
            case "--iree-llvmcpu-target-triple":
                return True
            case "--iree-llvmcpu-target-cpu":
                return value in cpus
            case "--iree-llvmcpu-target-cpu-features":
                return all(word[:1] in ("+", "-") for word in value.split(","))
        return False

    return all(map(is_known, given, given.values()))


@cache
def _probe(backend: str, flags: tuple[str, ...]) -> None:
    arguments = ["-", "-o", os.devnull, f"--iree-hal-target-backends={backend}"]
    try:
        result = subprocess.run(  # noqa: S603 - it is the compiler's own tool
            [iree_compile(), *arguments, *flags],
            input=_PROBED_PROGRAM,
            capture_output=True,
            text=True,
            check=False,
            timeout=_SECONDS,
        )
    except subprocess.TimeoutExpired:
        message = f"the compiler did not finish within {_SECONDS} s with {' '.join(flags)}"
        raise CompileError(error(message)) from None
    if result.returncode:
        # The compiler's first error, without its location in the tiny program.
        reasons = (line.rpartition("error: ")[2].strip() for line in result.stderr.splitlines())
        noise = ("Please report", "Stack dump")
        own = (reason for reason in reasons if reason and not reason.startswith(noise))
        reason = next(own, f"it exits with status {result.returncode}")
        raise CompileError(error(f"the compiler rejects {' '.join(flags)}: {reason}"))


# --- The flags that a project file which the user did not name may give --------------------------
#
# None that runs a program, or reads or writes files. The kind of a flag's value decides, as the compiler's help gives
# it: a switch, a number or one of several words cannot name a file. Few flags with a text as value are accepted, and
# few switches are not.

_OWN: Final = frozenset(
    {"no-default-specs", "no-upgrade", "no-derived-entries", "skip-failing-entries", "prune"}
)
"""The flags of Tuninglink about the use of specs."""

_ACTING: Final = re.compile(
    r"dump|print|list-|plugin|ptxas|metallib|keep-|debug-patch|jit-|trace|break|benchmark|link-embedded|link-static|test"
)
"""Switches of which the compiler runs a tool, writes a file, or prints."""

_FILES: Final = re.compile(r"file|path|dir|archive", re.IGNORECASE)
"""Kinds of values that are files."""

_NAMING: Final = re.compile(
    r"iree-(cuda|rocm|vulkan)-target(-features)?"
    r"|iree-hal-(default-device|target-backends|target-device|local-(host|target)-device-backends)"
    r"|iree-llvmcpu-(target-(abi|cpu|cpu-features|data-layout|triple)|vscale-range|enable-(llvm-)?ukernels)"
    r"|iree-rocm-(enable-ukernels|encoding-layout-resolver)|iree-input-type"
)
"""Flags with a text as value that name a target, a device or a choice."""

_NAME: Final = re.compile(r"[\w.,:+=\[\]-]*")
"""The values of these. Attributes could name files."""

_PIPELINE: Final = "iree-preprocessing-pass-pipeline"
_PASSES: Final = re.compile(
    r"([\w.]+\(|\)|,|\s|canonicalize|cse|(iree-(linalg-ext|preprocessing|global-opt|dispatch-creation)-[\w-]+))*"
)
"""Pipelines of passes without options, which `tune` writes into response files."""


def check_found_flags(flags: Iterable[str], path: str) -> None:
    """Check the flags of a project file at `path` that was found, each with its value.

    Raises:
        TuninglinkError: a flag could run a program, or read or write a file.
    """

    def is_harmless(flag: str, value: str) -> bool:
        name = re.sub("^--?", "", flag)
        if name in _OWN:
            return True
        if name == "target":
            return bool(_NAME.fullmatch(value))
        kind = option_kinds().get(name)
        if kind is None or not flag.startswith("-") or not name.startswith("iree-"):
            return False
        if name == _PIPELINE:
            return bool(_PASSES.fullmatch(value))
        if _NAMING.fullmatch(name):
            return bool(_NAME.fullmatch(value))
        return kind != "string" and not _FILES.search(kind) and not _ACTING.search(name)

    for flag in flags:
        if not is_harmless(*flag.partition("=")[::2]):
            remedy = note(f"if you trust it, name it: --project {shlex.quote(path)}")
            reason = "it could run a program, read or write a file, or is unknown"
            message = (
                f"{path}: '{flag}' is not accepted from a project file that is not named: {reason}"
            )
            raise TuninglinkError(error(message, notes=[remedy]))
