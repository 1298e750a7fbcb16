"""References: what a dispatch should compute, from computations that are independent of the tuned code."""
