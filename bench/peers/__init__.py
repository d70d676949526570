"""Bots of other projects that do the same work, measured beside ours by the same callers."""
