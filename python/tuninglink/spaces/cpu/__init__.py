"""Constraints on configurations for llvm-cpu, for which the compiler has none, and the properties of the target CPU."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.mlir.attributes import parameters
from tuninglink.solver.answers import UndecidedError

if TYPE_CHECKING:
    from tuninglink.spaces.workload import Workload

BACKEND: Final = "llvm-cpu"

_EMBEDDED: Final = "embedded-elf"
"""The prefix of the formats whose code is linked without a library."""

_NATIVE_VECTORS: Final = 512
"""The number of native vectors at and above which the compiler rejects a vector
(`LLVMCPUVerifyVectorSizeLegalityPass`).
"""

_VECTOR_BYTES: Final = 8
"""The native vector size that the compiler assumes for its limit if the target specifies none."""


class Masking(Enum):
    """The conditions under which the compiler creates vectors of the configured sizes and masks excess elements.

    - `NEVER`: an operation with a tile of unknown size is not vectorized.
    - `AS_NEEDED`: only where the size of a tile is unknown; otherwise, vectors have the sizes of the tiles.
    - `ALWAYS`: even if the sizes of all tiles are known.
    """

    NEVER = "never"
    AS_NEEDED = "as needed"
    ALWAYS = "always"


@dataclass(frozen=True)
class Cpu:
    """A CPU.

    Attributes:
        vector_bytes: the size of a vector register.
        registers: the number of vector registers.
        masking: when vectors are masked.
        architecture: the first component of the target triple.
        features: the target features, as LLVM names them.
        links_nothing: whether its code is linked without a library.
    """

    vector_bytes: int
    registers: int
    masking: Masking
    architecture: str
    features: frozenset[str]
    links_nothing: bool

    @property
    def vector_limit(self) -> int:
        """The size in bytes at and above which the compiler rejects a vector (`getMaxVectorSizeForLargeVectorCheck`)."""
        return _NATIVE_VECTORS * self.vector_bytes


def read_cpu(workload: Workload) -> Cpu:
    """Return the CPU that a dispatch is compiled for.

    Raises:
        UndecidedError: the target is not a CPU, or is unknown.
    """
    result = parameters(workload.target) if workload.target is not None else None
    if result is None or len(result) == 0 or _string(result[0]) != BACKEND:
        raise UndecidedError("the target is unknown, or not a CPU")
    last = result[len(result) - 1]
    entries = last if isinstance(last, mlir.DictAttr) else None
    size = _entry(entries, "native_vector_size")
    native = size.value if isinstance(size, mlir.IntegerAttr) and size.value > 0 else _VECTOR_BYTES
    architecture = _string(_entry(entries, "target_triple")).partition("-")[0]
    features = _string(_entry(entries, "cpu_features")).split(",")
    return Cpu(
        vector_bytes=int(native),
        registers=_registers(architecture, features),
        masking=_masking(architecture, features),
        architecture=architecture,
        features=frozenset(features),
        links_nothing=_string(result[1]).startswith(_EMBEDDED),
    )


def _registers(architecture: str, features: list[str]) -> int:
    has_32 = architecture.startswith(("aarch64", "riscv")) or "+avx512f" in features
    return 32 if has_32 else 16


def _masking(architecture: str, features: list[str]) -> Masking:
    """Return when the compiler masks; see `LLVMCPULowerExecutableTargetPass`."""
    if architecture.startswith(("x86", "i686", "riscv")):
        return Masking.AS_NEEDED
    if architecture.startswith("aarch64") and any(
        feature.startswith(("+sve", "+sme")) for feature in features
    ):
        return Masking.ALWAYS
    return Masking.NEVER


def _entry(entries: mlir.DictAttr | None, name: str) -> mlir.Attribute | None:
    return entries[name] if entries is not None and name in entries else None


def _string(attribute: mlir.Attribute | None) -> str:
    return attribute.value if isinstance(attribute, mlir.StringAttr) else ""
