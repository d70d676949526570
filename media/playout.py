"""The heard-ledger: what waits to be played, what left, and what the caller has heard of it."""
