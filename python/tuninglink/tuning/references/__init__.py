"""References: the expected outputs of a dispatch, from computations independent of the tuned code."""
