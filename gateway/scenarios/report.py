"""How scenarios went, for people and for programs: a table, JSON, JUnit."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.text import Text

from gateway.scenarios.run import Result


def show(results: Sequence[Result], console: Console) -> None:
    """Print a line for each scenario, and for what failed what was said."""
    for each in results:
        mark = Text("✓ ", "green") if each.passed else Text("✗ ", "red")
        runs = f", {each.runs} runs" if each.runs > 1 else ""
        console.print(mark, each.name, Text(f"  {each.seconds * 1000:.0f} ms{runs}", "dim"), sep="")
        if each.passed:
            continue
        for failure in each.failures:
            place = f"{each.file}:{failure.line or each.line}"
            console.print(f"    {place}: {failure.kind}: {failure.said}", markup=False, style="red")
        for line in each.transcript:
            console.print(f"    {line.who:<7} {line.text}", markup=False, style="dim")
    failed = sum(not each.passed for each in results)
    seconds = sum(each.seconds for each in results)
    console.print(f"{len(results) - failed} of {len(results)} scenarios passed in {seconds:.1f} s")


def show_figures(figures: Mapping[str, float | None], console: Console) -> None:
    """Print what was measured of all calls together."""
    for name, value in figures.items():
        console.print(f"{name:<24}{'-' if value is None else f'{value:.3f}'}")


def as_json(results: Sequence[Result]) -> list[dict[str, object]]:
    """Return what `--json` prints."""
    return [{**asdict(each), "passed": each.passed} for each in results]


def write_junit(results: Sequence[Result], path: Path) -> None:
    """Write the report that continuous integration reads; raises OSError."""
    suites = ElementTree.Element("testsuites")
    for file in dict.fromkeys(each.file for each in results):
        of_file = [each for each in results if each.file == file]
        suite = ElementTree.SubElement(
            suites,
            "testsuite",
            name=file,
            tests=str(len(of_file)),
            failures=str(sum(not each.passed for each in of_file)),
        )
        for each in of_file:
            case = ElementTree.SubElement(
                suite, "testcase", classname=file, name=each.name, time=f"{each.seconds:.3f}"
            )
            for failure in each.failures:
                at = f"{file}:{failure.line or each.line}"
                element = ElementTree.SubElement(
                    case, "failure", type=failure.kind, message=failure.said
                )
                said = [f"{one.who}: {one.text}" for one in each.transcript]
                element.text = "\n".join([at, *said])
    ElementTree.ElementTree(suites).write(path, "utf-8", xml_declaration=True)
