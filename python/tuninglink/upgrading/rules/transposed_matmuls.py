from __future__ import annotations

from typing import Final

from tuninglink.upgrading.rule_definition import OperationSite, operation_rule


def _maps(domain: str, *results: str) -> str:
    return ", ".join(f"affine_map<({domain}) -> ({result})>" for result in results)


_MATMUL: Final = "d0, d1, d2"
_BATCHED: Final = "d0, d1, d2, d3"
MAPS: Final = {
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
"""The present name and indexing maps for each old name."""


@operation_rule(
    *MAPS,
    since=(3, 7),
    before="%r = linalg.matmul_transpose_b ins(%a, %b : tensor<?x?xf16>, tensor<?x?xf16>) "
    "outs(%c : tensor<?x?xf32>) -> tensor<?x?xf32>",
    after="%r = linalg.matmul indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, "
    "affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>] "
    "ins(%a, %b : tensor<?x?xf16>, tensor<?x?xf16>) outs(%c : tensor<?x?xf32>) -> tensor<?x?xf32>",
    evidence=("llvm#147961",),
)
def transposed_matmuls(site: OperationSite) -> None:
    """`linalg.matmul_transpose_a`, `_b` and their batched forms became `indexing_maps` on the matmul."""
    name, maps = MAPS[site.mark.text]
    site.edits.replace(site.mark.start, site.mark.end, f"{name} indexing_maps = [{maps}]")
    site.changed(f"'{site.mark.text}' is '{name}' with indexing maps")
