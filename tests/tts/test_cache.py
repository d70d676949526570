"""How much sound is kept."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tts.cache import SoundCache
from tts.sound import Sound, SpokenWord


def sound(size: int) -> Sound:
    return Sound(bytes(size))


def test_what_was_not_used_for_longest_goes_first() -> None:
    cache = SoundCache(300)
    for key in "abc":
        cache.put(key, sound(100))
    cache.get("a")
    cache.put("d", sound(100))
    assert [key for key in "abcd" if cache.get(key)] == ["a", "c", "d"]


def test_words_count_too() -> None:
    words = tuple(SpokenWord("word", 0, 1) for _ in range(10))
    cache = SoundCache(1000)
    cache.put("a", Sound(bytes(10), words))
    assert cache.get("a") is None
    assert cache.bytes == 0


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 150)), max_size=40))
def test_it_never_keeps_more_than_it_may(puts: list[tuple[int, int]]) -> None:
    cache = SoundCache(200)
    newest: dict[int, Sound] = {}
    for key, size in puts:
        newest[key] = sound(size)
        cache.put(key, newest[key])
        kept = [found for each in newest if (found := cache.get(each)) is not None]
        assert cache.bytes == sum(len(each.pcm) for each in kept) <= 200
        assert len(cache) == len(kept)
        assert cache.get(key) is newest[key]
    for key in newest:
        assert cache.get(key) in (None, newest[key])
