"""Transposed matmuls are matmuls with indexing maps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tuninglink.upgrading.rule import OperationRule

if TYPE_CHECKING:
    from tuninglink.upgrading.rule import OperationContext
    from tuninglink.upgrading.source import Mark


def _maps(domain: str, *results: str) -> str:
    return ", ".join(f"affine_map<({domain}) -> ({each})>" for each in results)


_MATMUL: Final = "d0, d1, d2"
_BATCHED: Final = "d0, d1, d2, d3"
_MAPS: Final = {
    "linalg.matmul_transpose_a": ("linalg.matmul", _maps(_MATMUL, "d2, d0", "d2, d1", "d0, d1")),
    "linalg.matmul_transpose_b": ("linalg.matmul", _maps(_MATMUL, "d0, d2", "d1, d2", "d0, d1")),
    "linalg.batch_matmul_transpose_a": (
        "linalg.batch_matmul",
        _maps(_BATCHED, "d0, d3, d1", "d0, d3, d2", "d0, d1, d2"),
    ),
    "linalg.batch_matmul_transpose_b": (
        "linalg.batch_matmul",
        _maps(_BATCHED, "d0, d1, d3", "d0, d2, d3", "d0, d1, d2"),
    ),
}


def _rewrite(mark: Mark, context: OperationContext) -> None:
    name, maps = _MAPS[mark.text]
    context.edits.replace(mark.start, mark.end, f"{name} indexing_maps = [{maps}]")
    context.changed(f"'{mark.text}' is '{name}' with indexing maps")


RULE = OperationRule(
    name="transposed-matmuls",
    version=(3, 7),
    summary="`linalg.matmul_transpose_a`, `_b` and their batched forms became `indexing_maps` on the matmul.",
    before="%r = linalg.matmul_transpose_b ins(%a, %b : tensor<?x?xf16>, tensor<?x?xf16>) "
    "outs(%c : tensor<?x?xf32>) -> tensor<?x?xf32>",
    after="%r = linalg.matmul indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, "
    "affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>] "
    "ins(%a, %b : tensor<?x?xf16>, tensor<?x?xf16>) outs(%c : tensor<?x?xf32>) -> tensor<?x?xf32>",
    evidence=("https://github.com/llvm/llvm-project/pull/147961",),
    operations=frozenset(_MAPS),
    rewrite=_rewrite,
)
