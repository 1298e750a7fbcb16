"""Linking: many specs in, one out, in order of precedence.

`linker` is the entrance. `link_form` decides the form of the result, `flat` and `chains` build it, and `guards` keeps the
ops that earlier specs decided from the later specs of a chain.
"""
