"""A bad network is bad in the same way each time, and keeps frames in order."""

from __future__ import annotations

from gateway.caller.network import Network, NetworkSettings


def fates(settings: NetworkSettings, frames: int = 1000) -> list[float | None]:
    network = Network(settings)
    return [network.arrives(n * 0.02, silent=n % 2 == 0) for n in range(frames)]


def test_a_good_network_takes_all_at_once() -> None:
    assert fates(NetworkSettings()) == [n * 0.02 for n in range(1000)]


def test_loss_is_as_asked_and_repeats() -> None:
    lost = [fate is None for fate in fates(NetworkSettings(loss=0.1))]
    assert 60 < sum(lost) < 140
    assert lost == [fate is None for fate in fates(NetworkSettings(loss=0.1))]
    assert lost != [fate is None for fate in fates(NetworkSettings(loss=0.1, seed=2))]


def test_jitter_delays_in_order() -> None:
    arrivals = [fate for fate in fates(NetworkSettings(jitter=0.05)) if fate is not None]
    assert len(arrivals) == 1000
    assert arrivals == sorted(arrivals)
    delays = [arrival - n * 0.02 for n, arrival in enumerate(arrivals)]
    assert min(delays) >= 0
    assert 0.04 < max(delays) <= 0.05 + 1e-9


def test_silence_is_not_sent_where_it_is_dropped() -> None:
    found = fates(NetworkSettings(drop_silent=True))
    assert [fate is None for fate in found] == [n % 2 == 0 for n in range(1000)]
