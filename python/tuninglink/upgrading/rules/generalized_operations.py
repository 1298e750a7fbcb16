"""Named operations are generic ones on a GPU when matchers see them."""

from __future__ import annotations

from tuninglink.upgrading.rule import Rule

RULE = Rule(
    name="generalized-operations",
    version=(3, 8),
    summary="On a GPU, named contractions and convolutions are `linalg.generic` when matchers see them; a "
    "matcher for the named form matches nothing. The compiler's own generalization writes the new form.",
    before="%r = linalg.matmul ins(%a, %b : tensor<?x8xf32>, tensor<8x?xf32>) "
    "outs(%c : tensor<?x?xf32>) -> tensor<?x?xf32>",
    after="%r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, "
    "affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], "
    'iterator_types = ["parallel", "parallel", "reduction"]} '
    "ins(%a, %b : tensor<?x8xf32>, tensor<8x?xf32>) outs(%c : tensor<?x?xf32>) {\n"
    "^bb0(%dag_in: f32, %dag_in_0: f32, %dag_out: f32):\n"
    "  %dag_1 = arith.mulf %dag_in, %dag_in_0 : f32\n"
    "  %dag_2 = arith.addf %dag_out, %dag_1 : f32\n"
    "  linalg.yield %dag_2 : f32\n"
    "} -> tensor<?x?xf32>",
    evidence=(
        "https://github.com/iree-org/iree/pull/21778",
        "https://github.com/iree-org/iree/issues/21955",
        "https://github.com/iree-org/iree/pull/20424",
    ),
)
