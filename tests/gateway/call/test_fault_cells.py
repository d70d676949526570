"""Twenty places where foreign code or data enters, by ten kinds of fault: what is tried where.

Each cell names a test that is there, a reason why it cannot exist, or stands in `UNTRIED`. Cells of
the tests of call and process are tried beside a neighbour's call; the others concern threads and
processes that no call waits for, and are tried at the part alone.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field

import pytest

from tests.gateway.call import test_fault_matrix as parts
from tests.gateway.call import test_fault_matrix_tools as tools
from tests.gateway.process import test_fault_peers as peers
from tests.gateway.process import test_fault_places as places
from tests.gateway.webhooks import test_wrong_answers

KINDS = (
    "raise", "base", "hang", "block", "flood", "huge", "garbage", "close", "disorder", "disk",
)  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """One place: which test tries which kinds there, and why others cannot be."""

    tried: dict[str, tuple[str, ...]]
    "kinds by the test that tries them"
    cannot: dict[str, str] = field(default_factory=dict)
    "kinds, separated by spaces, with the reason"

    def cells(self) -> list[str]:
        """Return every kind that is tried or cannot be, as often as it is named."""
        names = [kind for kinds in self.tried.values() for kind in kinds]
        return names + [kind for kinds in self.cannot for kind in kinds.split()]


def kinds_of(names: object) -> tuple[str, ...]:
    """Return the kinds of fault among the names that a test's own table has."""
    found = [getattr(name, "__name__", str(name)).rpartition("_")[2] for name in names]  # type: ignore[attr-defined]
    return tuple(dict.fromkeys(kind for kind in found if kind in KINDS))


def of_part(*names: str) -> tuple[str, ...]:
    return kinds_of([kind for place, kind in parts.CELLS if place in names])


CALL = "tests.gateway.call"
PROCESS = "tests.gateway.process"
MATRIX = f"{CALL}.test_fault_matrix:test_a_fault_stays_where_it_happens"
DATA = f"{CALL}.test_fault_matrix:test_what_is_wrong_rather_than_missing_costs_no_call"
OURS = f"{CALL}.test_fault_matrix:test_what_is_nobodys_fault_but_ours_ends_its_call_with_a_word"
TOOLS = f"{CALL}.test_fault_matrix_tools"
WATCHDOG = f"{PROCESS}.test_watchdog:test_code_that_blocks_the_loop_is_named"
OBSERVE = "tests.gateway.observe"
JOURNAL = f"{OBSERVE}.test_journal"
MESSAGES = f"{OBSERVE}.test_messages"
BATCH = "tests.inference.test_batcher"
RECORDING = "tests.media.test_recording"

SERVER = "it is another process's: what it has is seen as an answer that fails, hangs or closes"
PEER = "a peer sends, is silent or leaves; it raises nothing, keeps no thread and has no disk here"
BYTES = "data runs nothing, and reading it writes nothing"
ONCE = "it is asked and answers once"

OWN = ("raise", "base", "close", "disk")


def part(name: str, *within: str) -> Entry:
    """Return a part of a cascade, tried in virtual time."""
    tried = of_part(*(f"{name} {where}" for where in within))
    return Entry({MATRIX: tried, DATA: kinds_of(parts.DATA_KINDS), WATCHDOG: ("block",)})


def peer(test: str, table: object, *more: str) -> Entry:
    """Return a place where a peer's data enters, tried in a running gateway."""
    return Entry({test: (*kinds_of(table), *more)}, {"raise base block disk": PEER})


PLACES = {
    "language model": part("model", "before", "within", "after"),
    "voice": part("voice", "before", "within", "after"),
    "recogniser": part("recogniser", "serves", "feeds", "writes"),
    "voice activity": Entry(
        {
            OURS: OWN,
            f"{BATCH}:test_an_answer_that_does_not_come_in_time_is_refused_and_its_work_dropped": (
                "hang",
                "block",
            ),
            f"{BATCH}:test_a_model_that_answers_too_little_has_failed": ("garbage",),
        },
        {"flood huge disorder": "its windows are cut here, of one size, in the order of the sound"},
    ),
    "recording": Entry(
        {
            OURS: ("raise", "base", "close"),
            f"{PROCESS}.test_fault_places:test_disks": ("disk",),
            f"{RECORDING}:test_when_too_much_waits_pieces_are_dropped_and_counted": (
                "hang",
                "block",
                "flood",
            ),
            f"{RECORDING}:test_a_long_silence_costs_no_memory_and_keeps_the_alignment": ("huge",),
            f"{RECORDING}:test_a_broken_position_is_dropped": ("garbage",),
            f"{RECORDING}:test_the_file_is_what_a_plain_array_would_be": ("disorder",),
        }
    ),
    "call log": Entry(
        {
            f"{PROCESS}.test_fault_places:test_disks": ("disk",),
            f"{JOURNAL}:test_what_a_failing_disk_refused_is_written_when_it_can_be": ("raise",),
            f"{JOURNAL}:test_a_full_queue_drops_and_says_how_many": ("hang", "block", "flood"),
            f"{JOURNAL}:test_a_line_has_a_limit_and_says_what_it_cut": ("huge",),
            f"{JOURNAL}:test_what_json_does_not_know_is_written_all_the_same": ("garbage",),
            f"{OBSERVE}.test_files:test_a_folder_that_others_removed_is_made_again": ("close",),
            f"{OBSERVE}.test_files:test_two_writers_lose_nothing_when_either_renames": (
                "disorder",
            ),
        },
        {"base": "its thread runs the system's calls for files, which raise OSError"},
    ),
    "Twilio's stream": peer(f"{PROCESS}.test_fault_places:test_streams", places.SENT),
    "SIP": peer(f"{PROCESS}.test_fault_peers:test_sip", peers.SIP, "hang"),  # as it closes: no word
    "RTP": peer(f"{PROCESS}.test_fault_peers:test_rtp", peers.RTP),
    "page": peer(f"{PROCESS}.test_fault_peers:test_pages", peers.PAGE),
    "HTTP port": peer(f"{PROCESS}.test_fault_peers:test_the_http_port", peers.HTTP),
    "Python tool": Entry(
        {f"{TOOLS}:test_python_tools": kinds_of(tools.PYTHON)}, {"disorder": ONCE}
    ),
    "isolated tool": Entry(
        {f"{TOOLS}:test_isolated_tools": kinds_of(tools.PYTHON)}, {"disorder": ONCE}
    ),
    "HTTP tool": Entry(
        {f"{TOOLS}:test_http_tools": kinds_of(tools.HTTP)}, {"base block disk": SERVER}
    ),
    "MCP tool": Entry({f"{TOOLS}:test_mcp_tools": kinds_of(tools.MCP_KINDS)}, {"disk": SERVER}),
    "agent's code": Entry(
        {f"{PROCESS}.test_fault_places:test_files": kinds_of(places.WRONG)},
        {"hang": "importing is not asynchronous: it blocks", "disk": BYTES},
    ),
    "agent's file": Entry(
        {
            f"{PROCESS}.test_fault_places:test_files": ("garbage", "huge", "disorder"),
            "tests.gateway.agents.test_library:test_agents_come_and_go": ("close",),
        },
        {"raise base block flood disk": BYTES},
    ),
    "standard error": Entry(
        {
            f"{MESSAGES}:test_a_reader_that_stalls_stops_nobody_and_learns_how_much_it_missed": (
                "hang",
                "block",
            ),
            f"{MESSAGES}:test_a_reader_that_is_gone_costs_the_message_alone": ("close", "raise"),
            f"{MESSAGES}:test_a_flood_of_one_kind_is_held_back_and_counted_and_the_others_pass": (
                "flood",
            ),
            f"{MESSAGES}:test_a_text_without_end_is_cut_in_its_middle": ("huge",),
        },
        {"base garbage disorder": "it is written to by the system's calls, and never read"},
    ),
    "webhook receiver": Entry(
        {
            "tests.gateway.webhooks.test_wrong_answers"
            ":test_events_come_although_an_answer_was_wrong": kinds_of(test_wrong_answers.KINDS),
        },
        {"base block disk": SERVER},
    ),
    "bus": Entry(
        {
            "tests.gateway.bus.test_bus"
            ":test_every_event_comes_once_and_in_order_although_the_server_is_killed": ("close",),
            "tests.gateway.bus.test_bus"
            ":test_what_a_stranger_says_on_the_bus_is_answered_and_breaks_nothing": (
                "garbage",
                "disorder",
            ),
        },
        {"base block disk": SERVER},
    ),
}

UNTRIED = {
    "agent's file": {"hang"},
    "standard error": {"disk"},
    "bus": {"raise", "hang", "flood", "huge"},
}
"""Cells that no test tries yet; whoever adds one takes it from here."""


def test_there_are_twenty_places() -> None:
    assert len(PLACES) == 20


@pytest.mark.parametrize("name", PLACES)
def test_every_cell_is_tried_or_says_why_it_cannot_be(name: str) -> None:
    entry = PLACES[name]
    named = entry.cells()
    assert sorted(set(named)) == sorted(set(KINDS) - UNTRIED.get(name, set()))
    impossible = {kind for kinds in entry.cannot for kind in kinds.split()}
    assert not impossible & {kind for kinds in entry.tried.values() for kind in kinds}


@pytest.mark.parametrize("test", sorted({test for each in PLACES.values() for test in each.tried}))
def test_a_test_that_is_named_is_there(test: str) -> None:
    module, _, name = test.partition(":")
    assert callable(getattr(importlib.import_module(module), name))
