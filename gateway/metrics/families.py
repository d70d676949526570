"""Every metric there is: its name, kind, labels and meaning; docs/observability.md is made of it.

No label holds anything personal. Labels that are named under `open` take values that an operator,
a model or a far end chose, and are bounded by the series that keep them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["counter", "gauge", "histogram"]


@dataclass(frozen=True, slots=True)
class Family:
    """One metric, with all its labels."""

    name: str
    kind: Kind
    said: str
    labels: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    "those of the labels whose values nobody can count beforehand"
    buckets: tuple[float, ...] = ()


RESPONSE = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0)
"""People leave 0.2 s between turns; an answer after 0.8 s seems slow, one after 2 s is none."""
STAGE = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1.0, 2.0, 5.0)
STOP = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.75, 1.0, 2.0)
"""A voice must be told from a cough before the agent stops: 0.3 s at best."""
ERROR = (0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.1, 0.2, 0.5)
"""From a sample to half a second; 0.02 s is a frame."""
COMPUTE = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1.0)
TOOL = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
LENGTH = (1.0, 5.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0)
JITTER = (0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2)
SHARE = (0.0, 0.001, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2)
"""Concealment hides about a hundredth; five of them are heard by everybody."""
ROUND_TRIP = (0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0)
MOS = (1.0, 2.0, 2.5, 3.0, 3.3, 3.6, 3.8, 4.0, 4.2, 4.4)
"""Under 3.6 many are dissatisfied (ITU-T G.107, annex B)."""

# --- calls ---------------------------------------------------------------------------------------

STARTED = Family(
    "parley_calls_started_total", "counter", "calls that were answered",
    ("line", "direction", "agent"), ("agent",),
)  # fmt: skip
ENDED = Family(
    "parley_calls_ended_total", "counter", "calls that are over, by who ended them",
    ("line", "agent", "ended_by"), ("agent",),
)  # fmt: skip
REFUSED = Family(
    "parley_calls_refused_total", "counter", "calls that were not taken, by the log's cause",
    ("line", "cause"), ("cause",),
)  # fmt: skip
FAILED = Family(
    "parley_calls_failed_total", "counter", "placed calls that were not answered",
    ("line", "outcome"), ("outcome",),
)  # fmt: skip
CUT = Family("parley_calls_cut_total", "counter", "calls that a drain ended before they were over")
LOST = Family(
    "parley_calls_lost_total", "counter", "calls of a process that was killed, ended by this one"
)
CALL_SECONDS = Family(
    "parley_call_seconds", "histogram", "length of calls", ("line",), buckets=LENGTH
)
HOLDS = Family(
    "parley_holds_total", "counter", "times nobody was at the caller's end, by why", ("why",)
)
TRANSFERS = Family(
    "parley_transfers_total", "counter", "transfers the far side answered, or the agent's file "
    "does not allow", ("outcome",),
)  # fmt: skip
ACTIVE = Family("parley_calls_active", "gauge", "calls in progress", ("line",))
LIMIT = Family("parley_calls_limit", "gauge", "calls that may be in progress at once")
TAKING = Family("parley_taking_calls", "gauge", "1: one more call would be taken now")
DRAINING = Family("parley_draining", "gauge", "1: no more calls are taken, the process leaves")

# --- turns ---------------------------------------------------------------------------------------

TURNS = Family(
    "parley_turns_total", "counter", "callers' turns, by what decided that they were over",
    ("agent", "why"), ("agent",),
)  # fmt: skip
RESPONSES = Family(
    "parley_response_seconds", "histogram",
    "from the caller's last voiced sample to the first sample of the answer at their ear",
    ("line", "agent"), ("agent",), RESPONSE,
)  # fmt: skip
STAGES = Family(
    "parley_stage_seconds", "histogram", "the intervals that add up to a response: `end_of_turn`, "
    "`transcript`, `first_token`, `first_audio`, `line`", ("stage",), buckets=STAGE,
)  # fmt: skip
STOPS = Family(
    "parley_stop_delay_seconds", "histogram",
    "from the first voiced sample of a caller who cuts in until nothing more left here",
    ("line",), buckets=STOP,
)  # fmt: skip
HEARD_ERROR = Family(
    "parley_heard_error_seconds", "histogram",
    "bound of the error in how much of a cut utterance was heard", ("basis",), buckets=ERROR,
)  # fmt: skip
INTERRUPTIONS = Family(
    "parley_interruptions_total", "counter", "utterances that were cut, by what decided it",
    ("evidence",), ("evidence",),
)  # fmt: skip
WENT_ON = Family(
    "parley_went_on_total", "counter", "sounds of a caller over which the agent went on",
    ("kind",), ("kind",),
)  # fmt: skip
DRAFTS = Family(
    "parley_drafts_total", "counter", "answers begun before the turn was confirmed", ("outcome",)
)
DETECTOR_QUEUE = Family(
    "parley_turn_detector_wait_seconds", "histogram",
    "how long a turn's last question waited for its batch", buckets=COMPUTE,
)  # fmt: skip
DETECTOR = Family(
    "parley_turn_detector_seconds", "histogram", "how long the turn detector took",
    buckets=COMPUTE,
)  # fmt: skip
DETECTOR_LATE = Family(
    "parley_turn_detector_late_total", "counter", "turns whose answer did not come in time"
)

# --- models and tools ----------------------------------------------------------------------------

TOOLS = Family(
    "parley_tools_total", "counter", "tools that were asked for, by what came of it",
    ("tool", "outcome"), ("tool",),
)  # fmt: skip
TOOL_SECONDS = Family(
    "parley_tool_seconds", "histogram", "how long tools ran", ("tool",), ("tool",), TOOL
)
FAULTS = Family(
    "parley_faults_total", "counter", "parts that failed; the call went on where it could",
    ("part",), ("part",),
)  # fmt: skip
FALLBACKS = Family(
    "parley_fallbacks_total", "counter", "times what answers was given up, by what came next "
    "(`none`: there was nothing)", ("next",), ("next",),
)  # fmt: skip
TOKENS = Family(
    "parley_tokens_total", "counter", "what models counted: `input`, `output`, `cached` (of the "
    "input)", ("agent", "kind"), ("agent",),
)  # fmt: skip
MODEL_JOBS = Family(
    "parley_model_jobs_total", "counter", "jobs of the embedded models that ran", ("model",)
)
MODEL_WAIT = Family(
    "parley_model_wait_seconds_total", "counter", "how long they waited for a thread, in all",
    ("model",),
)  # fmt: skip
MODEL_RUN = Family(
    "parley_model_run_seconds_total", "counter", "how long they ran, in all", ("model",)
)
PARTS = Family("parley_part_well", "gauge", "0: what `/healthz` says is not well", ("part",))

# --- sound ---------------------------------------------------------------------------------------

JITTERS = Family(
    "parley_jitter_seconds", "histogram", "interarrival jitter of a call's sound at its end",
    ("line",), buckets=JITTER,
)  # fmt: skip
LOSS = Family(
    "parley_packet_loss_ratio", "histogram", "share of a call's packets that came late or not",
    ("line",), buckets=SHARE,
)  # fmt: skip
FAR_LOSS = Family(
    "parley_far_packet_loss_ratio", "histogram", "share the far side last said it lost of ours",
    ("line",), buckets=SHARE,
)  # fmt: skip
ROUND_TRIPS = Family(
    "parley_round_trip_seconds", "histogram", "round trip to the far side at a call's end",
    ("line",), buckets=ROUND_TRIP,
)  # fmt: skip
OPINION = Family(
    "parley_mos", "histogram", "estimated mean opinion score of what was heard of a caller",
    ("line",), buckets=MOS,
)  # fmt: skip
PACKETS = Family(
    "parley_packets_total", "counter", "packets of sound of calls that are over: `received`, "
    "`lost`, `late`", ("line", "state"),
)  # fmt: skip
CONCEALED = Family(
    "parley_concealed_seconds_total", "counter", "sound that was made up for what did not come",
    ("line",),
)  # fmt: skip

# --- the process ---------------------------------------------------------------------------------

TICKS = Family("parley_ticks_total", "counter", "frames' times that came round, 50 a second")
LATE_TICKS = Family("parley_late_ticks_total", "counter", "of these, more than 5 ms late")
STOOD = Family("parley_loop_stood_total", "counter", "times all calls stood still", ("kind",))
STOOD_SECONDS = Family(
    "parley_loop_stood_seconds_total", "counter", "how long they stood, in all", ("kind",)
)
LOG_DROPPED = Family(
    "parley_log_dropped_lines_total", "counter", "lines that came faster than the disk took them"
)
LOG_LOST = Family("parley_log_lost_lines_total", "counter", "lines the disk refused for too long")
LINE_READY = Family(
    "parley_line_ready", "gauge", "0: something about this way in keeps calls away", ("line",)
)
UNREGISTERED = Family(
    "parley_registrations_lacking", "gauge", "accounts that are not registered as they should be",
    ("line",),
)  # fmt: skip
CERTIFICATE = Family(
    "parley_certificate_expiry_timestamp_seconds", "gauge", "when a certificate runs out",
    ("setting",),
)  # fmt: skip
DISK = Family(
    "parley_disk_free_bytes", "gauge", "what may still be written, by the folder's setting",
    ("setting",),
)  # fmt: skip
WEBHOOKS_WAITING = Family(
    "parley_webhook_events_waiting", "gauge", "events on the disk that nobody has taken yet"
)
WEBHOOKS = Family(
    "parley_webhook_events_total", "counter", "events for other systems: `taken`, `dropped`; and "
    "attempts that `failed`", ("outcome",),
)  # fmt: skip
BUS_WAITING = Family(
    "parley_bus_events_waiting", "gauge", "events on the disk that the bus does not have yet"
)
BUS = Family(
    "parley_bus_events_total", "counter", "events for the bus: `taken`, `dropped`; and attempts "
    "that `failed`", ("outcome",),
)  # fmt: skip
BUS_UP = Family("parley_bus_up", "gauge", "1 while the bus is there")
CPU = Family(
    "parley_thread_cpu_seconds_total", "counter", "processor time by the thread's name",
    ("thread",), ("thread",),
)  # fmt: skip
THREADS = Family("parley_threads", "gauge", "threads that run")
TASKS = Family("parley_tasks", "gauge", "tasks of the loop")
SOCKETS = Family("parley_sockets", "gauge", "sockets that are open")
FILES = Family("process_open_fds", "gauge", "files that are open, sockets among them")
FILES_MOST = Family("process_max_fds", "gauge", "files that may be open")
MEMORY = Family("process_resident_memory_bytes", "gauge", "memory in use")
CPU_ALL = Family("process_cpu_seconds_total", "counter", "processor time of the whole process")
BEGAN = Family("process_start_time_seconds", "gauge", "when the process began")
BUILD = Family("parley_build_info", "gauge", "always 1", ("version", "python", "log_schema"))

FAMILIES: tuple[Family, ...] = tuple(
    each for each in tuple(globals().values()) if isinstance(each, Family)
)
"""All of them, in the order in which the page tells them."""
