"""Ranges of sizes of dynamic dispatches, each with code and a configuration of its own."""
