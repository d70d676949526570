"""Calls held and journaled in virtual time, run again, and held anew with other settings."""
