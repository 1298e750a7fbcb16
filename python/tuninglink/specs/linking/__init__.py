"""Linking: many specs in, one out, in order of precedence.

A spec comes from `cli/link`, from pruning, or from the pass `tuninglink-link-specs`. Its way to the linked module:

1. `linker` is the entry point. It passes on the given specs, or the specs nested in a module. Loading has already
   converted chains in nested modules, which the compiler and earlier versions write, to chains in one module
   (`specs/spec`).
2. `link_form` checks each spec and chooses the form once: a single spec unchanged, one list, or a chain. `analysis`
   determines whether a matcher depends on ops that another spec configures.
3. `merging` copies the sequences of the specs into one module. There, either `flat_lists` merges matcher lists into one
   list, or `chains` adds an entry point that runs the specs' entry points in order, in the current form.
4. Where a later spec of a chain configures anything, `guards` protects the ops that earlier specs decided. It uses
   `analysis` to determine the ops that a guard covers, and `rewriting` to build the IR.
"""
