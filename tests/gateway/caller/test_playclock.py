"""The far side plays in order and in real time, and forgets when told to."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gateway.caller.playclock import Piece, PlayClock


def test_sound_is_heard_at_once_and_then_in_order() -> None:
    clock = PlayClock()
    clock.push(b"a" * 160, 100)
    clock.push(b"b" * 160, 120)
    assert clock.advance(100) == ([], [])
    assert clock.advance(300) == ([Piece(100, b"a" * 160), Piece(260, b"b" * 40)], [])
    assert clock.ahead(300) == 120
    assert clock.advance(1000) == ([Piece(300, b"b" * 120)], [])
    clock.push(b"c", 1000)
    assert clock.advance(1001) == ([Piece(1000, b"c")], [])


def test_marks_are_passed_when_what_is_before_them_was_heard() -> None:
    clock = PlayClock()
    assert clock.mark("at once", 5) == 5
    assert clock.advance(5) == ([], ["at once"])
    clock.push(b"a" * 160, 10)
    assert clock.mark("first", 10) == 170
    clock.push(b"b" * 160, 10)
    assert clock.mark("second", 10) == 330
    assert clock.advance(169)[1] == []
    assert clock.advance(170)[1] == ["first"]
    assert clock.advance(400)[1] == ["second"]


def test_clear_forgets_and_gives_all_marks_back() -> None:
    clock = PlayClock()
    clock.push(b"a" * 160, 0)
    clock.mark("one", 0)
    clock.push(b"b" * 160, 0)
    clock.mark("two", 0)
    heard, _ = clock.advance(100)
    assert clock.clear(100) == ["one", "two"]
    assert heard == [Piece(0, b"a" * 100)]
    clock.push(b"c" * 10, 105)
    assert clock.advance(1000) == ([Piece(105, b"c" * 10)], [])


def test_two_bytes_a_sample() -> None:
    clock = PlayClock(2)
    clock.push(b"ab" * 160, 0)
    assert clock.advance(100) == ([Piece(0, b"ab" * 100)], [])
    assert clock.advance(160) == ([Piece(100, b"ab" * 60)], [])


moves = st.lists(
    st.one_of(
        st.tuples(st.just("push"), st.integers(0, 400)),
        st.tuples(st.just("mark"), st.just(0)),
        st.tuples(st.just("advance"), st.integers(0, 400)),
        st.tuples(st.just("clear"), st.just(0)),
    ),
    max_size=60,
)


@given(moves)
def test_heard_and_cleared_and_waiting_is_all_that_came(story: list[tuple[str, int]]) -> None:
    clock = PlayClock()
    now = pushed = heard = cleared = marks = passed = 0
    last = 0
    for move, size in story:
        match move:
            case "push":
                clock.push(bytes(size), now)
                pushed += size
            case "mark":
                clock.mark(str(marks), now)
                marks += 1
            case "advance":
                now += size
            case _:
                pass
        pieces, names = clock.advance(now)
        for piece in pieces:
            assert piece.start >= last
            last = piece.start + len(piece.payload)
            assert last <= now
            heard += len(piece.payload)
        assert names == [str(n) for n in range(passed, passed + len(names))]
        passed += len(names)
        if move == "clear":
            cleared += clock.ahead(now)
            passed += len(clock.clear(now))
            assert clock.ahead(now) == 0
    assert pushed == heard + cleared + clock.ahead(now)
