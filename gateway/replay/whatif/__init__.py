"""Runs recorded calls again with other settings, and says what would have differed."""
