"""Scenarios: what a caller says, and what an agent must say and do, in files."""
