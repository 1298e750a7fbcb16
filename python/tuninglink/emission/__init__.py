"""Writers of specs for root ops: matchers, actions and entry points."""
