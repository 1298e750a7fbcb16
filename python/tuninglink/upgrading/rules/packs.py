from __future__ import annotations

from typing import Final

from tuninglink.mlir import names
from tuninglink.upgrading.rule_definition import OperationSite, operation_rule

_NEW: Final = {"tensor.pack": "linalg.pack", "tensor.unpack": "linalg.unpack"}


@operation_rule(
    *_NEW,
    names.MATCH_OPERATION_NAME,
    since=(3, 3),
    before='transform.match.operation_name %op ["tensor.pack"] : !transform.any_op',
    after='transform.match.operation_name %op ["linalg.pack"] : !transform.any_op',
    evidence=("llvm#123902", "iree#19993"),
)
def packs(site: OperationSite) -> None:
    """`tensor.pack` and `tensor.unpack` moved into `linalg`."""
    if site.mark.text in _NEW:
        site.edits.replace(site.mark.start, site.mark.end, _NEW[site.mark.text])
        site.changed(f"'{site.mark.text}' is '{_NEW[site.mark.text]}'")
        return
    for token in site.matched_name_tokens():
        old = token.text.strip('"')
        if old in _NEW:
            site.edits.replace(token.start, token.end, f'"{_NEW[old]}"')
            site.changed(f"'{old}' is '{_NEW[old]}'")
