from __future__ import annotations

from itertools import dropwhile, islice

from tuninglink.mlir import names
from tuninglink.upgrading.rule_definition import OperationSite, Refusal, operation_rule


@operation_rule(
    names.MATCH_CONTRACTION,
    names.MATCH_CONVOLUTION,
    since=(3, 8),
    before="%b, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, "
    "output_type = f32 : (!transform.any_op) -> (!transform.param<i64>, !transform.param<i64>, "
    "!transform.param<i64>, !transform.param<i64>)",
    after="%b, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, "
    "output_type = f32 : !transform.any_op -> !transform.param<i64>",
    evidence=("iree#21981", "iree#22201"),
)
def matcher_types(site: OperationSite) -> None:
    """`match.contraction` and `match.convolution` have one type for all their results, without parentheses."""
    tokens = dropwhile(lambda token: token.text != ":", site.tokens())
    signature = list(islice(tokens, 4))
    if [token.text for token in signature] != [":", "(", "->", "("]:
        return
    source, (_, operand, _, results) = site.source, signature
    types = {word.strip() for word in source.text[results.start + 1 : results.end - 1].split(",")}
    if len(types) != 1:
        raise Refusal(f"the results of '{site.mark.text}' have different types")
    operand_type = source.text[operand.start + 1 : operand.end - 1].strip()
    site.edits.replace(operand.start, results.end, f"{operand_type} -> {types.pop()}")
    site.changed(f"the results of '{site.mark.text}' have one type")
