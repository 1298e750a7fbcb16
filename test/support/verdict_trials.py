"""Trials of a dispatch's configurations: the verdict of the constraints, and the outcome of compilation."""

from __future__ import annotations

import io
import os
import random
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from compilations import run_compiler
from cpu_dispatches import CPUS, flags_for
from iree.compiler import ir as mlir
from iree.compiler.passmanager import PassManager
from processes import PATIENCE

from tuninglink.compiler.targets import compile_flags
from tuninglink.iree import SPIRV_LEVELS, Target, find_root_ops
from tuninglink.mlir import names
from tuninglink.passes.strip_configs import strip_configurations
from tuninglink.solver import Grade, UndecidedError
from tuninglink.spaces import verify_configuration
from tuninglink.spaces.gpu import GpuSpace
from tuninglink.spaces.model import OneOfKnob, Workload, read_configuration, read_workload

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tuninglink.spaces import ConfigurationAnswer, ProviderRegistry
    from tuninglink.spaces.model import Space

_CONFIGURATIONS: Final = "executable-configurations"
_SOURCES: Final = "executable-sources"
_PREPARATION: Final = (
    "builtin.module(hal.executable(hal.executable.variant(builtin.module(func.func("
    f"{names.ADD_BATCH_LOOP})))))"
)
_MOST_TRIES: Final = 2000


@dataclass(frozen=True)
class TrialTarget:
    """The target of tried configurations.

    Attributes:
        flags: the compiler's.
        phase: where configurations are put into a program. For CPUs that is before the compiler chooses its own,
            as it changes some programs after that.
        pipelines: the pipelines that are tried beside the one that the compiler chooses.
        is_stripped: whether the other ops lose the compiler's configuration, as with a spec.
    """

    flags: tuple[str, ...]
    phase: str
    pipelines: tuple[str, ...]
    is_stripped: bool = False


_GPU_PIPELINES: Final = ("#iree_gpu.pipeline<TileAndFuse>", "#iree_gpu.pipeline<VectorDistribute>")
_CPU_PIPELINES: Final = (
    "#iree_cpu.pipeline<DoubleTilingExpert>",
    "#iree_cpu.pipeline<ConvTileAndDecomposeExpert>",
    "#iree_cpu.pipeline<LinalgExtTileAndVectorize>",
)
_SPIRV_PIPELINES: Final = tuple(SPIRV_LEVELS)
_RISCV64: Final = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=generic-rv64",
    "--iree-llvmcpu-target-triple=riscv64-unknown-unknown-eabi-elf",
)
TARGETS: Final = {
    **{
        chip: TrialTarget(
            ("--iree-hal-target-device=hip", f"--iree-rocm-target={chip}"),
            _CONFIGURATIONS,
            _GPU_PIPELINES,
        )
        for chip in ("gfx942", "gfx950", "gfx1100", "gfx1201")
    },
    **{
        chip: TrialTarget(
            ("--iree-hal-target-device=cuda", f"--iree-cuda-target={chip}"),
            _CONFIGURATIONS,
            _GPU_PIPELINES,
        )
        for chip in ("sm_80", "sm_89")
    },
    **{
        f"vulkan-{gpu}": TrialTarget(
            ("--iree-hal-target-device=vulkan", f"--iree-vulkan-target={gpu}"),
            _CONFIGURATIONS,
            _SPIRV_PIPELINES,
            is_stripped=True,
        )
        for gpu in ("rdna3", "rdna4", "rtx4090", "ampere", "pascal", "adreno", "valhall", "arm5gen")
    },
    **{cpu: TrialTarget(tuple(flags_for(cpu)), _SOURCES, _CPU_PIPELINES) for cpu in CPUS},
    **{
        board: TrialTarget(tuple(compile_flags(Target.parse(board))), _SOURCES, _CPU_PIPELINES)
        for board in (
            *("cortex-a53", "cortex-a76", "cortex-a710"),
            *("spacemit-x60", "sifive-u74", "sifive-x280"),
        )
    },
    **{
        cpu: TrialTarget((*_RISCV64, *features), _SOURCES, _CPU_PIPELINES)
        for cpu, features in {
            "riscv64": (),
            "riscv64-v": (
                "--iree-llvmcpu-target-cpu-features=+m,+a,+f,+d,+c,+v",
                "--iree-llvmcpu-target-abi=lp64d",
            ),
            "riscv64-zvfh": (
                "--iree-llvmcpu-target-cpu-features=+m,+a,+f,+d,+c,+v,+zfh,+zvfh",
                "--iree-llvmcpu-target-abi=lp64d",
            ),
        }.items()
    },
}


@dataclass(frozen=True)
class Outcome:
    """The outcome of a compilation.

    Attributes:
        error: the first error, empty if it compiles.
    """

    error: str = ""

    @property
    def compiles(self) -> bool:
        """Whether there was none."""
        return not self.error


@dataclass(frozen=True)
class Trials:
    """A dispatch on which configurations are tried.

    Attributes:
        workload: what is configured.
        target: what it is compiled for.
        seconds: how long a compilation may take.
    """

    workload: Workload
    target: TrialTarget
    seconds: float = PATIENCE

    @classmethod
    def of(cls, source: str, target: TrialTarget, seconds: float = PATIENCE) -> Trials:
        """Compile a program of one dispatch to the phase of its configuration.

        Raises:
            ValueError: it has no dispatch, or several; or it does not compile.
        """
        phase = f"--compile-to={target.phase}"
        arguments = ("-", *target.flags, phase, "--emit-mlir-bytecode", "-o", "-")
        answer = run_compiler("iree-compile", arguments, source.encode())
        if answer.code:
            raise ValueError(answer.errors.decode(errors="replace")[:300])
        module = mlir.Module.parse(answer.output, mlir.Context())
        if target.phase == _SOURCES:
            # Specs that `init` and `tune` write give convolutions of one image a batch loop first.
            with module.context:
                PassManager.parse(_PREPARATION).run(module.operation)
        found = [
            (root, each.function) for each in find_root_ops(module.operation) for root in each.roots
        ]
        if len(found) != 1:
            raise ValueError(f"{len(found)} root ops")
        return cls(read_workload(*found[0], module.operation), target, seconds)

    def configure(self, space: Space, assignment: Mapping[str, int]) -> None:
        """Put a configuration on the root op."""
        attributes, info = self.workload.root.attributes, space.compilation_info(assignment)
        if self.target.phase == _SOURCES:
            attributes[names.COMPILATION_INFO] = info
            return
        if self.target.is_stripped:
            assert self.workload.module is not None
            strip_configurations(self.workload.module)
        attributes[names.LOWERING_CONFIG] = info.lowering_config
        self.workload.function.attributes[names.TRANSLATION_INFO] = info.translation_info
        if isinstance(space, GpuSpace):
            decomposition = space.decomposition_config(assignment)
            if decomposition is not None:
                attributes[names.DECOMPOSITION_CONFIG] = decomposition

    def judge(self, registry: ProviderRegistry) -> ConfigurationAnswer | None:
        """Return the verdict on the configuration that is on the root op, None without one."""
        configuration = read_configuration(self.workload.root, self.workload.function)
        if configuration is None:
            return None
        return verify_configuration(self.workload, configuration, registry)

    def compile(self) -> Outcome:
        """Compile the program to the end, in a separate process."""
        module = self.workload.module
        assert module is not None
        buffer = io.BytesIO()
        module.write_bytecode(buffer)
        phase = f"--compile-from={self.target.phase}"
        arguments = ("-", *self.target.flags, phase, "-o", os.devnull)
        try:
            answer = run_compiler("iree-compile", arguments, buffer.getvalue(), self.seconds)
        except subprocess.TimeoutExpired:
            return Outcome(f"no end within {self.seconds:g} s")
        if answer.code == 0:
            return Outcome()
        lines = answer.errors.decode(errors="replace").splitlines()
        errors = [line.partition("error: ")[2] for line in lines if "error: " in line]
        return Outcome(errors[0] if errors else f"exit code {answer.code}")


def sampled(space: Space, count: int, seed: int) -> list[dict[str, int]]:
    """Return some valid assignments; none where none is known to compile."""
    try:
        return space.constraints.sample(count, seed=seed)
    except UndecidedError:
        return []


def changed(space: Space, count: int, seed: int) -> list[dict[str, int]]:
    """Return assignments near valid ones that break a rule, most of them one that is necessary."""
    chance = random.Random(seed)
    valid = sampled(space, 20, seed)
    found: dict[tuple[int, ...], dict[str, int]] = {}
    for _ in range(_MOST_TRIES if valid else 0):
        near = _near(chance, space, valid)
        grades = {each.grade for each in space.constraints.check(near).violations}
        if Grade.NECESSARY in grades or (grades and chance.random() < 0.1):
            found[tuple(near.values())] = near
        if len(found) == count:
            break
    return list(found.values())


def breaking(space: Space, count: int, seed: int) -> list[dict[str, int]]:
    """Return assignments that break necessary rules, and no others."""
    chance = random.Random(seed)
    valid = space.constraints.sample(50, seed=seed)
    found: dict[tuple[int, ...], dict[str, int]] = {}
    for _ in range(_MOST_TRIES * 2 if valid else 0):
        near = _near(chance, space, valid)
        violations = space.constraints.check(near).violations
        if {each.grade for each in violations} == {Grade.NECESSARY}:
            found[tuple(near.values())] = near
        if len(found) == count:
            break
    return list(found.values())


def _near(chance: random.Random, space: Space, valid: list[dict[str, int]]) -> dict[str, int]:
    near = dict(chance.choice(valid))
    knobs = space.constraints.knobs
    for knob in chance.sample(knobs, min(len(knobs), chance.choice((1, 2, 2, 3)))):
        value, other = near[knob.name], chance.choice(valid)[knob.name]
        others = [value + 1, value * 2, value * 3, value // 2, other]
        if isinstance(knob, OneOfKnob):
            others = [*range(len(knob.options))]
        near[knob.name] = chance.choice(others)
    return near
