from __future__ import annotations

from tuninglink.mlir import names
from tuninglink.upgrading.rule_definition import OperationSite, operation_rule


@operation_rule(
    names.MATCH_DAG,
    since=(3, 8),
    before="transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) {\n"
    "  %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {\n"
    "  ^bb0(%a: tensor<?x8xf32>, %b: tensor<8x?xf32>, %c: tensor<?x?xf32>):\n"
    "    %r = linalg.matmul ins(%a, %b : tensor<?x8xf32>, tensor<8x?xf32>) "
    "outs(%c : tensor<?x?xf32>) -> tensor<?x?xf32>\n"
    "  } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)\n"
    "  %c = transform.param.constant #iree_gpu.derived_thread_config -> !transform.any_param\n"
    "  transform.yield\n}",
    after="transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) {\n"
    "  %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {\n"
    "  ^bb0(%a: tensor<?x8xf32>, %b: tensor<8x?xf32>, %c: tensor<?x?xf32>):\n"
    "    %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, "
    "affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], "
    'iterator_types = ["parallel", "parallel", "reduction"]} '
    "ins(%a, %b : tensor<?x8xf32>, tensor<8x?xf32>) outs(%c : tensor<?x?xf32>) {\n"
    "    ^bb0(%dag_in: f32, %dag_in_0: f32, %dag_out: f32):\n"
    "      %dag_1 = arith.mulf %dag_in, %dag_in_0 : f32\n"
    "      %dag_2 = arith.addf %dag_out, %dag_1 : f32\n"
    "      linalg.yield %dag_2 : f32\n"
    "    } -> tensor<?x?xf32>\n"
    "  } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)\n"
    "  %c = transform.param.constant #iree_gpu.derived_thread_config -> !transform.any_param\n"
    "  transform.yield\n}",
    evidence=("iree#21778", "iree#21955", "iree#20424"),
    is_decisive=False,
)
def generalized_operations(site: OperationSite) -> None:
    """On a GPU, named contractions and convolutions are `linalg.generic` when they are matched.

    A matcher for the named form matches nothing. The compiler's own generalization writes the new form.
    """
    dag = site.outline.dag(site.mark)
    if (
        dag is None
        or site.sequence is None
        or not site.generalization.configures_gpu(site.sequence)
    ):
        return
    generic = site.generalization.dags.get(dag.region.start)
    if generic is not None:
        site.edits.replace(generic.start, generic.end, generic.text)
        site.changed(
            f"'{generic.name}' in the matcher becomes 'linalg.generic', its form on a GPU when it is "
            "matched"
        )
