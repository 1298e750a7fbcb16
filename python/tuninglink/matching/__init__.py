"""What can be told about a whole spec: its conditions, what is never reached, and how to arrange it."""
