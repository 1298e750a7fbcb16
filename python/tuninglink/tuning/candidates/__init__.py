"""Candidates of tasks: search spaces, given configurations, templates, and their compilation."""
