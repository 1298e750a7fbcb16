"""Sets of compiler flags as candidates of a whole program, from a list for each backend, plug-ins and files."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Final

from tuninglink.errors import TuninglinkError
from tuninglink.files import cannot
from tuninglink.iree.lowering_configs import TENSOR_UKERNELS_FLAG
from tuninglink.mlir.diagnostics import error, note
from tuninglink.plain_data import HIDDEN

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
    """

    name: str
    flags: tuple[str, ...]
    word: str = field(default="", metadata=HIDDEN)

    def conflicts(self, flags: Sequence[str]) -> bool:
        """Return whether one of the flags is already given, with any value."""
        given = {_flag_name(flag) for flag in flags}
        return any(_flag_name(flag) in given for flag in self.flags)

    def suits(self, program: str) -> bool:
        """Return whether the set may apply to a program, from the bytes of its file: text, bytecode or ONNX."""
        path = Path(program)
        if not self.word or not path.is_file() or not path.stat().st_size:
            return True
        with (
            path.open("rb") as file,
            mmap(file.fileno(), 0, access=ACCESS_READ) as content,
        ):
            return content.find(self.word.encode()) >= 0


DEFAULT: Final = FlagSet("default", ())
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

CHANNELS_LAST: Final = FlagSet("channels last", (_CHANNELS_LAST,), word="onv")
"""The set for GPUs. CUDA's intrinsics compute 1x1 convolutions right only if the results end with the channels."""

_GPU: Final = (
    CHANNELS_LAST,
    FlagSet("O2", ("--iree-opt-level=O2",)),
    FlagSet("O3", ("--iree-opt-level=O3",)),
)
"""On an H200 in f16, code for sm_80: O2 alone gains 1.22 on BERT-base, where it multiplies the error by nine, 1.04 on
ViT-B/16, and 1.56 on a Llama-style decoder with the same error."""

_ROCM: Final = (
    FlagSet("tensor microkernels", (TENSOR_UKERNELS_FLAG,)),
    *_GPU,
)
"""The microkernels are for matrices on gfx942 and gfx950; elsewhere the code is the same."""

_NAME: Final = re.compile(r"([^-].*?)\s*:\s+(?=[\"'-])")
"""The name of a set in a file. The comment after its flags may contain colons, too."""

_SETS: Final = {"llvm-cpu": _CPU, "cuda": _GPU, "rocm": _ROCM}


def flag_sets(
    backend: str,
    source: str,
    flags: Sequence[str],
    *,
    program: str = "",
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
    sets = (
        read_flag_sets(Path(source)) if source else [*_SETS.get(backend, ()), *_plug_ins(backend)]
    )
    return [
        flag_set for flag_set in sets if not flag_set.conflicts(flags) and flag_set.suits(program)
    ]


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


def _plug_ins(backend: str) -> list[FlagSet]:
    sets: list[FlagSet] = []
    for plug_in in sorted(entry_points(group=GROUP), key=lambda entry_point: entry_point.name):
        try:
            sets += plug_in.load()(backend)
        except Exception as failure:  # noqa: BLE001 - plug-ins may raise anything
            message = f"the flag sets of plug-in '{plug_in.name}' cannot be used: {failure}"
            raise TuninglinkError(error(message)) from None
    return sets


def _flag_name(flag: str) -> str:
    return flag.partition("=")[0].lstrip("-")
