"""Matching: what matchers ask of ops, and what follows from it.

One reader (`reader`) turns a matcher into predicates (`predicates`). Everything else folds over them: exact conditions,
subsumption and overlap, the indexes, pruning, and the differences between a matcher and an op.
"""
