"""Derived entries: copies of entries for other forms of their problem, with other loops.

A form differs in the order of its loops, in loops of size 1, and in the name of its op. A derived entry follows all
exact entries, and the compiler's interpreter decides about it as about any other.
"""
