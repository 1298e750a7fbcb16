"""The passes of Tuninglink, one a file, each named after its pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tuninglink.passes.annotate_root_ops import AnnotateRootOps
from tuninglink.passes.dedupe_sequences import DedupeSequences
from tuninglink.passes.drop_shadowed import DropShadowed
from tuninglink.passes.dump_specs import DumpSpecs
from tuninglink.passes.index_matchers import IndexMatchers
from tuninglink.passes.link_specs import LinkSpecs
from tuninglink.passes.materialize_specs import MaterializeSpecs
from tuninglink.passes.prune_specs import PruneSpecs
from tuninglink.passes.strip_configs import StripConfigs
from tuninglink.passes.verify_configs import VerifyConfigs
from tuninglink.passes.verify_specs import VerifySpecs

if TYPE_CHECKING:
    from tuninglink.mlir.passes import Pass

PASSES: tuple[type[Pass], ...] = (
    AnnotateRootOps,
    DedupeSequences,
    DropShadowed,
    DumpSpecs,
    IndexMatchers,
    LinkSpecs,
    MaterializeSpecs,
    PruneSpecs,
    StripConfigs,
    VerifyConfigs,
    VerifySpecs,
)
"""Every pass that comes with Tuninglink, in alphabetical order."""
