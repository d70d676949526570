"""Adds the models to a bill of materials of the packages, and prints what licence each thing has.

`python -m tools.sbom BILL` reads and writes a CycloneDX file, as `make sbom` has made it of the
packages that are installed; those of the tests are among them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from inference.manifest import Model, models

UNKNOWN = "not said"


def main() -> int:
    """Complete the file, and print the list."""
    path = Path(sys.argv[1])
    bill = json.loads(path.read_text())
    bill["components"] += [component(each) for each in models().values()]
    path.write_text(json.dumps(bill, indent=1) + "\n")
    rows = sorted((licence(each), each["name"], each["version"]) for each in bill["components"])
    for said, name, version in rows:
        print(f"{said:40.40}  {name} {version}")
    print(f"\n{len(rows)} components, written to {path}", file=sys.stderr)
    return 0


def component(of: Model) -> dict[str, Any]:
    """Describe a model as CycloneDX 1.6 has it; the wheel's hash is that of all its files."""
    return {
        "type": "machine-learning-model",
        "bom-ref": f"model-{of.name}",
        "name": of.name,
        "version": of.version,
        "description": of.role,
        "licenses": [{"expression": of.licence}],
        "hashes": [{"alg": "SHA-256", "content": of.wheel}],
        "externalReferences": [{"type": "website", "url": of.home}],
    }


def licence(of: Mapping[str, Any]) -> str:
    """Return what a component's licence is called; packages that declare none have text alone."""
    said = [
        one.get("expression") or one["license"].get("id") or one["license"].get("name", "")
        for one in of.get("licenses", ())
    ]
    named = ", ".join(dict.fromkeys(each for each in said if each))
    return named or _from_its_metadata(of["name"])


def _from_its_metadata(package: str) -> str:
    try:
        found = metadata.metadata(package)
    except metadata.PackageNotFoundError:
        return UNKNOWN
    kinds = [each for each in found.get_all("Classifier") or () if each.startswith("License ::")]
    text = (found.get("License") or "").strip().partition("\n")[0]
    return ", ".join(each.rpartition(" :: ")[2] for each in kinds) or text or UNKNOWN


if __name__ == "__main__":
    sys.exit(main())
