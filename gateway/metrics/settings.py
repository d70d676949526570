"""What the operator decides about metrics."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class MetricsSettings:
    """What Prometheus reads at `/metrics`."""

    enabled: bool = True
    "whether there is such a path; it opens to the owner's token and to the one below alone"
    token: str = field(default="", repr=False, metadata={"env": "PARLEY_METRICS_TOKEN"})
    "what a scraper shows as a bearer token; at least 24 characters"

    def problem(self) -> str:
        """Return what is wrong with the token; empty: nothing."""
        if self.token and len(self.token) < SHORTEST:
            return f"PARLEY_METRICS_TOKEN has fewer than {SHORTEST} characters: it can be guessed"
        return ""


SHORTEST = 24
