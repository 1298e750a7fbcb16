"""The tuner: dispatches of a program, candidates, trials, winners, and a spec that holds them."""
