"""Reports of tuning: the trials, the winners and their speedups."""
