"""Kernels of Triton: products, convolutions and attention, whose source is generated for a problem, and compiled without a GPU."""

from __future__ import annotations

import linecache
import re
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, Final

from tuninglink.iree import TYPICAL
from tuninglink.kernels.kernel import (
    SCRATCH_ALIGNMENT,
    BuiltKernel,
    Candidate,
    FirstKernel,
    KernelError,
    KernelProvider,
)
from tuninglink.kernels.problems import ProductProblem
from tuninglink.kernels.triton_sources import (
    COMBINED,
    attention_source,
    divided,
    product_source,
    splits,
    strides,
)
from tuninglink.mlir import error
from tuninglink.replacing import FLOATS, ORDER, NoFormError
from tuninglink.specs import KIB, block_memory, oldest_ptx

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.kernels.attentions import ScaledAttention
    from tuninglink.kernels.graphs import KernelProblem

_POINTERS: Final = {"f16": "*fp16", "bf16": "*bf16", "f32": "*fp32", "i1": "*i8"} | {
    **{kind: f"*{kind}" for kind in ("i8", "i32", "i64")},
    "f8E4M3FN": "*fp8e4nv",
    "f8E4M3FNUZ": "*fp8e4b8",
}
_SMALL: Final = {"f16": 2, "bf16": 2, "i8": 1, "f8E4M3FN": 1, "f8E4M3FNUZ": 1}
"""The element types of operands, with their bytes."""

_LONG: Final = (1 << 31) // (1 << 14)
"""The number of products of i8 whose sum of 32 bits may be too large."""

_PTX_VERSION: Final = 86
"""The version of PTX that is written, of CUDA 12.7, unless the architecture needs a later one: drivers refuse later ones than
their own, and copies to shared memory need this one."""

_ALIGNMENT: Final = 16
_BYTES: Final = 2
_LANES: Final = 32
_HOPPER: Final = 90
"""The capability from which on there are tensor descriptors, and products of f8 whose sums are exact enough."""

_FEW: Final = 32
"""The number of rows or queries up to which a tile has no more than all of them need."""

_FEWEST: Final = 64
_MOST_SUMS: Final = 1 << 20
"""The number of rows, and of elements of a result, up to which k is divided."""

_SIDE: Final = 100
"""The elements of a tile whose products take as long as reading a row or a column of its operands from the cache."""

_DEEP: Final = 148 * KIB
_WIDE: Final = 128 * 160
"""The bytes of stages of a block beyond which more stages are not faster, and the elements of the largest tile of four warps."""

_SHAPES: Final = (
    *((64, 64, 4, 3), (128, 64, 8, 3), (64, 128, 4, 2), (128, 64, 4, 3), (64, 128, 4, 3)),
    *((64, 64, 4, 2), (128, 128, 8, 3), (128, 128, 8, 2), (64, 32, 4, 3), (64, 32, 4, 2)),
)
_FEW_SHAPES: Final = (
    *((128, 4, 3), (256, 4, 3), (128, 2, 3), (128, 4, 4), (64, 4, 3), (256, 2, 3), (64, 2, 3)),
    *((64, 2, 4), (32, 1, 3), (32, 1, 4)),
)
"""Queries, keys, warps and stages of attentions, fastest first as measured on an H200; those of few queries, without them."""

_AMD: Final = ("gfx90a", "gfx942", "gfx950")
_AMD_LANES: Final = 64

_LEAST_MEMORY: Final = 99
"""The shared memory of a block in KiB for architectures that are not listed."""

_MOST_ELEMENTS: Final = 1 << 31
_MOST_BATCHES: Final = 65_535

_UNUSED: Final = 2
"""The parameters that Triton adds: two pointers to scratch memory."""

_ALIGNED: Final = rb"\g<0>\n\tadd.s64 \t\1, \1, %d;\n\tand.b64 \t\1, \1, -%d;" % (
    SCRATCH_ALIGNMENT - 1,
    SCRATCH_ALIGNMENT,
)
"""A pointer to scratch memory that is loaded and aligned."""

_ARGUMENT: Final = re.compile(r"      - \.\w+: .*\n(?:        \.\w+: .*\n)*")
_HEADER: Final = re.compile(rb"(\.entry [\w$]+\()([^)]*)(\))")


@dataclass(frozen=True)
class Launch:
    """A function of a source, and how it is launched.

    Attributes:
        types: the element types of the tensors of its parameters, the result last.
        grid: the numbers of blocks in three dimensions.
        warps: the number of warps of a block.
        stages: the number of steps of a loop that are in flight.
        result: the type of its result if another function reads it.
    """

    name: str
    types: tuple[str, ...]
    grid: tuple[int, int, int]
    warps: int
    stages: int
    result: str = ""


class TritonProvider(KernelProvider):
    """Kernels of Triton, for CUDA and for AMD GPUs, on which they have not been run. The package `triton` is loaded when the first kernel is made."""

    name: ClassVar[str] = "triton"

    def candidates(self, problem: KernelProblem, architecture: str) -> Sequence[Candidate]:
        """Return candidates for a product of f16, bf16, f8 or i8, or an attention in f16 or bf16, the most promising first."""
        capability, given = _capability(architecture), problem
        try:
            problem = given.plain
        except NoFormError:
            return ()
        if (width := _width(problem, architecture)) is None or 0 in problem.loop_sizes.values():
            return ()
        # A tile has both of its sides in memory.
        tiles = ("mk", "kn") if isinstance(problem, ProductProblem) else ("mk", "jk", "jn")
        if not all(strides(problem, at)[loop] for at, tile in enumerate(tiles) for loop in tile):
            return ()
        # Offsets within a batch are numbers of 32 bits, and the batches are the second dimension of the grid.
        memory = (block_memory(architecture) or _LEAST_MEMORY) * KIB
        sizes, rows = problem.loop_sizes, problem.loop_sizes["m"]
        fewest = 16 if rows <= 16 else 32  # noqa: PLR2004 - products of tiles have at least 16
        last = {loop: size - 1 for loop, size in sizes.items() if loop in ORDER}
        spans = [
            sum(step * last.get(loop, 0) for loop, step in strides(problem, number).items())
            for number in range(len(problem.operands))
        ]
        if max(spans) >= _MOST_ELEMENTS - 1 or self.batches(problem) > _MOST_BATCHES:
            return ()
        options = list[dict[str, int]]()
        if isinstance(problem, ProductProblem):
            options = self._product_options(problem, architecture, width)
        else:
            features, values = (sum(splits(sizes[loop])) for loop in "kn")
            shapes = _SHAPES if rows > _FEW else tuple((fewest, *shape) for shape in _FEW_SHAPES)
            for m, j, warps, stages in shapes:
                depth = stages if capability else min(stages, 2)
                if (m * features + depth * j * (features + values)) * _BYTES <= memory:
                    options.append({"m": m, "j": j, "w": warps, "s": depth})
        different = dict.fromkeys(tuple(item.items()) for item in options)
        return tuple(Candidate(self.name, given, architecture, item) for item in different)

    def _product_options(
        self, problem: ProductProblem, architecture: str, width: int
    ) -> list[dict[str, int]]:
        """Return the options of candidates for a product of elements with a number of bytes."""
        capability, is_amd = _capability(architecture), architecture in _AMD
        memory = (block_memory(architecture) or _LEAST_MEMORY) * KIB
        sizes, rows = problem.loop_sizes, problem.loop_sizes["m"]
        fewest = 16 if rows <= 16 else 32  # noqa: PLR2004 - products of tiles have at least 16
        options = list[dict[str, int]]()
        (left, _), (right, _) = problem.operands[:2]
        uneven = any(sizes[at[-1]] * width % _ALIGNMENT for at in (left, right))
        windows, is_matrix = problem.windows, {*left[-2:]} == {*"mk"} and {*right[-2:]} == {*"kn"}
        # Products of bytes read both operands along k.
        is_matrix = is_matrix and not windows and (width > 1 or left[-1] == right[-1] == "k")
        # Of f8, sums are in twice as many registers.
        is_matrix = is_matrix and not problem.operands[0][1].startswith("f8")
        tma = int((capability or 0) >= _HOPPER and is_matrix and not uneven)
        # Rows, columns and further columns of tiles.
        tiles = [(m, n, x) for m in (128, 64) for n in (128, 64) for x in (0, n // 2, 32, 16)]
        tiles += [(256, 128, 0), (128, 256, 0), (64, 256, 0), (32, 64, 0)]
        # Steps, the most warps, stages (0 for those that fit), and descriptors.
        variants = [(64, 8, 0, 0), (64, 4, 0, tma), (64, 4, 0, 0), (128, 8, 3, tma)]
        if is_amd:
            variants = [(32, 8, 2, 0), (64, 8, 2, 0), (32, 4, 2, 0)]
        if rows <= _FEW and capability:
            # All rows are in one tile, and the right operand is read once: more of it is on its way.
            tiles = [(fewest, n, 0) for n in (16, 32, 64, 128, 256)]
            variants = [(512, 2, 3, 0), (256, 2, 3, 0), (256, 1, 4, 0), (64, 2, 4, 0)]
            if problem.operands[1][0][-1] == "n":
                variants = [(128, 4, 4, tma), (64, 4, 4, tma), (128, 4, 4, 0), (256, 4, 3, tma)]
        if windows is not None:
            variants += [(32, 8, 4, 0), (16, 8, 4, 0)]
            if not windows.is_planar:
                # A step has channels of one pixel.
                variants = [at for at in variants if not windows.image[-1] % at[0]]

        def waves(m: int, n: int, x: int) -> int:
            blocks = self.batches(problem) * -(-rows // m) * -(-sizes["n"] // (n + x))
            return -(-blocks // TYPICAL)

        # A step has as many bytes for each type.
        variants = [(at[0] * _BYTES // width, *at[1:]) for at in variants]

        # Go on from the best tile, and from the first variant, step by step.
        # Each row of a window has a place of its own.
        side = 2 if windows is not None and windows.is_planar else 1
        areas = {at: at[0] * sum(at[1:]) + _SIDE * (side * at[0] + sum(at[1:])) for at in tiles}
        tiles = sorted(areas, key=lambda at: waves(*at) * areas[at])
        choices = product(enumerate(variants), enumerate(tiles))
        for (_, (k, most, stages, with_tensors)), (_, (m, n, x)) in sorted(
            choices, key=lambda choice: sum(at for at, _ in choice)
        ):
            # Two blocks that do not run at the same time otherwise share a processor.
            stage = k * (m + n + x) * width
            room = min(memory, _DEEP) if waves(m, n, x) == 1 else memory // 2
            depth = stages or next((at for at in (6, 4, 3) if at * stage <= room), 2)
            wide = m * (n + x) > _WIDE or (m >= 128 and most == 8)  # noqa: PLR2004 - two groups of warps
            warps = 8 if wide else min(most, 4)
            if depth * stage <= memory and k < max(2 * sizes["k"], 130 // width):
                tile = {"m": m, "n": n, "x": x, "k": k, "w": warps, "s": depth, "g": 8}
                options.append({**tile, "t": with_tensors})
        # Every second candidate divides k, from the first one on.
        for at, own in enumerate(self._divided_options(problem, architecture, width)):
            options.insert(2 * at, own)
        return options

    def _divided_options(
        self, problem: ProductProblem, architecture: str, width: int
    ) -> list[dict[str, int]]:
        """Return the options of candidates that divide k, so that a product of few rows has work for all processors."""
        sizes, turned = problem.loop_sizes, problem.operands[1][0][-1] == "n"
        memory = (block_memory(architecture) or _LEAST_MEMORY) * KIB
        elements = self.batches(problem) * sizes["m"] * sizes["n"]
        if sizes["m"] > _FEWEST or problem.windows is not None or elements > _MOST_SUMS:
            return []
        m, options = max(16, 1 << (sizes["m"] - 1).bit_length()), list[dict[str, int]]()
        k = (64 if architecture in _AMD else 128 if turned else 256) * _BYTES // width
        # Fastest first as measured on an H200.
        for waves, n in ((1, 64), (2, 32), (1, 32), (1, 128), (2, 16), (2, 64), (1, 16), (2, 128)):
            # Parts of at least two steps, so that all blocks run at once, or in two turns.
            blocks, steps = self.batches(problem) * -(-sizes["n"] // n), -(-sizes["k"] // k)
            length = max(2, -(-steps * blocks // (waves * TYPICAL)))
            parts, stage = -(-steps // length), k * (m + n) * width
            stages = 2 if architecture in _AMD else min(4, memory // stage)
            if parts > 1 and stages > 1:
                tile = {"m": m, "n": n, "x": 0, "k": k, "w": 4 if m * n > 512 else 2, "s": stages}  # noqa: PLR2004
                options.append({**tile, "g": 8, "t": 0, "z": parts})
        return options

    def source(self, candidate: Candidate) -> str:
        """Return the source of a candidate in Triton, a module of Python with one function."""
        options = dict(candidate.options)
        problem = candidate.problem.plain
        if isinstance(problem, ProductProblem):
            return product_source(problem, candidate.name, options)
        return attention_source(problem, candidate.name, options)

    def make(self, candidate: Candidate) -> BuiltKernel:
        """Compile a candidate to PTX, and have the assembler of the package accept it.

        Raises:
            KernelError: Triton is not installed, or does not compile it.
        """
        *before, launch = self.launches(candidate)
        kernel = self._compiled(candidate, launch)
        for first in before:
            count = len(first.types) - 1
            own = FirstKernel(self._compiled(candidate, first), count, first.result)
            kernel = replace(kernel, first=own)
        return kernel

    def _compiled(self, candidate: Candidate, launch: Launch) -> BuiltKernel:
        """Compile a function of the source of a candidate.

        Raises:
            KernelError: Triton is not installed, or does not compile it.
        """
        try:
            import triton  # noqa: PLC0415 - an extra
            from triton.backends.compiler import GPUTarget  # noqa: PLC0415
            from triton.compiler import ASTSource  # noqa: PLC0415
        except ImportError:
            missing = "Triton is not installed; pip install 'tuninglink[kernels]' installs it"
            raise KernelError(error(missing)) from None
        architecture, is_amd = candidate.architecture, candidate.architecture in _AMD
        capability, oldest = _capability(architecture), oldest_ptx(architecture)
        assert capability or is_amd, "there are no candidates for others"
        named = ("hip", architecture, _AMD_LANES) if is_amd else ("cuda", capability, _LANES)
        target = GPUTarget(*named)
        function = load_source(self.source(candidate), launch.name)
        source = ASTSource(
            fn=function,
            signature={
                name: _POINTERS[kind]
                for name, kind in zip(function.arg_names, launch.types, strict=True)
            },
            attrs={(at,): [["tt.divisibility", _ALIGNMENT]] for at in range(len(launch.types))},
        )
        flags = {"num_warps": launch.warps, "num_stages": launch.stages, "enable_fp_fusion": True}
        if not is_amd:
            flags["ptx_version"] = max(_PTX_VERSION, oldest or 0)
        knobs = triton.knobs.compilation
        before = knobs.disable_line_info
        knobs.disable_line_info = True  # paths of the machine
        try:
            compiled = triton.compile(source, target=target, options=flags)
            scratch = getattr(compiled.metadata, "global_scratch_size", 0)  # Triton 3.6 on AMD
            if is_amd:
                content = _assembled(compiled.asm["amdgcn"], architecture)
            else:
                content = _without_scratch(compiled.asm["ptx"].encode(), keeps=bool(scratch))
                content = _compact(content)
        except KernelError:
            raise
        except Exception as failure:  # noqa: BLE001 - each stage of Triton raises its own
            reason = str(failure).strip().splitlines() or [type(failure).__name__]
            message = f"Triton does not compile '{launch.name}': {reason[0]}"
            raise KernelError(error(message)) from None
        finally:
            knobs.disable_line_info = before
        if is_amd and scratch:
            raise KernelError(error(f"'{launch.name}' needs scratch memory"))
        shared, memory = compiled.metadata.shared, block_memory(architecture) or _LEAST_MEMORY
        if shared > memory * KIB:
            need = f"needs {shared / KIB:.4g} KiB of shared memory; a block has {memory}"
            raise KernelError(error(f"'{launch.name}' {need}"))
        return BuiltKernel(
            name=launch.name,
            architecture=architecture,
            content=content,
            grid=launch.grid,
            threads=compiled.metadata.num_warps * target.warp_size,
            shared=shared,
            scratch=scratch,
            format="hsaco" if is_amd else "ptx",
        )

    def launches(self, candidate: Candidate) -> tuple[Launch, ...]:
        """Return the launches of a candidate, in order."""
        problem, options = candidate.problem.plain, dict(candidate.options)
        sizes, batches = problem.loop_sizes, self.batches(problem)
        rows, parts = -(-sizes["m"] // options["m"]), options.get("z", 1)
        if isinstance(problem, ProductProblem):
            rows *= -(-sizes["n"] // (options["n"] + options.get("x", 0)))
        kinds = tuple(kind for _, kind in problem.operands)
        grid, flags = (rows, batches, parts), (options["w"], options["s"])
        if parts == 1 or not isinstance(problem, ProductProblem):
            return (Launch(candidate.name, kinds, grid, *flags),)
        # The second one reads what the first one writes.
        part, _ = divided(problem)
        loops, kind = part.operands[-1]
        shape = "x".join(str(size) for size in (parts, *(sizes[loop] for loop in loops)))
        blocks = (sizes["m"] * -(-sizes["n"] // COMBINED), batches, 1)
        return (
            Launch(
                f"{candidate.name}_parts",
                tuple(own for _, own in part.operands),
                grid,
                *flags,
                result=f"tensor<{shape}x{kind}>",
            ),
            Launch(candidate.name, (kind, *kinds[2:]), blocks, COMBINED // _LANES, 1),
        )

    def batches(self, problem: ProductProblem | ScaledAttention) -> int:
        """Return the number of products or attentions."""
        output, _ = problem.operands[-1]
        return prod(problem.loop_sizes[loop] for loop in output if loop not in "mn")


def _width(problem: ProductProblem | ScaledAttention, architecture: str) -> int | None:
    """Return the bytes of the elements that a kernel multiplies; None if an architecture does not multiply them."""
    is_product = isinstance(problem, ProductProblem)
    sums = problem.contraction.types[-1] if isinstance(problem, ProductProblem) else "f32"
    kind, *others = {kind for _, kind in problem.operands[: 2 if is_product else 3]}
    # Sums of 32 bits are those of 64 bits as long as these fit.
    integers = ("i32", "i64") if problem.loop_sizes["k"] < _LONG else ("i32",)
    capability = _capability(architecture) or 0
    takes = bool(capability) or architecture in _AMD
    if kind.startswith("f8"):
        is_amd = kind == "f8E4M3FNUZ"
        takes = architecture == "gfx942" if is_amd else capability >= _HOPPER
    is_right = takes and not others and sums in (integers if kind == "i8" else FLOATS)
    return _SMALL.get(kind) if is_right else None


def load_source(source: str, name: str) -> Any:
    """Return the function of a source in Triton, which reads its lines."""
    path = f"<{name}>"
    linecache.cache[path] = (len(source), None, source.splitlines(keepends=True), path)
    module: dict[str, Any] = {"__name__": name}
    exec(compile(source, path, "exec"), module)  # noqa: S102 - the source is ours
    return module[name]


def _capability(architecture: str) -> int | None:
    match = re.fullmatch(r"sm_(\d+)a?", architecture)
    return int(match[1]) if match and int(match[1]) >= 80 else None  # noqa: PLR2004 - bf16


def _without_scratch(ptx: bytes, *, keeps: bool) -> bytes:
    """Return PTX without the last two parameters, pointers to scratch memory, or without the last one if it `keeps` the other.

    Triton reads the second one only if it profiles. The first one is aligned where it is loaded.
    """
    match = _HEADER.search(ptx)
    assert match is not None, "Triton writes one entry"
    parameters = match[2].split(b",")
    count = 1 if keeps else _UNUSED
    for parameter in parameters[-count:]:
        name = parameter.split()[-1]
        if len(re.findall(rb"\b%b\b" % name, ptx)) != 1:
            message = f"the kernel reads '{name.decode()}', scratch memory that it has not"
            raise KernelError(error(message))
    header = match[1] + b",".join(parameters[:-count]).rstrip() + b"\n" + match[3]
    body = ptx[match.end() :]
    if keeps:
        name = parameters[-_UNUSED].split()[-1]
        loads = re.compile(rb"ld\.param\.\w+\s+(%%\w+), \[%b\];" % re.escape(name))
        body, count = loads.subn(_ALIGNED, body)
        if count != len(re.findall(rb"\b%b\b" % name, body)):
            raise KernelError(error(f"the kernel reads '{name.decode()}' in another way"))
    return ptx[: match.start()] + header + body


def _compact(ptx: bytes) -> bytes:
    """Return PTX without comments and needless spaces, a fifth of the text of Triton."""
    lines = (b" ".join(line.split()) for line in re.sub(rb"//[^\n]*", b"", ptx).split(b"\n"))
    return b"".join(line.replace(b", ", b",") + b"\n" for line in lines if line)


def _assembled(assembly: str, architecture: str) -> bytes:
    """Return a code object without the last two parameters, pointers to scratch memory that is not used.

    The driver copies as many arguments as the metadata lists. The kernel may load the others with them.
    """
    from triton.backends.amd.compiler import HIPBackend  # noqa: PLC0415 - an extra

    arguments = list(_ARGUMENT.finditer(assembly))
    for argument in arguments[: -_UNUSED - 1 : -1]:
        assembly = assembly[: argument.start()] + assembly[argument.end() :]
    code: bytes = HIPBackend.make_hsaco(assembly, {}, SimpleNamespace(arch=architecture))
    return code
