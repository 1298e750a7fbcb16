"""Results of tuning: trials, failures, reproducers, and the journal that keeps them."""
