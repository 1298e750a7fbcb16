"""Names of operations and attributes that the compiler interprets, as in IREE 3.13."""

from __future__ import annotations

from typing import Final

# Operations of the transform dialect.
NAMED_SEQUENCE: Final = "transform.named_sequence"
FOREACH_MATCH: Final = "transform.foreach_match"
RUN_REGISTERED: Final = "transform.apply_registered_pass"
INCLUDE: Final = "transform.include"
ANNOTATE: Final = "transform.annotate"
PARAM_CONSTANT: Final = "transform.param.constant"
YIELD: Final = "transform.yield"
COLLECT_MATCHING: Final = "transform.collect_matching"
SEQUENCE: Final = "transform.sequence"
FOREACH: Final = "transform.foreach"
ALTERNATIVES: Final = "transform.alternatives"
MATCH_STRUCTURED: Final = "transform.match.structured"
PRINT: Final = "transform.print"
MERGE_HANDLES: Final = "transform.merge_handles"
NUM_ASSOCIATIONS: Final = "transform.num_associations"
SELECT: Final = "transform.select"
CAST: Final = "transform.cast"
GET_PARENT: Final = "transform.get_parent_op"
TILE_USING_FOR: Final = "transform.structured.tile_using_for"
UNROLL: Final = "transform.loop.unroll"
APPLY_PATTERNS: Final = "transform.apply_patterns"
APPLY_CSE: Final = "transform.apply_cse"
APPLY_DCE: Final = "transform.apply_dce"
IMPORT_SYMBOL: Final = "transform.util.import_symbol"
CAST_AND_CALL: Final = "transform.util.cast_and_call"
CREATE_SERIALIZED_MODULE: Final = "transform.util.create_serialized_module"
NEAREST_SYMBOL_TABLE: Final = "transform.util.get_nearest_symbol_table"
UKERNEL_GENERIC: Final = "iree_codegen.ukernel.generic"
STRUCTURED_MATCH: Final = "transform.structured.match"
HAS_NO_LOWERING_CONFIG: Final = "transform.iree.match.has_no_lowering_config"
GET_OPERAND: Final = "transform.get_operand"
GET_RESULT: Final = "transform.get_result"
MATCH_PARAMETER: Final = "transform.match.param.cmpi"
MATCH_OPERATION_NAME: Final = "transform.match.operation_name"
MATCH_CONTRACTION: Final = "transform.iree.match.contraction"
MATCH_CONVOLUTION: Final = "transform.iree.match.convolution"
MATCH_ATTENTION: Final = "transform.iree.match.attention"
MATCH_ONLINE_ATTENTION: Final = "transform.iree.match.online_attention"
MATCH_DAG: Final = "transform.iree.match.cast_compatible_dag_from_root"
MATCH_TYPE: Final = "transform.iree.match.cast_compatible_type"
MATCH_DIMS_EQUAL: Final = "transform.iree.match.dims_equal"
MATCH_DIM_MULTIPLE: Final = "transform.iree.match.dim_is_multiple_of"
MATCH_DIM_BOUNDS: Final = "transform.iree.match.dim_bounds"
MATCH_REGIONS: Final = "transform.iree.match.regions"
NAME_ONLY: Final = "match.operation_name_only"
"""The attribute of an op in a DAG of which only the name counts."""
SHOWING: Final = frozenset({MATCH_DAG, MATCH_REGIONS})
"""The matcher ops that show ops of a program in their regions."""

# Operations around a dispatch.
MODULE: Final = "builtin.module"
EXECUTABLE: Final = "hal.executable"
EXECUTABLE_VARIANT: Final = "hal.executable.variant"
EXECUTABLE_EXPORT: Final = "hal.executable.export"
FUNCTION: Final = "func.func"
UTIL_FUNCTION: Final = "util.func"
UTIL_CALL: Final = "util.call"
EXECUTABLE_TARGET: Final = "hal.executable.target"
"""The attribute with the target of code outside of a variant."""
CONSTRAINTS: Final = "iree_codegen.smt.constraints"
CONSTRAINT_KNOB: Final = "iree_codegen.smt.knob"
CONSTRAINT_LOOKUP: Final = "iree_codegen.smt.lookup"
CONSTRAINT_ASSERT: Final = "iree_codegen.smt.assert"

# Operations in a dispatch.
GENERIC: Final = "linalg.generic"
FILL: Final = "linalg.fill"
PACK: Final = "linalg.pack"
UNPACK: Final = "linalg.unpack"
ATTENTION: Final = "iree_linalg_ext.attention"
ONLINE_ATTENTION: Final = "iree_linalg_ext.online_attention"
MAP_LOAD: Final = "iree_linalg_ext.map_load"
MAP_STORE: Final = "iree_linalg_ext.map_store"

# Attributes that make a module a spec.
WITH_NAMED_SEQUENCE: Final = "transform.with_named_sequence"
ENTRY_POINT: Final = "iree_codegen.tuning_spec_entrypoint"
DEFAULT_ENTRY_POINT: Final = "iree_codegen.tuning_spec_with_default_entrypoint"
KERNEL_CONFIG: Final = "__kernel_config"
"""The symbol of the entry point of a spec in default-entrypoint form."""
TRANSFORM_MAIN: Final = "__transform_main"
"""The symbol of the entry point that the compiler's preprocessing runs."""
CONSUMED: Final = "transform.consumed"
READONLY: Final = "transform.readonly"

ADD_BATCH_LOOP: Final = "iree-codegen-insert-batch-dim-for-batchless-conv"
"""The pass that adds a batch loop to a convolution of a single image.

On llvm-cpu it runs after specs and drops their configuration. A spec that runs it first leaves it without effect.
"""

MATERIALIZE_ENCODINGS: Final = "iree-codegen-materialize-device-encoding"
"""The function pass that chooses the layouts of data-tiled operands.

On llvm-cpu it runs after specs, which cannot configure the ops that it replaces. Run before the specs, it leaves
nothing to replace.
"""

# Names that Tuninglink defines.
CHAINED_ENTRY_POINT: Final = "tuninglink.entry_point"
"""The attribute of the entry points in a chain, which take the decided ops in addition to the root."""
NO_ENTRY: Final = "tuninglink.no_entry"
"""The attribute of a matcher that linking adds, whose pair does not count as an entry."""
NO_DECISION: Final = "tuninglink.no_decision"
"""The attribute of an action of an index, which decides nothing about the matched op."""
LIST: Final = "tuninglink.list"
"""The attribute of a sequence that linking outlined, with a `foreach_match` of the including sequence."""
UNROLLED_LOOPS: Final = "tuninglink.unrolled_loops"
"""The attribute that replaces a configuration in an entry that unrolls loops: the number of copies by loop, 0 for the other loops."""
REPLACE_SPEC: Final = "tuninglink.replace_spec"
"""The attribute of a program with the replace entries that were applied to it, as bytecode."""
NO_OPERATION: Final = "tuninglink.none"
"""A name that no op has."""

# Attributes that hold a configuration.
EMBEDDED_SPEC: Final = "iree_codegen.tuning_spec_mlirbc"
"""The attribute of a dispatch in which the compiler looks for a spec, as bytecode."""
COMPILATION_INFO: Final = "compilation_info"
LOWERING_CONFIG: Final = "lowering_config"
TRANSLATION_INFO: Final = "translation_info"
DECOMPOSITION_CONFIG: Final = "decomposition_config"
ROOT_OP: Final = "root_op"
UKERNEL: Final = "iree_codegen.ukernel"
INNER_TILE_ALIGNMENTS: Final = "inner_tile_alignments"
SPEC_APPLIED: Final = "__tuning_spec_applied__"
"""The attribute that the compiler's own default specs set on each op that they configure."""

SYMBOL_NAME: Final = "sym_name"
FORM: Final = "form"
"""The attribute of a function that replaces ops: what it does, in words."""
SYMBOL_VISIBILITY: Final = "sym_visibility"
