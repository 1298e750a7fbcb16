"""Linking: many specs in, one out, in order of precedence.

A spec comes from `cli/link`, from pruning, or from the pass `tuninglink-link-specs`. Its way to the linked module:

1. `linker` is the entrance. It passes the specs on, or those nested in a module. Chains in nested modules, as the compiler
   and earlier versions wrote them, became chains in one module when they were loaded (`specs/spec`).
2. `link_form` checks each spec and decides the form once: the only spec as it is, one list, or a chain. For that,
   `analysis` determines whether a matcher reads what another spec configures.
3. `merging` copies the sequences of the specs into one module. Either `flat_lists` makes matcher lists one list there,
   or `chains` adds an entry point that runs those of the specs, brought to the current form, in order.
4. Where a later spec of a chain configures anything, `guards` keeps the ops that earlier specs decided from it. It asks
   `analysis` what a guard covers, and builds with `rewriting`.
"""
