"""Sets of compiler flags as candidates of a whole program, and its compilation under each in a separate process."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from math import prod
from mmap import ACCESS_READ, mmap
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final

from tuninglink.compiler import Phase, SavedProgram, compiler_run, has_encodings
from tuninglink.errors import CompileError, TuninglinkError
from tuninglink.files import cannot
from tuninglink.forms import BroadcastMatmul, FormProblem, problems_in, promising_forms
from tuninglink.iree import TENSOR_UKERNELS_FLAG, find_dispatches, find_root_ops
from tuninglink.kernels import DecomposedAttention, ProductProblem, ScaledAttention, problems_of
from tuninglink.llvm_flags import flag_name
from tuninglink.mlir import error, note
from tuninglink.plain_data import HIDDEN
from tuninglink.programs import ProgramCalls, advance_to_abi, form_replaced, no_dispatch
from tuninglink.replacing import Contraction, spec as spec_of
from tuninglink.spaces.model import read_configuration, read_workload
from tuninglink.specs import PREPROCESSING_FLAG, link_specs, load_spec, plug_ins
from tuninglink.tuning.candidates import compile_program, known_fault, prepare_worker
from tuninglink.workers import (
    JobTimeoutError,
    Pool,
    WorkerCrashedError,
    do_nothing,
    processor_count,
)

if TYPE_CHECKING:
    from tuninglink.compiler import Invocation
    from tuninglink.iree import Target
    from tuninglink.kernels import KernelProblem
    from tuninglink.replacing import Form
    from tuninglink.tuning.deciding import TuneOptions


Job = Future["CompiledSource | str"]

GROUP: Final = "tuninglink.flag_sets"
"""The entry-point group under which a plug-in registers a function from a backend to its flag sets."""

NONE: Final = "none"
"""The value of `--flag-sets` for no sets."""


@dataclass(frozen=True)
class FlagSet:
    """Compiler flags that are tried together.

    Attributes:
        name: the name in reports.
        flags: the flags, each `--name` or `--name=value`.
        word: a word that occurs in the programs that the flags apply to; empty for any program.
        forms: a spec whose entries replace ops of the program by forms or kernels; empty for none.
    """

    name: str
    flags: tuple[str, ...]
    word: str = field(default="", metadata=HIDDEN)
    forms: str = field(default="", metadata=HIDDEN)

    @property
    def is_default(self) -> bool:
        """Whether the set changes nothing."""
        return not (self.flags or self.forms)

    def conflicts(self, flags: Sequence[str]) -> bool:
        """Return whether one of the flags is already given, with any value."""
        given = {flag_name(flag) for flag in flags}
        return any(flag_name(flag) in given for flag in self.flags)

    @property
    def title(self) -> str:
        """The name in sentences."""
        return "the default" if self.is_default else f"'{self.name}'"

    def late_flags(self, backends: Sequence[str]) -> tuple[str, ...]:
        """Return the flags that may act after dispatches were formed."""
        is_late_level = "llvm-cpu" in backends  # there, the level is also one of code generation
        return tuple(
            flag
            for flag in self.flags
            if not _EARLY.match(flag) or (is_late_level and flag_name(flag) == "iree-opt-level")
        )


_EARLY: Final = re.compile("--iree-(opt|input|preprocessing|global-opt|dispatch-creation|flow)-")
"""Flags that act before dispatches are formed."""

DEFAULT: Final[FlagSet] = FlagSet("default", ())
"""The user's flags without additions."""

_TILING: Final = "--iree-opt-data-tiling"
_IM2COL: Final = "--iree-global-opt-use-im2col-for-convs"
_UNROLLING: Final = "--iree-llvmcpu-loop-unrolling=true"

_ATTENTION: Final = (
    "--iree-preprocessing-pass-pipeline=builtin.module(util.func("
    "iree-linalg-ext-convert-attention-to-online-attention,iree-linalg-ext-decompose-attention,"
    "canonicalize,cse))"
)
"""Attention as two products and a softmax, which can be vectorized and data-tiled. The scores go through memory."""

_CHANNELS_LAST: Final = (
    "--iree-preprocessing-pass-pipeline=builtin.module(util.func("
    "iree-preprocessing-convert-conv-to-channels-last))"
)
"""Convolutions with images in NHWC and filters in HWCF, which have direct vector code."""

_CPU: Final = (
    FlagSet(
        "attention as products, data tiling, im2col, unrolling",
        (_ATTENTION, _TILING, _IM2COL, _UNROLLING, "--iree-llvmcpu-mlir-opt-level=O3"),
        word="ttention",
    ),
    FlagSet("attention as products", (_ATTENTION,), word="ttention"),
    FlagSet(
        "data tiling, im2col, unrolling",
        (_TILING, _IM2COL, _UNROLLING, "--iree-llvmcpu-mlir-opt-level=O3"),
    ),
    FlagSet(
        "channels last, data tiling, unrolling",
        (_CHANNELS_LAST, _TILING, _UNROLLING, "--iree-llvmcpu-mlir-opt-level=O3"),
        word="onv",
    ),
    FlagSet(
        "channels last, unrolling",
        (_CHANNELS_LAST, _UNROLLING, "--iree-llvmcpu-mlir-opt-level=O3"),
        word="onv",
    ),
    FlagSet("peeling", ("--iree-llvmcpu-vector-pproc-strategy=peel",)),
    FlagSet("im2col, unrolling", (_IM2COL, _UNROLLING, "--iree-llvmcpu-mlir-opt-level=O3")),
    FlagSet(
        "data tiling, im2col, no ukernels",
        (_TILING, _IM2COL, "--iree-llvmcpu-enable-ukernels=none"),
    ),
    FlagSet("data tiling, im2col, O3", (_TILING, _IM2COL, "--iree-opt-level=O3")),
    FlagSet("data tiling", (_TILING,)),
)
"""The sets that were fastest on at least one of ten programs, compiled for one CPU, most promising first.

The sets with im2col or channels last and without data tiling are for programs whose convolutions are tuned.
"""

CHANNELS_LAST: Final[FlagSet] = FlagSet("channels last", (_CHANNELS_LAST,), word="onv")
"""The set for GPUs. CUDA's intrinsics compute 1x1 convolutions right only if the results end with the channels."""

_GPU: Final = (
    CHANNELS_LAST,
    FlagSet("O2", ("--iree-opt-level=O2",)),
    FlagSet("O3", ("--iree-opt-level=O3",)),
)
"""On an H200 in f16, code for sm_80: O2 alone gains 1.22 on BERT-base, where it multiplies the error by nine, 1.04 on
ViT-B/16, and 1.56 on a Llama-style decoder with the same error."""

_ROCM: Final = (FlagSet("tensor microkernels", (TENSOR_UKERNELS_FLAG,)), *_GPU)
"""The microkernels are for matrices on gfx942 and gfx950; elsewhere the code is the same."""

_NAME: Final = re.compile(r"([^-].*?)\s*:\s+(?=[\"'-])")
"""The name of a set in a file. The comment after its flags may contain colons, too."""

_SETS: Final = {"llvm-cpu": _CPU, "cuda": _GPU, "rocm": _ROCM}


def flag_sets(
    backend: str, source: str, flags: Sequence[str], *, program: str = ""
) -> list[FlagSet]:
    """Return the sets to try, most promising first.

    Args:
        backend: the backend of the compiler, such as `llvm-cpu`.
        source: a file with sets, `none`, or empty for the built-in list and those of plug-ins.
        flags: the user's flags; sets with another value for one of them are left out.
        program: the path of the program; sets that cannot apply to it are left out.

    Raises:
        TuninglinkError: the file cannot be read, or a plug-in fails.
    """
    if source == NONE:
        return []
    if source:
        sets = read_flag_sets(Path(source))
    else:
        sets = [*_SETS.get(backend, ())]
        for plug_in in plug_ins(GROUP):
            try:
                sets += plug_in.load()(backend)
            except Exception as failure:  # noqa: BLE001 - plug-ins may raise anything
                message = f"the flag sets of plug-in '{plug_in.name}' cannot be used: {failure}"
                raise TuninglinkError(error(message)) from None
    path, suitable = Path(program), []
    has_content = path.is_file() and path.stat().st_size > 0
    for flag_set in sets:
        if flag_set.conflicts(flags):
            continue
        # Look for the word in the bytes of the program: text, bytecode or ONNX.
        if flag_set.word and has_content:
            with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
                if content.find(flag_set.word.encode()) < 0:
                    continue
        suitable.append(flag_set)
    return suitable


def read_flag_sets(path: Path) -> list[FlagSet]:
    """Read a file with one set per line, `NAME: FLAG…` or just flags; `#` starts a comment.

    Raises:
        TuninglinkError: the file cannot be read, or a line has a different form.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as failure:
        reason = failure if isinstance(failure, OSError) else OSError("it is not UTF-8")
        raise TuninglinkError(cannot("read", path, reason)) from None
    sets = []
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if text.startswith("#"):
            continue
        name = _NAME.match(text)
        written = text[name.end() :] if name else text
        try:
            words = shlex.split(written, comments=True)
        except ValueError:  # an unterminated quotation
            words = [written]
        if not words:
            continue
        if not all(word.startswith("--") for word in words):
            remedy = note("expected NAME: --flag --flag=value …")
            raise TuninglinkError(error(f"{path}:{number}: not a set of flags", notes=[remedy]))
        sets.append(FlagSet(name[1] if name else " ".join(words), tuple(words)))
    return sets


# --- Compilation of a program under sets, each in a separate process, as flags are global to a process

NOT_COMPILED: Final = "it was not compiled: there was no time left"

_MOST_SECONDS: Final = 1800.0
"""The time limit of a compilation; whoever waits for it usually gives up earlier."""

_PATIENCE: Final = 1.0
"""The time to wait for the dispatches of an earlier set, in multiples of the time that the own ones took."""

_NICENESS: Final = 3
_NICER: Final = 2

_MOST_NICENESS: Final = 19
"""The niceness of compilations under sets, which may go on while dispatches are tuned: at least, by set, and at most."""

_MOST_FORMS: Final = 3
_MOST_FORMS_OF_PRODUCTS: Final = 2
"""The number of sets with forms of ops other than contractions, and of those with forms of contractions, too."""

_SHOWN_ELEMENTS: Final = 16
"""The elements from which a constant is not a part of the code."""


@dataclass(frozen=True)
class FormedSource:
    """A program after the formation of dispatches: a hash, the backends, and the number of miscompiled defaults.

    The hash is without the values of large constants. There are names and texts of specs that replace ops by forms, with
    further flags, the target of the first dispatch, and the problems for kernels with their numbers.
    """

    code: str
    backends: tuple[str, ...]
    wrong_defaults: int = 0
    forms: tuple[tuple[str, str, tuple[str, ...]], ...] = field(default=(), compare=False)
    target: Target | None = field(default=None, compare=False)
    problems: Mapping[KernelProblem, int] = field(default_factory=dict, compare=False)
    likely: tuple[Form, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class CompiledSource:
    """A compiled program.

    Attributes:
        image: the module, a VM FlatBuffer.
        calls: the calls that make up its time; None if its functions cannot be read.
        seconds: the compilation time.
        is_data_tiled: whether the compiler chose the layout of operands.
        wrong_defaults: the number of dispatches whose default is known to be miscompiled.
        saved: the program after the formation of dispatches; None under a set of flags.
    """

    image: bytes = field(repr=False)
    calls: ProgramCalls | None
    seconds: float
    is_data_tiled: bool = False
    wrong_defaults: int = 0
    saved: SavedProgram | None = field(default=None, repr=False)


class SetCompiler(ExitStack):
    """Compiles a program under sets of flags, `most_jobs` at a time.

    A set that forms the same dispatches as an earlier one, and has the same flags for their code, is not compiled
    further. Programs with specs are always compiled.

    Args:
        options: the program, the user's flags, and the number of parallel compilations.
        idle: where processes wait for other programs, all under the user's flags alone: starting one may take longer than
            compiling a small program. None for a process for each set.
    """

    def __init__(self, options: TuneOptions, idle: list[Pool] | None = None) -> None:
        super().__init__()
        self._options, self._idle = options, idle
        self.most_jobs = options.settings.jobs or processor_count()
        self._threads = ThreadPoolExecutor(self.most_jobs)
        self._formed: list[tuple[FlagSet, Future[FormedSource]]] = []
        self._lock = Lock()
        self._pools: list[Pool] = []
        self._is_stopped = False
        self.callback(self.stop)

    def stop(self) -> None:
        """End all compilations, which then have the result `NOT_COMPILED` or are cancelled."""
        with self._lock:
            self._is_stopped = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        for pool in [*self._pools]:
            pool.close()

    def submit(self, flag_set: FlagSet, spec: str = "", *, is_urgent: bool = False) -> Job:
        """Compile the program under a set of flags, at first without any, and with a spec if that is not empty.

        The result is a future of the program, or of the reason for having none. If it is urgent, it is not nice to others,
        and not compared with their dispatches.
        """
        is_apart, formed = spec or is_urgent, Future[FormedSource]()
        earlier = () if is_apart else tuple(self._formed)
        if not spec:
            self._formed.append((flag_set, formed))
        return self._threads.submit(self._compile, flag_set, spec, formed, earlier)

    def backends(self, seconds: float) -> tuple[str, ...] | None:
        """Return the backends of the first program once its dispatches are formed, or none if they cannot be formed.

        The result is None after some seconds.

        Raises:
            NothingToTuneError: it has no dispatches.
        """
        formed = _formed_in(self._formed[0][1], seconds)
        if formed is not None and formed.code and not formed.backends:
            raise no_dispatch(self._options.title)
        return None if formed is None else formed.backends

    def _replaceable(self) -> FormedSource | None:
        """Return the first program once its dispatches are formed; None beside an own spec that replaces ops."""
        if any(flag.startswith(PREPROCESSING_FLAG) for flag in self._options.flags):
            return None
        return _formed_in(self._formed[0][1], 0.0)

    def form_sets(self) -> list[FlagSet]:
        """Return sets with the forms of the first program's ops, once its dispatches are formed; none beside an own spec."""
        formed = self._replaceable()
        found = formed.forms if formed is not None else ()
        sets = [FlagSet(name, flags, forms=text) for name, text, flags in found]
        return [flag_set for flag_set in sets if not flag_set.conflicts(self._options.flags)]

    def kernel_problems(self) -> tuple[Target | None, Mapping[KernelProblem, int]]:
        """Return the machine and the first program's problems for kernels, once its dispatches are formed."""
        formed = self._replaceable()
        if formed is None:
            return None, {}
        machine = self._options.machine
        is_same = machine and formed.target and machine.backend == formed.target.backend
        return (machine if is_same else formed.target), formed.problems

    def forms_beside(self, kernels: Sequence[KernelProblem]) -> str:
        """Return a spec with forms of the first program's ops that are in no graph of kernels; empty for none."""
        formed = self._replaceable()
        if formed is None or formed.target is None:
            return ""
        # Whether forms of contractions help is not known.
        likely = [own for own in formed.likely if not isinstance(own.problem, Contraction)]
        forms = forms_beside(likely, kernels)
        return _bound_forms(forms, formed.target) if forms else ""

    def awaited(self, jobs: Mapping[FlagSet, Job]) -> list[Job]:
        """Return compilations to wait for: of forms, and of sets with fewer defaults that are known to be miscompiled."""
        formed = {other: _formed_in(job, 0.0) for other, job in self._formed}
        default = formed[DEFAULT]
        most = default.wrong_defaults if default is not None else 0
        fewer = [
            flag_set
            for flag_set, one in formed.items()
            if one and one.code and one.wrong_defaults < most
        ]
        return [job for flag_set, job in jobs.items() if flag_set.forms or flag_set in fewer]

    def _compile(
        self,
        flag_set: FlagSet,
        spec: str,
        formed: Future[FormedSource],
        earlier: Sequence[tuple[FlagSet, Future[FormedSource]]],
    ) -> CompiledSource | str:
        flags = (*self._options.flags, *flag_set.flags)
        # The first sets are the most promising ones, and are compiled first.
        earlier_forms = [other for other, _ in earlier if other.forms]
        rank = 1 + len(earlier_forms) if flag_set.forms else len(earlier)
        niceness = min(_MOST_NICENESS, _NICENESS + _NICER * rank) if earlier else 0
        is_default, is_finished = flag_set.is_default and not spec, False
        try:
            pool, niceness = (self._idle or []).pop(), 0  # it keeps the niceness that it has
        except IndexError:
            pool = Pool(1, prepare_worker, (flags, True))
        with self._lock:
            self._pools.append(pool)
        if self._is_stopped:
            pool.close()
            return NOT_COMPILED
        try:
            try:
                pool.submit(do_nothing).result()
            except WorkerCrashedError:
                return "the compiler rejects the flags"
            # Form the dispatches, and compare them with those of the earlier sets.
            began = time.monotonic()
            arguments = (self._options, flag_set.forms, niceness, is_default)
            source = pool.submit(form_source, *arguments, seconds=_MOST_SECONDS).result()
            if isinstance(source, str):
                return source
            formed.set_result(source)
            patience = _PATIENCE * (time.monotonic() - began)
            for other, job in earlier:
                is_alike = other.late_flags(source.backends) == flag_set.late_flags(source.backends)
                if is_alike and _formed_in(job, patience) == source:
                    return f"the same code as {other.title}"
            # Generate their code.
            finishing = pool.submit(finish_source, spec, is_default, seconds=_MOST_SECONDS)
            compiled, is_finished = finishing.result(), True
            return compiled
        except (CancelledError, RuntimeError):
            if not self._is_stopped:
                raise
            return NOT_COMPILED
        except JobTimeoutError as failure:
            return f"it did not compile within {failure.seconds:.3g} s"
        except WorkerCrashedError as failure:
            return f"the compiler crashed: {failure.status}"
        finally:
            with self._lock:
                if is_finished and self._idle is not None and not self._is_stopped:
                    self._pools.remove(pool)
                    self._idle.append(pool)
            if pool in self._pools:
                pool.close()
            if not formed.done():
                formed.set_result(FormedSource("", ()))


def _formed_in(job: Future[FormedSource], seconds: float) -> FormedSource | None:
    with suppress(TimeoutError, CancelledError):
        return job.result(max(0.0, seconds))
    return None


# --- In a worker -----------------------------------------------------------------------------------------


_opened = ExitStack()
_formed: tuple[float, Invocation, Phase, SavedProgram, CompiledSource]
"""The program of this process: the start of its compilation, the compiler and its phase, the program, and what is known of it."""


def form_source(
    options: TuneOptions,
    replacing: str,
    niceness: int,
    is_default: bool,  # noqa: FBT001 - pickled
) -> FormedSource | str:
    """Form the dispatches of a program with a spec of forms in this process; return what they are, or the first error."""
    global _formed  # noqa: PLW0603 - what the process is for
    os.nice(niceness)
    began = time.monotonic()
    try:
        run = _opened.enter_context(compiler_run(options.input, ()))
        first, problems = options.compile_from, dict[FormProblem, float]()
        for_kernels: Mapping[KernelProblem, int] = {}
        if is_default and first < Phase.PREPROCESSING and (options.forms or options.kernels):
            first = advance_to_abi(run, first)
            problems = problems_in(run.module) if options.forms else problems
            for_kernels = problems_of(run.module) if options.kernels else for_kernels
        calls, saved, _ = form_replaced(
            run,
            [load_spec(replacing.encode())] if replacing else (),
            first=first,
            sizes=options.sizes,
            options=options.calls,
            machine=options.machine,
        )
    except CompileError as failure:
        return failure.diagnostics[0].message
    targets = [dispatch.target for dispatch in find_dispatches(run.module)]
    backends = tuple(dict.fromkeys(target.backend for target in targets if target is not None))
    is_tiled = any(has_encodings(dispatch.module) for dispatch in find_dispatches(run.module))
    text = run.module.get_asm(
        large_elements_limit=_SHOWN_ELEMENTS, large_resource_limit=_SHOWN_ELEMENTS
    )
    phase, wrong_defaults = Phase.EXECUTABLE_SOURCES, 0
    if "cuda" in backends:  # whose miscompilations are known
        try:
            run.advance(phase, phase := Phase.EXECUTABLE_CONFIGURATIONS)
        except CompileError as failure:
            return failure.diagnostics[0].message
        for op in find_root_ops(run.module):
            for root in op.roots:
                configuration = read_configuration(root, op.function)
                workload = read_workload(root, op.function)
                if configuration is not None:
                    wrong_defaults += bool(known_fault(workload, configuration))
    formed = CompiledSource(b"", calls, 0.0, is_tiled, wrong_defaults)
    _formed = began, run, phase, saved, formed
    code = hashlib.sha256(str(text).encode()).hexdigest()
    target = targets[0] if targets else None
    forms = _specs_of_forms(problems, target) if target else ()
    likely = [own[0] for own in promising_forms(problems, target).values()] if target else []
    return FormedSource(code, backends, wrong_defaults, forms, target, for_kernels, tuple(likely))


def forms_beside(forms: Sequence[Form], kernels: Sequence[KernelProblem]) -> list[Form]:
    """Return forms of ops that are in no graph of kernels.

    Ops are replaced in the order of the program: a form of a product or an attention would come before the kernel of the ops
    that end with a later one.
    """
    attentions = {one.attention for one in kernels if isinstance(one, ScaledAttention)}
    products = [one.contraction for one in kernels if isinstance(one, ProductProblem)]
    products += [
        at for one in kernels if isinstance(one, DecomposedAttention) for at in one.products
    ]
    covered = {spelled for product in products for spelled in product.spellings}
    sizes = {tuple(product.loop_sizes.get(loop, 1) for loop in "amnk") for product in products}
    return [
        form
        for form in forms
        if form.problem not in attentions
        and form.problem not in covered
        and not (
            isinstance(form.problem, BroadcastMatmul)
            and (prod(form.problem.batches), *form.problem.sizes) in sizes
        )
    ]


def _bound_forms(forms: Sequence[Form], target: Target) -> str:
    """Return a spec with forms for a target: other targets have other intrinsics."""
    bound = load_spec(spec_of(forms).encode(), targets=[target.architecture or target.family])
    return link_specs([bound]).spec.text()


def _specs_of_forms(
    problems: Mapping[FormProblem, float], target: Target
) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
    """Return names and texts of specs that replace ops by forms, with the flags of the sets that have them.

    For a GPU, the first has the most promising form of each op, the next one the second, and so on. Whether those of
    contractions help is not known, so further sets have the first form of each other op, and these. For a CPU, each has
    the most promising ones: with data tiling, and without it, so that dispatches can be configured.
    """
    forms = promising_forms(problems, target)
    products = [own for problem, own in forms.items() if isinstance(problem, Contraction)]
    others = [own for problem, own in forms.items() if not isinstance(problem, Contraction)]
    numbers = [(at, group) for at in range(_MOST_FORMS) for group in (others, products) if group]
    choices: list[tuple[list[Form], tuple[str, ...]]] = []
    for number, group in numbers[: _MOST_FORMS + _MOST_FORMS_OF_PRODUCTS]:
        first = [own[0] for own in others] if group is products else []
        choices.append((first + [own[min(number, len(own) - 1)] for own in group], ()))
    if target.backend == "llvm-cpu":
        fast = (_IM2COL, _UNROLLING, "--iree-llvmcpu-mlir-opt-level=O3")
        choices = [(first, flags) for first, _ in choices[:1] for flags in ((_TILING, *fast), fast)]
    specs: dict[tuple[str, tuple[str, ...]], str] = {}
    for number, (chosen, flags) in enumerate(choices):
        text = _bound_forms(chosen, target)
        if (text, flags) not in specs:
            first_name, *more = dict.fromkeys(map(str, chosen))
            name = f"{first_name}, and {len(more)} more" if more else first_name
            name += ", data tiling" if _TILING in flags else ""
            specs[text, flags] = f"{name} ({number + 1})" if name in specs.values() else name
    return tuple((name, text, flags) for (text, flags), name in specs.items())


def finish_source(spec: str, is_default: bool) -> CompiledSource | str:  # noqa: FBT001 - pickled
    """Generate the code of the program in this process, with a spec or without."""
    began, run, phase, saved, formed = _formed
    try:
        if spec:
            compiled = compile_program(saved.content, spec, saved.phase)
            if isinstance(compiled, str):
                return compiled
            image = compiled.image
        else:
            run.advance(phase, Phase.END)
            image = run.image()
    except CompileError as failure:
        return failure.diagnostics[0].message
    finally:
        _opened.close()
    seconds, kept = time.monotonic() - began, saved if is_default else None
    return replace(formed, image=image, seconds=seconds, saved=kept)
