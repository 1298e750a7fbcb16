"""Linking: many specs in, one out, in order of precedence.

The way of a spec through the modules, from the top to the linked spec:

    cli/link, pruning: link_specs, link_parts     the pass: link_nested_specs     linker
                                  choose_form                                     link_form, dependence
                          a list /           \\ any other spec
                           flatten           chain                                flat, chains
                                               | specs after others
                                             guard                                guards, guard_analysis

`modernization` brings older entry points to the current form; `rewriting` and `helper_sequences` build what guards add.
"""
