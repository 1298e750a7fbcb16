"""What matchers match: conditions, subsumption, overlap, indexes, pruning."""
