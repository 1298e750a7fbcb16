"""`tuninglink explain`: the effects of specs on a program, dispatch by dispatch."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from tuninglink.cli import process
from tuninglink.cli.compile import USAGE as COMPILE_USAGE, specs_of
from tuninglink.cli.measuring_options import CALL_FLAGS, MEASURING_FLAGS
from tuninglink.cli.page_output import format_for, render
from tuninglink.cli.project_options import PROJECT_FLAGS, read_flags, set_up_compiler, with_project
from tuninglink.cli.terminal import progress
from tuninglink.cli.usage import SPEC_SECTION, Section, Usage, known_devices
from tuninglink.compiler import (
    EXPLAIN_FLAGS,
    CompileOptions,
    ExplanationFormat,
    OutputFormat,
    Phase,
    check_has_target,
    check_targets,
    compile_options,
)
from tuninglink.errors import TuninglinkError, UsageError
from tuninglink.explaining import explain_file, read_profile, until_configured, with_times
from tuninglink.files import STANDARD_STREAM, check_output, write_output
from tuninglink.llvm_flags import Flag
from tuninglink.mlir import error
from tuninglink.tuning.devices import Caches, Settings, duration
from tuninglink.tuning.programs import CallOptions, FunctionWeight, GivenInput, ParameterFile

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from tuninglink.compiler import SpecChoice
    from tuninglink.explaining import Explanation, MeasuredTimes, Profile
    from tuninglink.tuning.programs import DispatchedProgram


_CALLS: Final = ("function", "input", "parameters")

DEVICE_FLAGS: Final = {
    "device": Flag(
        "device",
        metavar="URI",
        help="Run the program on this device, as in cuda://0, hip://0, vulkan://0, local-task or local-sync, and measure its "
        "dispatches: inside the program, or each alone where the driver has no profiles (cuda, hip).",
        values=known_devices,
    ),
    **{name: CALL_FLAGS[name] for name in _CALLS},
    "caches": replace(
        MEASURING_FLAGS["caches"],
        help=f"With a device without profiles: {MEASURING_FLAGS['caches'].help.replace('Which', 'which')}",
    ),
}
"""The flags of measurements."""


@dataclass(frozen=True, kw_only=True)
class DeviceOptions:
    """Settings of the measurement of times."""

    device: str = ""
    functions: tuple[FunctionWeight, ...] = ()
    inputs: tuple[GivenInput, ...] = ()
    parameters: tuple[ParameterFile, ...] = ()
    caches: Caches = Caches.PROGRAM

    @property
    def calls(self) -> CallOptions:
        return CallOptions(self.functions, self.inputs, self.parameters)


def device_options(values: dict[str, Any]) -> DeviceOptions:
    """Remove the values of the measurement flags from the values of all flags, and return them as options."""
    own = {
        name: (flag.target, values.pop(flag.target))
        for name, flag in DEVICE_FLAGS.items()
        if flag.target in values
    }
    if own and "device" not in own:
        raise UsageError(error(f"flag '--{next(iter(own))}' needs '--device'"))
    if own and "profile" in values:
        raise UsageError(error("flags '--device' and '--profile' exclude each other"))
    return DeviceOptions(**dict(own.values()))


@dataclass(frozen=True)
class ProgramMeasurement:
    """A measurement of a program's dispatches."""

    path: str
    options: CompileOptions
    device: DeviceOptions

    def __post_init__(self) -> None:
        from tuninglink.tuning.devices import check_devices  # noqa: PLC0415 - an extra

        if self.path == STANDARD_STREAM:
            message = "a program from standard input can be read once only; '--device' needs a file"
            raise UsageError(error(message))
        check_devices([self.device.device])

    @property
    def is_profiled(self) -> bool:
        from tuninglink.tuning import has_profiles  # noqa: PLC0415 - an extra

        return has_profiles(self.device.device)

    @property
    def whole(self) -> CompileOptions:
        """The options for compiling the whole program."""
        return replace(
            self.options,
            compile_to=Phase.END,
            emit_bytecode=False,
            output_format=OutputFormat.BYTECODE,
        )

    def add_times(
        self,
        explanation: Explanation,
        image: bytes,
        choice: SpecChoice,
        step: Callable[[str], None],
        others: Iterable[MeasuredTimes] = (),
    ) -> Explanation:
        """Return an explanation with measured times."""
        from tuninglink.explaining import (  # noqa: PLC0415
            Status,
            with_times,
        )

        if not explanation.dispatches:
            return explanation
        uri = self.device.device
        if self.is_profiled:
            step(f"running the program on {uri}")
            profile, notes = self._recorded(image), tuple[str, ...]()
            how = "inside the program"
        else:
            profile, notes = self._alone(choice, step)
            how = "of each dispatch alone, as the driver has no profiles"
        tuned = {
            dispatch.name for dispatch in explanation.dispatches if dispatch.status is Status.TUNED
        }
        profile, remarks = self._with_defaults(profile, tuned, step)
        timed = self._with_peaks(with_times(explanation, [profile, *others]), step)
        total = timed.weight().microseconds or 0.0
        source = f"times are of {profile.device} ({uri}), {how}; the dispatches take {duration(total)} in a run"
        return replace(timed, notes=(*timed.notes, source, *notes, *remarks))

    def _with_defaults(
        self, profile: Profile, tuned: Collection[str], step: Callable[[str], None]
    ) -> tuple[Profile, tuple[str, ...]]:
        """Return a profile with the times of the compiler's default for each tuned dispatch, and remarks."""
        if not tuned:
            return profile, ()
        try:
            return replace(profile, defaults=self._defaults(tuned, step).by_name), ()
        except TuninglinkError as failure:
            reason = failure.diagnostics[0].message
            return profile, (f"the compiler's choices were not measured: {reason}",)

    def _with_peaks(self, explanation: Explanation, step: Callable[[str], None]) -> Explanation:
        """Return an explanation with the peak rates of the processor, if the device is a processor."""
        from tuninglink.explaining import with_peaks  # noqa: PLC0415 - loads the compiler
        from tuninglink.tuning import peaks_or_remark  # noqa: PLC0415 - an extra
        from tuninglink.tuning.devices import LOCAL_DRIVERS, describe, driver_of  # noqa: PLC0415

        uri = self.device.device
        if driver_of(uri) not in LOCAL_DRIVERS:
            return explanation
        step("measuring the peak rates of the processor")
        types = {dispatch.cost.element_type for dispatch in explanation.dispatches}
        peaks, remark = peaks_or_remark(describe(uri), types)
        if remark:
            return replace(explanation, notes=(*explanation.notes, remark))
        return explanation if peaks is None else with_peaks(explanation, peaks)

    def _defaults(self, tuned: Collection[str], step: Callable[[str], None]) -> Profile:
        """Measure the compiler's defaults for tuned dispatches by the method used for the tuned configurations."""
        from tuninglink.compiler import (  # noqa: PLC0415
            Compiler,
            SpecChoice,
        )

        if not self.is_profiled:
            return self._alone(SpecChoice(), step, tuned)[0]
        step("compiling without specs")
        image = Compiler(self.whole, SpecChoice()).compile_file(self.path).output
        step(f"running the program without specs on {self.device.device}")
        return self._recorded(image)

    def _recorded(self, image: bytes) -> Profile:
        from tuninglink.tuning import record_profile  # noqa: PLC0415 - an extra
        from tuninglink.tuning.programs import program_calls  # noqa: PLC0415

        calls = program_calls(
            self.path,
            first=self.options.compile_from,
            sizes=self.options.sizes,
            options=self.device.calls,
        )
        if calls is None:
            message = "the functions of the program can no longer be read: it is compiled too far"
            raise TuninglinkError(error(message))
        return record_profile(calls, image, self.device.device)

    @cached_property
    def _program(self) -> DispatchedProgram:
        """The dispatches of the program, which is compiled on first access."""
        from tuninglink.tuning.programs import read_program  # noqa: PLC0415 - an extra

        return read_program(
            self.path,
            self.options.flags,
            first=self.options.compile_from,
            sizes=self.options.sizes,
            options=self.device.calls,
        )

    def _alone(
        self, choice: SpecChoice, step: Callable[[str], None], only: Collection[str] = ()
    ) -> tuple[Profile, tuple[str, ...]]:
        from tuninglink.compiler import Compiler  # noqa: PLC0415 - loads the compiler
        from tuninglink.tuning import time_dispatches  # noqa: PLC0415 - an extra

        program = self._program
        if only:
            tasks = (task for task in program.tasks if not set(only).isdisjoint(task.dispatches))
            program = replace(program, tasks=tuple(tasks))
        from_sources = replace(self.whole, compile_from=Phase.EXECUTABLE_SOURCES)

        def compiled(source: bytes, name: str) -> bytes:
            step(f"measuring {name}")
            return Compiler(from_sources, choice).compile_bytes(source, name).output

        return time_dispatches(
            program, compiled, self.device.device, Settings(caches=self.device.caches)
        )


# --- `tuninglink explain`: the effects of specs on a program, dispatch by dispatch ---------------

PROGRAM: Final = "tuninglink explain"

_FLAGS: Final = {**EXPLAIN_FLAGS, **DEVICE_FLAGS}

USAGE: Final[Usage] = Usage(
    name="explain",
    positionals=COMPILE_USAGE.positionals,
    flags={**_FLAGS, **PROJECT_FLAGS},
    sections=(
        Section("Target", ("target",)),
        SPEC_SECTION,
        Section("Times and costs", ("profile", "database", "dim", *DEVICE_FLAGS)),
        Section("Output", ("output", "format")),
    ),
    main_flags=("target", "spec", "output"),
    takes_compiler_flags=True,
    description="""
What costs most comes first. For each problem: what it computes, how often it is called and what that costs; the entry
that configured it, and the configuration next to the one that the compiler would have chosen; or the nearest entries,
and the first condition that failed. For each spec: which entries were used, and which were not. INPUT is compiled as
far as configurations are chosen, with the flags that you give; see `tuninglink compile --help`.
""",
    examples=(
        "tuninglink explain model.mlir --target gfx942 --spec mine.mlir",
        "tuninglink explain model.mlir --target gfx942 --spec mine.mlir -o report.html",
    ),
)


def explain_command(arguments: Sequence[str]) -> int:
    """Run `tuninglink explain` with the arguments after the command's name.

    The command sets process-wide flags, so a process can run it only once.
    """
    # Read and check the arguments.
    own, project_specs = with_project(arguments)
    reader = read_flags(_FLAGS, own)
    device = device_options(reader.values)
    options = compile_options(reader)
    path = options.input
    if path is None:
        raise UsageError(error("no input; name a program, or - for standard input"))
    check_output(options.output)
    check_targets(options.flags)
    if options.needs_target:
        check_has_target(options.flags, path)
    set_up_compiler(PROGRAM, options.flags, upgrade=options.upgrade)
    report_format = format_for(options.output, options.report_format)
    times: list[MeasuredTimes] = []
    if options.profile is not None:
        times.append(read_profile(options.profile))
    measurement = ProgramMeasurement(path, options, device) if device.device else None
    is_detailed = report_format is ExplanationFormat.HTML
    explanation = _explained(
        path, options, project_specs, measurement, times, is_detailed=is_detailed
    )
    # Colors depend on the stream.
    stream = sys.stdout if options.output == STANDARD_STREAM else None
    write_output(options.output, render(explanation, report_format, stream))
    return process.SUCCESS


def _explained(
    path: str,
    options: CompileOptions,
    project_specs: Sequence[str],
    measurement: ProgramMeasurement | None,
    times: list[MeasuredTimes],
    *,
    is_detailed: bool,
) -> Explanation:
    """Return the explanation of the configured program, with recorded and then measured times."""
    is_whole = measurement is not None and measurement.is_profiled
    with progress(f"explaining {path}") as step:
        choice = specs_of(options, project_specs)
        compilation, explanation = explain_file(
            path,
            measurement.whole if measurement and is_whole else until_configured(options),
            choice,
            report=process.show,
            step=step,
            is_detailed=is_detailed,
        )
        times = [*times, *_recorded_times(options, path)]
        if measurement is None:
            return with_times(explanation, times)
        return measurement.add_times(explanation, compilation.output, choice, step, times)


def _recorded_times(options: CompileOptions, path: str) -> list[MeasuredTimes]:
    if options.database is None:
        return []
    # The runtime need not be installed.
    from tuninglink.cli.database import open_database  # noqa: PLC0415
    from tuninglink.tuning.database import recorded_times  # noqa: PLC0415

    with open_database(options.database, read_only=True) as opened:
        return [recorded_times(opened, path, options.flags, options.compile_from)]
