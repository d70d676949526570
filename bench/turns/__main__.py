"""Measures turn-taking over recorded speech, against plain silence timers.

    python -m bench.turns [FOLDER] [--out OUT]

FOLDER holds `manifest.csv` and its recordings; without it, `PARLEY_SPEECH`, or the few recordings
that come with the project.
All is heard through the telephone's band and mu-law; OUT gets the tables, a JSON file and a plot.
Two runs give the same figures, but for costs.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from bench.turns import dictation, edges, ends, noise, overlaps, report
from bench.turns.fit import held_out
from bench.turns.hearing import Memory
from bench.turns.plot import Point, Sides, draw
from bench.turns.recordings import Recording, load, scored
from bench.turns.spans import Budgets, budgets, spans
from gateway.commands.shared.offline_models import ears
from inference.runtime import Runtime
from turn.offline import Ears
from turn.profile import DEFAULT, Profile

GOALS = (Point(0.40, 0.08), None, Point(1.60, 0.08))
"""Median and 95th percentile of the delay, and the share of turns cut short."""

CHOSEN = "semantic + words"
"""The method that is the default."""

LATER = (0.008, 0.016, 0.024)
"""Seconds by which recordings are heard later: nothing changes but where windows fall in them, and
how far the figures move is how far they may be trusted."""

ECHO_DELAYS = (0.02, 0.1, 0.25)
ECHO_LOSSES = (6, 12, 18, 24)


def main() -> None:
    """Measure everything, print the tables and write the files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    default = Path(os.environ.get("PARLEY_SPEECH", "tests/data/speech"))
    parser.add_argument("folder", nargs="?", type=Path, default=default)
    parser.add_argument("--out", type=Path, default=Path("out/bench-turns"))
    args = parser.parse_args()
    recordings = load(args.folder)
    turns = scored(recordings)
    if not turns:
        sys.exit(f"{args.folder}: no English turns of the kinds complete, midpause or incomplete")
    args.out.mkdir(parents=True, exist_ok=True)
    runtime = Runtime()
    try:
        memory = Memory(ears(runtime, "silero"))
        _measure(recordings, turns, memory, runtime, args.out)
    finally:
        runtime.close()


def _measure(
    recordings: Sequence[Recording],
    turns: Sequence[Recording],
    memory: Memory,
    runtime: Runtime,
    out: Path,
) -> None:
    hearing = memory.remembering()
    _say(f"{len(turns)} turns of {len(recordings)} recordings; asking the models")
    results = {name: ends.outcomes(turns, hearing, each) for name, each in ends.methods().items()}
    results["... + drafts, work begun"] = [ends.begun(each) for each in results[CHOSEN]]
    by_method = [ends.summary(name, each) for name, each in results.items()]
    by_profile = [
        ends.summary(f"profile {name}", ends.outcomes(turns, hearing, each))
        for name, each in ends.named_profiles().items()
    ]
    _say("pauses one by one")
    by_budget = _budgets(turns, hearing)
    by_edge = edges.edges(recordings, hearing)
    _say("speakers apart, and recordings heard a little later")
    apart = _apart(turns, results[CHOSEN], hearing)
    _say("sounds over the agent's voice, echo, voices behind the caller, and dictation")
    over = overlaps.heard(recordings, hearing)
    echo = _echo(recordings, hearing)
    noisy = noise.behind(turns, recordings, memory.ears)
    by_form = dictation.by_profile(runtime, hearing)
    curves = _curves(turns, hearing)
    draw(out / "turns.png", curves, {each.method: _points(each) for each in by_method}, GOALS)
    parts = {
        "Ends of turns": report.ends(by_method),
        "Profiles": report.ends(by_profile),
        "The default, taken apart": report.ends(apart),
        "Drafts": report.drafts(by_profile),
        "Where the default is wrong or slow": report.misses(results[CHOSEN]),
        "Pauses one by one, best policies": report.budgets(by_budget),
        "Edges": report.edges(by_edge) + "\n\n" + report.habits(edges.habits(recordings)),
        "Over the agent's voice (median / 95th percentile)": report.overlaps(over),
        "Lines with echo": report.echoes(echo),
        "Behind the caller, and at other levels": report.behind(noisy),
        "Dictated forms": report.dictated(by_form),
        "Cost": report.costs(memory.prices) + "\n\n" + _per_turn(by_method, memory),
    }
    _write(
        out,
        parts,
        turns=len(turns),
        methods=by_method,
        profiles=by_profile,
        apart=apart,
        budgets=by_budget,
        edges=by_edge,
        overlaps=over,
        echo=echo,
        others={"noise": noisy, "dictation": by_form},
        curves=curves,
        costs=memory.prices,
    )


def _write(out: Path, parts: Mapping[str, str], **figures: object) -> None:
    text = "\n\n".join(f"## {title}\n\n{part}" for title, part in parts.items())
    (out / "turns.md").write_text(text + "\n", encoding="utf-8")
    written = json.dumps(figures, indent=1, default=lambda each: asdict(each))
    (out / "turns.json").write_text(written + "\n", encoding="utf-8")
    print(text)
    _say(f"written to {out}/turns.md, turns.json and turns.png")


def _budgets(turns: Sequence[Recording], hearing: Ears) -> dict[str, Budgets]:
    found = spans(turns, hearing)
    return {
        "silence": budgets([0.0] * len(found), found),
        "semantic": budgets([each.probability for each in found], found),
        CHOSEN: budgets([each.believed() for each in found], found),
    }


def _apart(
    turns: Sequence[Recording], results: Sequence[ends.Outcome], hearing: Ears
) -> list[ends.Summary]:
    """Sum up groups of speakers, weights that a speaker had no part in, and shifted windows."""
    found = [ends.summary(f"speakers {name}", each) for name, each in _by_source(results)]
    pauses = spans(turns, hearing)
    others = held_out(turns, pauses, hearing)
    found.append(ends.summary("weights of other speakers", others))
    sources = held_out(turns, pauses, hearing, lambda each: each.source)
    found.append(ends.summary("weights of other sources", sources))
    found += [ends.summary(f"- {name}", each) for name, each in _by_source(sources)]
    for later in LATER:
        shifted = ends.outcomes([each.later(later) for each in turns], hearing, DEFAULT)
        found.append(ends.summary(f"heard {1000 * later:.0f} ms later", shifted))
    return found


def _curves(turns: Sequence[Recording], hearing: Ears) -> dict[str, list[Sides]]:
    """Run each method with many settings."""
    found: dict[str, list[Sides]] = {}
    kinds = {
        "silence": Profile.silence(1.0),
        "semantic": DEFAULT.without("semantic"),
        CHOSEN: DEFAULT,
    }
    for name, profile in kinds.items():
        for each in ends.curve(profile):
            results = ends.outcomes(turns, hearing, each)
            found.setdefault(name, []).append(_points(ends.summary("", results)))
            if name == CHOSEN:
                early = [ends.begun(result) for result in results]
                found.setdefault("drafts", []).append(_points(ends.summary("", early)))
    return found


def _points(found: ends.Summary) -> Sides:
    delays = (found.median, found.mean, found.p95)
    median, mean, p95 = (Point(each, found.cut) for each in delays)
    return median, mean, p95


def _by_source(results: Sequence[ends.Outcome]) -> list[tuple[str, list[ends.Outcome]]]:
    """Part the results by where the speakers come from."""
    groups: dict[str, list[ends.Outcome]] = {}
    for each in results:
        groups.setdefault(each.recording.source, []).append(each)
    return sorted(groups.items())


def _echo(recordings: Sequence[Recording], hearing: Ears) -> list[overlaps.Echoed]:
    agents = [
        each
        for each in recordings
        if each.kind == "prompt" or (each.kind == "complete" and each.speaker.endswith("_agent"))
    ]
    claims = [each for each in recordings if each.kind in ("interruption", "complete")]
    claims = [each for each in claims if each.language == "en"][:16]
    if not agents or not claims:
        return []
    return [
        overlaps.echoed(agents, claims, hearing, delay, loss)
        for loss in ECHO_LOSSES
        for delay in ECHO_DELAYS
    ]


def _per_turn(found: Sequence[ends.Summary], memory: Memory) -> str:
    """Tabulate processor time a turn: questions times what one costs."""
    semantic, words = memory.prices["semantic"].each_ms, memory.prices["words"].each_ms
    voice = memory.prices["voice"]
    return report.table(
        ("method", "detector asked", "recogniser asked", "processor time a turn"),
        (
            (
                each.method,
                f"{each.semantic_questions:.2f}",
                f"{each.words_questions:.2f}",
                f"{each.semantic_questions * semantic + each.words_questions * words:.0f} ms",
            )
            for each in found
            if each.method.startswith("semantic")
        ),
    ) + (
        f"\n\nVoice activity takes {1000 * voice.seconds / max(voice.sound, 0.001):.1f} ms"
        " for each second of sound."
    )


def _say(text: str) -> None:
    print(text, file=sys.stderr)


if __name__ == "__main__":
    main()
