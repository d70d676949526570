"""Random faults over calls on all lines: `python -m bench.faults`."""
