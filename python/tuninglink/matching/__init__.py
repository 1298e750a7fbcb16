"""Matching: the predicates of matchers, and conclusions from them.

One reader (`reader`) turns a matcher into predicates (`predicates`). Everything else folds over them: exact conditions,
subsumption and overlap, the indexes, pruning, and the differences between a matcher and an op.
"""

from tuninglink.lazy import lazy_imports

with lazy_imports(globals()):
    from tuninglink.matching.derivation import (
        DerivableList as DerivableList,
        derived_specs as derived_specs,
    )
    from tuninglink.matching.exact import exact_condition as exact_condition
    from tuninglink.matching.index import (
        LONGEST_LIST as LONGEST_LIST,
        IndexEntry as IndexEntry,
        IndexGroup as IndexGroup,
        Indexing as Indexing,
        Item as Item,
        index_matchers as index_matchers,
        plan_index as plan_index,
    )
    from tuninglink.matching.materialization import (
        LinkedDispatch as LinkedDispatch,
        PruningLinker as PruningLinker,
        check_ranges as check_ranges,
        embed_specs as embed_specs,
        has_ranges as has_ranges,
        link_dispatches as link_dispatches,
        may_restructure as may_restructure,
        specialize_dispatches as specialize_dispatches,
    )
    from tuninglink.matching.nearest_entries import (
        Difference as Difference,
        MatcherComparison as MatcherComparison,
        NearestEntries as NearestEntries,
        compare as compare,
    )
    from tuninglink.matching.predicates import (
        ANYTHING as ANYTHING,
        STEPS as STEPS,
        Condition as Condition,
        Dimension as Dimension,
        Extent as Extent,
        HasExtent as HasExtent,
        HasMaps as HasMaps,
        IsCastCompatible as IsCastCompatible,
        NameIn as NameIn,
        Opaque as Opaque,
        Predicate as Predicate,
        box as box,
        exclude_but_for_sizes as exclude_but_for_sizes,
        representative as representative,
        static_box as static_box,
        static_sizes as static_sizes,
    )
    from tuninglink.matching.prunable import (
        UNKNOWN_DISPATCH as UNKNOWN_DISPATCH,
        DispatchSignature as DispatchSignature,
        EntryIndex as EntryIndex,
        LoopSizes as LoopSizes,
        PrunableSpec as PrunableSpec,
        Pruning as Pruning,
        PruningKey as PruningKey,
        SignatureReader as SignatureReader,
        pruning_key as pruning_key,
    )
    from tuninglink.matching.reader import (
        NAME_ONLY as NAME_ONLY,
        Matcher as Matcher,
        MatcherReader as MatcherReader,
        OpInfo as OpInfo,
        regions_key as regions_key,
    )
    from tuninglink.matching.relations import (
        EntryConditions as EntryConditions,
        EntryOverlap as EntryOverlap,
        MatcherConditions as MatcherConditions,
        OverlapAnswer as OverlapAnswer,
        Overlaps as Overlaps,
        Subsumption as Subsumption,
        SubsumptionAnswer as SubsumptionAnswer,
        find_overlaps as find_overlaps,
        find_reachability as find_reachability,
        find_unreachable as find_unreachable,
        structural_key as structural_key,
    )
    from tuninglink.matching.spellings import (
        DescribedOp as DescribedOp,
        NotDerivableError as NotDerivableError,
        ProblemSpelling as ProblemSpelling,
        Renumbering as Renumbering,
        loop_mapping as loop_mapping,
        problem_spelling as problem_spelling,
    )
