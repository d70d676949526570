"""Measures whole calls over real sockets: `python -m bench.calls response|cutins|load|soak`."""
