"""Who is listened to."""

from __future__ import annotations

from gateway.lines.sip.transport.guard import MAX_SOURCES, Guard


def test_only_allowed_networks_are_heard() -> None:
    it = Guard(["203.0.113.0/24", "2001:db8::/32"])
    assert it.admits("203.0.113.9", 0.0)
    assert it.admits("::ffff:203.0.113.9", 0.0)
    assert it.admits("2001:db8::5", 0.0)
    assert not it.admits("198.51.100.1", 0.0)
    assert not it.admits("nonsense", 0.0)
    assert it.dropped == 2


def test_without_networks_everybody_is_heard() -> None:
    assert Guard().admits("198.51.100.1", 0.0)


def test_a_flood_from_one_source_does_not_drown_others() -> None:
    it = Guard(rate=10.0, burst=20.0)
    taken = sum(it.admits("198.51.100.1", 0.0) for _ in range(1000))
    assert taken == 20
    assert it.admits("198.51.100.2", 0.0)
    assert sum(it.admits("198.51.100.1", 1.0) for _ in range(100)) == 10


def test_what_is_remembered_is_bounded() -> None:
    it = Guard(["0.0.0.0/0"])
    for number in range(MAX_SOURCES + 100):
        it.admits(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}", 0.0)
    assert len(it._buckets) == len(it._known) == MAX_SOURCES


def test_connections_of_one_source_are_counted() -> None:
    it = Guard(connections=2)
    assert it.connected("198.51.100.1")
    assert it.connected("198.51.100.1")
    assert not it.connected("198.51.100.1")
    it.disconnected("198.51.100.1")
    assert it.connected("198.51.100.1")
    for _ in range(3):
        it.disconnected("198.51.100.1")
    assert not it._open
