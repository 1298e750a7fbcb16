"""Sets of compiler flags as candidates of a whole program: the list, their compilation and their comparison."""
