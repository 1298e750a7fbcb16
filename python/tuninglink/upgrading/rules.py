"""The rules in the order of their application; a module holds the rules for one part of the syntax.

To add a rule, write its function in one of the modules, and add its name to the order here.
"""

from __future__ import annotations

from typing import Final

# Their import registers the rules.
from tuninglink.upgrading import config_rules, matcher_rules, syntax_rules  # noqa: F401
from tuninglink.upgrading.rule_definition import REGISTRY, UpgradeRule

_ORDER: Final = (
    # Operations that today's parser rejects.
    "transposed-matmuls",
    "elementwise-operations",
    "packs",
    "attention-properties",
    "strict-properties",
    "matcher-types",
    "gone-operations",
    # Operations that today's compiler interprets differently, in old specs.
    "entry-points",
    "attention-dags",
    "online-attention",
    "matched-names",
    "generalized-operations",
    # Attributes.
    "mma-layouts",
    "virtual-intrinsics",
    "intrinsic-names",
    "lane-basis",
    "elided-lowering-config",
    "native-vector-size",
    "lowering-config-braces",
    "pipeline-keyword",
    "software-pipelining",
    "workgroup-sizes",
    "waves-per-eu",
    "pipeline-options",
    "reorder-workgroups",
    "prefetch-num-stages",
    "tile-levels",
    "simt-matmuls",
    "mma-schedule",
    "subgroup-basis",
    "attention-basis",
    "lone-subgroup-counts",
    "attention-markers",
    "pipeline-attributes",
    "denormals",
)

RULES: Final[dict[str, UpgradeRule]] = {name: REGISTRY[name] for name in _ORDER}
"""Every rule, by name."""
