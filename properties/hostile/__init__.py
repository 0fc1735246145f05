"""Input that nobody should give, for every argument of every public call."""
