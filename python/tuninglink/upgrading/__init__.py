"""Upgrades of specs that were written for older compilers."""

from tuninglink.lazy import lazy_imports

with lazy_imports(globals()):
    from tuninglink.upgrading.attribute_rules import RULES as RULES
    from tuninglink.upgrading.loops import (
        Generalization as Generalization,
        IterationSpaces as IterationSpaces,
    )
    from tuninglink.upgrading.module_reader import (
        read_module as read_module,
    )
    from tuninglink.upgrading.rule_definition import (
        AttributeRewriter as AttributeRewriter,
        KeptOut as KeptOut,
        OperationSite as OperationSite,
        Rewrites as Rewrites,
        RuleChange as RuleChange,
        Upgraded as Upgraded,
        UpgradedEntry as UpgradedEntry,
        UpgradeRule as UpgradeRule,
        render_report as render_report,
    )
    from tuninglink.upgrading.spec_text import (
        MAX_DEPTH as MAX_DEPTH,
        Edits as Edits,
        SpecText as SpecText,
    )
    from tuninglink.upgrading.trees import parse as parse
    from tuninglink.upgrading.upgrader import upgrade as upgrade
