"""Matching: the predicates of matchers, and conclusions from them.

One reader (`reader`) turns a matcher into predicates (`predicates`). Everything else folds over them: exact conditions,
subsumption and overlap, the indexes, pruning, and the differences between a matcher and an op.
"""
