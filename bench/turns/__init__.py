"""Measures turn-taking over recorded speech: delay against cut-ins, overlaps, echo and cost."""
