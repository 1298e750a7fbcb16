"""Writing specs for root ops: matchers that find them, and configurations."""
