"""How many calls a server can take before callers feel it: callers at a rate, and their judge."""
