"""What may be written of personal data, and that secrets never are."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.log_events import Mark
from gateway.observe.privacy import HIDDEN, Privacy

SAID = {
    "from": "+12065550142",
    "to": "sip:anna@example.com",
    "text": "My number is 555 0142, or jack@example.com",
    "heard_text": "My number",
    "keys": "4711#",
    "arguments": {"name": "Jack", "year": 2018, "sure": True, "more": ["Siciliy", None]},
    "evidence": "words: wait, it's 555 0142, 0.82 s",
    "stages": {"transcript": 0.2},
    "turn": 3,
    "response": 0.66,
}

MARKS: dict[str, Mark] = {
    "from": "number",
    "to": "number",
    "text": "words",
    "heard_text": "words",
    "keys": "keys",
    "arguments": "tree",
    "evidence": "evidence",
}


def test_nothing_is_hidden_unless_asked() -> None:
    assert Privacy("none").clean(SAID, MARKS) == SAID


def test_partial_hides_digits_addresses_and_keys_and_leaves_words() -> None:
    assert Privacy("partial").clean(SAID, MARKS) == {
        "from": "+•••••••••42",
        "to": "•••:••••@•••••••.•••",
        "text": "My number is ••• ••••, or ••••••••••••••••",
        "heard_text": "My number",
        "keys": "•••••",
        "arguments": {"name": "Jack", "year": 2018, "sure": True, "more": ["Siciliy", None]},
        "evidence": "words: wait, it's ••• ••••, 0.82 s",
        "stages": {"transcript": 0.2},
        "turn": 3,
        "response": 0.66,
    }


def test_full_hides_everything_personal_and_keeps_the_shape() -> None:
    assert Privacy("full").clean(SAID, MARKS) == {
        "from": "•••",
        "to": "•••",
        "text": "[7 words]",
        "heard_text": "[2 words]",
        "keys": "•••••",
        "arguments": {
            "name": "[1 word]",
            "year": "•",
            "sure": True,
            "more": ["[1 word]", None],
        },
        "evidence": "words: [4 words], 0.82 s",
        "stages": {"transcript": 0.2},
        "turn": 3,
        "response": 0.66,
    }


MARKED: st.SearchStrategy[Mark] = st.sampled_from(["number", "keys", "words", "tree"])
JSON = st.recursive(
    st.text(st.characters(categories=["L", "N"]), min_size=3, max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.just("k"), inner, max_size=2),
    max_leaves=6,
)


def leaves(value: object) -> list[str]:
    match value:
        case dict():
            return [leaf for inner in value.values() for leaf in leaves(inner)]
        case list():
            return [leaf for inner in value for leaf in leaves(inner)]
        case _:
            return [str(value)]


@given(MARKED, JSON)
def test_no_text_of_a_marked_field_survives_full_masking(mark: Mark, value: object) -> None:
    written = leaves(Privacy("full").clean({"a": value}, {"a": mark}))
    assert not set(leaves(value)) & set(written)


def test_fields_named_like_secrets_are_hidden_at_any_depth() -> None:
    fields = {"auth_token": "abc", "headers": {"Authorization": "x", "Accept": "y"}, "api_key": ""}
    assert Privacy().clean(fields) == {
        "auth_token": HIDDEN,
        "headers": {"Authorization": HIDDEN, "Accept": "y"},
        "api_key": "",
    }


def test_token_counts_are_no_secrets() -> None:
    usage = {
        "input_tokens": 812,
        "input_token_details": {"text_tokens": 119, "cached_tokens_details": {"audio_tokens": 3}},
    }
    assert Privacy().clean(usage) == usage
    hidden = {"input_token_details": {"session_token": HIDDEN}, "auth_token_details": HIDDEN}
    told = {"input_token_details": {"session_token": "abc"}, "auth_token_details": "abc"}
    assert Privacy().clean(told) == hidden


def test_what_looks_like_a_secret_is_hidden_wherever_it_stands() -> None:
    reason = (
        "401 for sk-proj-abcdefghijklmnopqrstuv with Bearer abcdefghijklmnop.q "
        "at wss://host/stream?token=xyz&agent=a and eyJhbGciOiJI.eyJzdWIiOiIx.c2ln"
    )
    assert Privacy().clean({"reason": reason, "deep": [{"a": reason}]}) == {
        "reason": f"401 for {HIDDEN} with {HIDDEN} "
        f"at wss://host/stream?token={HIDDEN}&agent=a and {HIDDEN}",
        "deep": [
            {
                "a": f"401 for {HIDDEN} with {HIDDEN} "
                f"at wss://host/stream?token={HIDDEN}&agent=a and {HIDDEN}"
            }
        ],
    }


def test_known_secrets_are_hidden_in_any_text() -> None:
    privacy = Privacy(secrets=["0123456789abcdef0123456789abcdef", "", "short"])
    assert privacy.clean({"reason": "bad 0123456789abcdef0123456789abcdef! short"}) == {
        "reason": f"bad {HIDDEN}! short"
    }


def test_call_ids_are_no_secrets() -> None:
    ids = {"stream": "MZ0123456789abcdef0123456789abcdef", "reason": "CA" + "ab" * 16}
    assert Privacy("full").clean(ids) == ids


@pytest.mark.parametrize("told", ["length, 0.82 s", "key", "turn", "hang-up"])
def test_a_judgement_that_quotes_nobody_stays(told: str) -> None:
    assert Privacy("full").clean({"a": told}, {"a": "evidence"}) == {"a": told}


@given(st.text(min_size=1), st.sampled_from(["words", "answer"]))
def test_nothing_that_a_judgement_quotes_survives_full_masking(words: str, kind: str) -> None:
    judged = Privacy("full").clean({"a": f"{kind}: {words}, 0.50 s"}, {"a": "evidence"})["a"]
    assert re.fullmatch(kind + r": (\[\d+ words?\])?, 0\.50 s", str(judged))
