from __future__ import annotations

from typing import Final

from tuninglink.upgrading.rule_definition import OperationSite, Refusal, operation_rule

_WITHOUT_EFFECT: Final = {
    "transform.iree.emit_remark": "it only printed a remark",
    "transform.iree.register_match_callbacks": "it only prepared 'transform.iree.match_callback'",
}
_GONE: Final = {
    "transform.iree.match_callback": "its callbacks were defined in the compiler "
    "(https://github.com/iree-org/iree/pull/24500)",
    "transform.iree.take_first": "no operation selects one of two handles "
    "(https://github.com/iree-org/iree/pull/24500)",
    "transform.iree.set_contraction_layout_attributes": "since 3.1 pipelines set layouts, from lowering configs; "
    "a script cannot set them",
}


@operation_rule(
    *_WITHOUT_EFFECT,
    *_GONE,
    since=(3, 12),
    before='transform.iree.emit_remark "seen" at %op : !transform.any_op\ntransform.yield',
    after="transform.yield",
    evidence=("iree#24500",),
)
def gone_operations(site: OperationSite) -> None:
    """`transform.iree.emit_remark` and `register_match_callbacks` are gone. They do not affect matching.

    An entry that needs `match_callback` or `take_first` is excluded.
    """
    name, source = site.mark.text, site.source
    if name in _GONE:
        raise Refusal(f"'{name}' is gone: {_GONE[name]}")
    start, end = site.mark.start, _end(site)
    line, stop = source.line_start(start), source.line_end(end)
    is_alone = not source.text[line:start].strip() and not source.text[end:stop].strip()
    if is_alone and stop < len(source.text):
        start, end = line, stop + 1
    site.edits.replace(start, end, "")
    site.decided(f"'{name}' is removed: {_WITHOUT_EFFECT[name]}")


def _end(site: OperationSite) -> int:
    """Return the end of an operation without results."""
    end, is_type = site.mark.end, False
    for token in site.tokens():
        if is_type:
            return token.end
        if token.is_transform or site.mark.text != "transform.iree.emit_remark":
            return end
        is_type = token.text == ":"
        end = token.end
    return end
