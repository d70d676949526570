"""What a frame of a call costs: `python -m bench.frames`."""
