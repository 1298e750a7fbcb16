"""Which configurations are valid for a problem, on a target, in a pipeline: asked of a constraint solver.

A layer of its own: it neither parses nor prints MLIR text. Importing a module of it that works with
constraints imports Z3; this package alone does not.
"""
