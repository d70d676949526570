"""How English writing sounds: by example, and by what must hold for any text."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tts.english import ENGLISH
from tts.normalise import Said, heard, normalise, spoken


def say(text: str) -> str:
    return spoken(normalise(text, ENGLISH))


@pytest.mark.parametrize(
    ("written", "said"),
    [
        # times and hours
        ("At 10:30 or 8 a.m. tomorrow.", "At ten thirty or eight A.M. tomorrow."),
        ("10:05", "ten oh five"),
        ("9:00", "nine o'clock"),
        ("17:05", "five oh five P.M."),
        ("00:15", "twelve fifteen A.M."),
        ("8am-5pm", "eight A.M. to five P.M."),
        ("Mon-Fri 9-17", "Monday to Friday nine A.M. to five P.M."),
        ("Open 9-17", "Open nine A.M. to five P.M."),
        ("Sat 10-14, Sun closed", "Saturday ten A.M. to two P.M., Sun closed"),
        ("pages 9-17", "pages nine to seventeen"),
        ("the sun sat on Mon.", "the sun sat on Monday."),
        # dates and years
        ("a 2018 Tesla Model S", "a twenty eighteen Tesla Model S."),
        ("March 4, 2026", "March fourth, twenty twenty-six"),
        ("Jan. 5", "January fifth"),
        ("4 May", "the fourth of May"),
        ("on the 4th of May", "on the fourth of May"),
        ("2026-03-04", "March fourth twenty twenty-six"),
        ("3/14/2026", "March fourteenth twenty twenty-six"),
        ("14.03.2026", "March fourteenth twenty twenty-six"),
        ("the 1990s", "the nineteen nineties"),
        # money, measures, shares
        ("$1,249.50", "one thousand two hundred forty-nine dollars and fifty cents"),
        ("$1", "one dollar"),
        ("$0.99", "ninety-nine cents"),
        ("-$3", "minus three dollars"),
        ("$5 million", "five million dollars"),
        ("$5-$10", "five dollars to ten dollars"),
        ("20 €", "twenty euros"),
        ("£2.01", "two pounds and one penny"),
        ("12.5%", "twelve point five percent"),
        ("-5 °C", "minus five degrees Celsius"),
        ("72°F", "seventy-two degrees Fahrenheit"),
        ("10km at 20 mph", "ten kilometers at twenty miles per hour"),
        ("1 ft, 5 lbs", "one foot, five pounds"),
        ("1/2 or 3/4, 24/7", "one half or three quarters, twenty-four seven"),
        ("2½ cups", "two and a half cups"),
        ("1st, 22nd, 3rd", "first, twenty-second, third"),
        ("1,000,000 people", "one million people"),
        ("3.14", "three point one four"),
        # sign by sign
        ("AB12-XZ", "A. B. one two, X. Z."),
        ("7ABC123", "seven A. B. C. one two three"),
        ("(555) 012-3456", "five five five, zero one two, three four five six"),
        ("5550123456", "five five five, zero one two, three four five six"),
        ("555-0134", "five five five, zero one three four"),
        (
            "+44 20 7946 0958",
            "plus four four, two zero, seven nine four six, zero nine five eight",
        ),
        ("code 4711", "code four seven one one"),
        ("PIN: 0042", "PIN: zero zero four two"),
        ("your order number is 12-34", "your order number is one two, three four"),
        ("call 911", "call nine one one"),
        ("10 11 12", "ten eleven twelve"),
        ("S-i-t-i-l-l-e", "S., I., T., I., L., L., E."),
        ("C I L L E", "C. I. L. L. E."),
        (
            "jack.smith42@example-mail.co.uk",
            "jack dot smith forty-two at example dash mail dot co dot U. K.",
        ),
        ("https://parley.dev/docs", "parley dot dev slash docs"),
        ("www.example.com", "W. W. W. dot example dot com"),
        # models and names
        ("A4, F-150, RAV4, X5", "A. four, F. one fifty, Rav four, X. five"),
        ("a BMW, a CR-V, NASA", "a B. M. W., a C. R. V., NASA"),
        ("STOP, I said NO", "STOP, I said NO"),
        ("AT&T", "A. T. and T."),
        ("plan A, a plan", "plan A., a plan"),
        ("A man and I", "A man and I"),
        # short forms
        (
            "Dr. Smith, 12 Oak Dr. near St. Mary on Main St.",
            "Doctor Smith, twelve Oak Drive near Saint Mary on Main Street.",
        ),
        ("e.g. this, etc.", "for example this, et cetera."),
        ("Room no. 5? No. Yes.", "Room number five? No. Yes."),
        ("See you at 8 a.m. Bring it.", "See you at eight A.M.. Bring it."),
        ("the U.S. Army", "the U. S. Army"),
        # marks
        ("**Bold** _text_ and `code`", "Bold text and code"),
        ("Hello — really… (yes)", "Hello, really, yes,"),
        ('He said "go".', "He said go."),
        ("Great 👍", "Great"),
        ("R&D @ 50 + 5 = 55", "R. and D. at fifty plus five equals fifty-five"),
    ],
)
def test_it_is_said(written: str, said: str) -> None:
    assert say(written) == said


def pieces(text: str) -> list[tuple[str, int]]:
    return [(each.written, len(each.words)) for each in normalise(text, ENGLISH)]


def test_digits_keep_their_own_writing() -> None:
    assert pieces("Call 555-0134 now.") == [
        *(("Call", 1), ("5", 1), ("5", 1), ("5-", 1), ("0", 1), ("1", 1), ("3", 1), ("4", 1)),
        ("now.", 1),
    ]


def test_an_amount_is_one_piece() -> None:
    assert pieces("$12.50, please") == [("$12.50,", 5), ("please", 1)]


@pytest.mark.parametrize(
    ("words", "written"),
    [
        (0, ""),
        (1, "Call"),
        (3, "Call 55"),
        (4, "Call 555-"),
        (6, "Call 555-01"),
        (8, "Call 555-0134"),
        (9, "Call 555-0134 now."),
    ],
)
def test_what_was_heard_is_told_as_it_was_written(words: int, written: str) -> None:
    assert heard(normalise("Call 555-0134 now.", ENGLISH), words) == written


def test_half_an_amount_was_not_heard() -> None:
    said = normalise("It is $12.50 now", ENGLISH)
    assert heard(said, 4) == "It is"
    assert heard(said, 7) == "It is $12.50"


def joined(said: tuple[Said, ...]) -> str:
    """Put the writing together again."""
    return "".join(each.written if each.glued else f" {each.written}" for each in said)


SOUNDS_LIKE_TEXT = st.lists(
    st.one_of(
        st.sampled_from(
            [
                *("$", "€", "%", "-", "–", "—", "/", ":", ".", ",", "?", "!", "(", ")", " ", "  "),
                *(
                    "a.m.",
                    "p.m",
                    "Dr.",
                    "St.",
                    "no.",
                    "Mon",
                    "Fri",
                    "March",
                    "May",
                    "th",
                    "st",
                    "s",
                ),
                *(
                    "km",
                    "°C",
                    "@",
                    "www.",
                    "https://",
                    ".com",
                    "example",
                    "A",
                    "AB",
                    "I",
                    "x",
                    "X5",
                ),
                *(
                    "code",
                    "open",
                    "½",
                    "#",
                    "*",
                    "_",
                    "’",
                    "'",
                    "\n",
                    "\u00a0",
                    "+",
                    "&",
                    "…",
                    "S-",
                ),
            ]
        ),
        st.integers(0, 10**12).map(str),
        st.from_regex(r"[0-9]{1,4}[:/.,-][0-9]{1,4}", fullmatch=True),
        st.text(max_size=5),
    ),
    max_size=12,
).map("".join)


@given(SOUNDS_LIKE_TEXT)
@example("0/0 13:99 32.13.2000 99999999999999999999.9.9 $1,2,3 25pm 0am")
@example("²³ ٣٤ 五 Ⅷ ㍿ ﷺ")
@example("[word](/x/)")
def test_any_text_can_be_read(text: str) -> None:
    """Nothing raises, nothing of the writing is lost, and what has a sign has words."""
    said = normalise(text, ENGLISH)
    assert re.sub(r"\s+", "", joined(said)) == re.sub(r"\s+", "", text)
    if any(each.isalnum() for each in text):
        assert spoken(said)
    assert all(each.pause in ("", *".,;:!?") for each in said)
    assert heard(said, sum(len(each.words) for each in said)).split() == joined(said).split()
    # No digit is left for the voice to guess at.
    assert not re.search(r"[0-9]", spoken(said))


@given(SOUNDS_LIKE_TEXT, st.integers(0, 60))
def test_more_words_are_more_writing(text: str, words: int) -> None:
    said = normalise(text, ENGLISH)
    assert heard(said, words + 1).startswith(heard(said, words))
