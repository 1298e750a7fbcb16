"""Scheduling: budgets, exploration of candidates, and where the time of a run goes."""
