"""Kernels of Triton: products, convolutions and attention, whose source is generated for a problem, and compiled without a GPU."""

from __future__ import annotations

import linecache
import re
from itertools import product
from math import prod
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, Final

from tuninglink.iree import TYPICAL
from tuninglink.kernels.kernel import (
    SCRATCH_ALIGNMENT,
    BuiltKernel,
    Candidate,
    KernelError,
    KernelProvider,
)
from tuninglink.kernels.problems import ProductProblem, ScaledAttention
from tuninglink.kernels.triton_sources import attention_source, product_source, splits, strides
from tuninglink.mlir import error, note
from tuninglink.replacing import ORDER, NoFormError
from tuninglink.specs import KIB, block_memory, oldest_ptx

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.kernels.graphs import KernelProblem

_POINTERS: Final = {"f16": "*fp16", "bf16": "*bf16", "f32": "*fp32", "i1": "*i8"}
_SMALL: Final = ("f16", "bf16")

_PTX_VERSION: Final = 86
"""The version of PTX that is written, of CUDA 12.7, unless the architecture needs a later one: drivers refuse later ones than
their own, and copies to shared memory need this one."""

_ALIGNMENT: Final = 16
_BYTES: Final = 2
_LANES: Final = 32
_HOPPER: Final = 90

_FEW: Final = 32
"""The number of rows or queries up to which a tile has no more than all of them need."""

_SIDE: Final = 100
"""The elements of a tile whose products take as long as reading a row or a column of its operands from the cache."""

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


class TritonProvider(KernelProvider):
    """Kernels of Triton, for CUDA and for AMD GPUs, on which they have not been run. The package `triton` is loaded when the first kernel is made."""

    name: ClassVar[str] = "triton"

    def candidates(self, problem: KernelProblem, architecture: str) -> Sequence[Candidate]:
        """Return candidates for a product of f16 or bf16 into f32, or an attention in one of them, the most promising first."""
        capability, given = _capability(architecture), problem
        try:
            problem = _plain(given)
        except NoFormError:
            return ()
        multiplied = 2 if isinstance(problem, ProductProblem) else 3
        kinds = {kind for _, kind in problem.operands[:multiplied]}
        is_amd = architecture in _AMD
        if not (capability or is_amd) or len(kinds) > 1 or not kinds <= {*_SMALL}:
            return ()
        # Offsets within a batch are numbers of 32 bits, and the batches are the second dimension of the grid.
        memory = (block_memory(architecture) or _LEAST_MEMORY) * KIB
        sizes = problem.loop_sizes
        rows = sizes["m"]
        spans = [
            1
            + sum(
                (sizes[at] - 1) * step
                for at, step in strides(problem, loops).items()
                if at in ORDER
            )
            for loops, _ in problem.operands
        ]
        if max(spans) >= _MOST_ELEMENTS or self.batches(problem) > _MOST_BATCHES:
            return ()
        options: list[dict[str, int]] = []
        if isinstance(problem, ProductProblem):
            aligned = all(
                sizes[loops[-1]] * _BYTES % _ALIGNMENT == 0 for loops, _ in problem.operands[:2]
            )
            lhs, rhs = ({*loops[-2:]} for loops, _ in problem.operands[:2])
            is_matrix = lhs == {*"mk"} and rhs == {*"kn"}
            is_matrix = is_matrix and problem.windows is None
            has_tensors = capability is not None and capability >= _HOPPER
            with_tensors = (0, 1) if has_tensors and aligned and is_matrix else (0,)
            tiles: Sequence[tuple[int, int]]
            depths: Sequence[tuple[int, int]]
            tiles = ((128, 256), (128, 128), (64, 128), (64, 256), (128, 64), (64, 64), (32, 64))
            depths = ((64, 3), (64, 4), (128, 3), (32, 4)) if capability else ((32, 2), (64, 2))
            if rows <= _FEW:
                # All rows are in one tile, and the right operand is read once: more of it is on its way.
                tiles = tuple((_fewest(rows), n) for n in (128, 64, 256, 32, 16))
                depths = ((128, 4), (64, 4), (256, 3), (64, 3)) if capability else depths
            if problem.windows is not None:
                # A step has channels of one pixel.
                depths = [at for at in (*depths, (16, 4)) if not problem.windows.image[-1] % at[0]]
            batches = self.batches(problem)

            def cost(tile: tuple[int, int]) -> float:
                blocks = batches * -(-rows // tile[0]) * -(-sizes["n"] // tile[1])
                return -(-blocks // TYPICAL) * (prod(tile) + _SIDE * sum(tile))

            # Go on from the best tile, and from the first depth, with tensor descriptors, step by step.
            tiles = sorted(tiles, key=cost)
            choices = product(enumerate(depths), enumerate(tiles), enumerate(with_tensors[::-1]))
            for (_, (k, stages)), (_, (m, n)), (_, tma) in sorted(
                choices, key=lambda choice: sum(at for at, _ in choice)
            ):
                warps = 8 if m * n > 128 * 128 or (m * n == 128 * 128 and tma) else 4
                if stages * k * (m + n) * _BYTES <= memory:
                    options.append(
                        {"m": m, "n": n, "k": k, "w": warps, "s": stages, "g": 8, "t": tma}
                    )
        elif isinstance(problem, ScaledAttention):
            features, values = (sum(splits(sizes[loop])) for loop in "kn")
            shapes = ((128, 8), (128, 4), (64, 4))
            if rows <= _FEW:  # such as the one query of a decoder's step
                least = _fewest(rows)
                shapes = ((least, 2), (least, 1), (least, 4))
            for stages, (m, warps), j in product(
                (3, 2, 4) if capability else (2, 1), shapes, (64, 128, 32)
            ):
                needed = (m * features + stages * j * (features + values)) * _BYTES
                if needed <= memory:
                    options.append({"m": m, "j": j, "w": warps, "s": stages})
        return tuple(
            Candidate(self.name, given, architecture, tuple(item.items())) for item in options
        )

    def source(self, candidate: Candidate) -> str:
        """Return the source of a candidate in Triton, a module of Python with one function."""
        options = dict(candidate.options)
        problem = _plain(candidate.problem)
        if isinstance(problem, ProductProblem):
            return product_source(problem, candidate.name, options)
        return attention_source(problem, candidate.name, options)

    def make(self, candidate: Candidate) -> BuiltKernel:
        """Compile a candidate to PTX, and have the assembler of the package accept it.

        Raises:
            KernelError: Triton is not installed, or does not compile it.
        """
        try:
            import triton  # noqa: PLC0415 - an extra
            from triton.backends.compiler import GPUTarget  # noqa: PLC0415
            from triton.compiler import ASTSource  # noqa: PLC0415
        except ImportError:
            remedy = note("install it: pip install 'tuninglink[kernels]'")
            raise KernelError(error("Triton is not installed", notes=[remedy])) from None
        problem, options = candidate.problem, dict(candidate.options)
        architecture, is_amd = candidate.architecture, candidate.architecture in _AMD
        capability, oldest = _capability(architecture), oldest_ptx(architecture)
        assert capability or is_amd, "there are no candidates for others"
        target = (
            GPUTarget("hip", architecture, _AMD_LANES)
            if is_amd
            else GPUTarget("cuda", capability, _LANES)
        )
        function = load_source(self.source(candidate), candidate.name)
        kinds = [_POINTERS[kind] for _, kind in problem.operands]
        source = ASTSource(
            fn=function,
            signature=dict(zip(function.arg_names, kinds, strict=True)),
            attrs={(at,): [["tt.divisibility", _ALIGNMENT]] for at in range(len(kinds))},
        )
        flags = {"num_warps": options["w"], "num_stages": options["s"], "enable_fp_fusion": True}
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
        except KernelError:
            raise
        except Exception as failure:  # noqa: BLE001 - each stage of Triton raises its own
            reason = str(failure).strip().splitlines() or [type(failure).__name__]
            message = f"Triton does not compile '{candidate.name}': {reason[0]}"
            raise KernelError(error(message)) from None
        finally:
            knobs.disable_line_info = before
        if is_amd and scratch:
            raise KernelError(error(f"'{candidate.name}' needs scratch memory"))
        shared, memory = compiled.metadata.shared, block_memory(architecture) or _LEAST_MEMORY
        if shared > memory * KIB:
            need = f"needs {shared / KIB:.4g} KiB of shared memory; a block has {memory}"
            raise KernelError(error(f"'{candidate.name}' {need}"))
        grid = self.grid(candidate)
        return BuiltKernel(
            name=candidate.name,
            architecture=architecture,
            content=content,
            grid=grid,
            threads=compiled.metadata.num_warps * target.warp_size,
            shared=shared,
            scratch=scratch,
            format="hsaco" if is_amd else "ptx",
        )

    def grid(self, candidate: Candidate) -> tuple[int, int, int]:
        """Return the numbers of blocks of a candidate."""
        problem, options = _plain(candidate.problem), dict(candidate.options)
        sizes = problem.loop_sizes
        rows = -(-sizes["m"] // options["m"])
        if isinstance(problem, ProductProblem):
            rows *= -(-sizes["n"] // options["n"])
        return (rows, self.batches(problem), 1)

    def batches(self, problem: ProductProblem | ScaledAttention) -> int:
        """Return the number of products or attentions."""
        output, _ = problem.operands[-1]
        return prod(problem.loop_sizes[loop] for loop in output if loop not in "mn")


def _plain(problem: KernelProblem) -> ProductProblem | ScaledAttention:
    """Return a problem as a kernel computes it.

    Raises:
        NoFormError: none does.
    """
    return problem if isinstance(problem, ScaledAttention) else problem.plain


def _fewest(rows: int) -> int:
    """Return the least number of rows of a tile for a small number of rows."""
    return 16 if rows <= 16 else 32  # noqa: PLR2004 - products of tiles have at least 16


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
