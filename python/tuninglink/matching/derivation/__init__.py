"""Derived entries: copies of entries for other forms of their problem, with other loops.

Forms differ in the order of loops, in loops of size 1, and in the name of the op. Derived entries follow all exact
entries, and the compiler's interpreter evaluates them like any other entry.
"""
