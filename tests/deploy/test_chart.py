"""The chart of deploy/helm: what it renders is what Kubernetes takes, and what the gateway needs.

Helm is named by HELM, or found on the path; `make chart` fetches it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from bench.calls.gateway_process import ROOT
from gateway.config import ServerSettings, load

CHART = ROOT / "deploy/helm/parley"
HELM = os.environ.get("HELM") or shutil.which("helm")

needs_helm = pytest.mark.skipif(HELM is None, reason="helm is not here; `make chart` fetches it")

KUBERNETES = "1.32"

VARIANTS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "sip": {"sip": {"enabled": True}, "replicas": 3},
    "a network of its own": {
        "hostNetwork": False,
        "sip": {"enabled": True},
        "networkPolicy": {
            "enabled": True,
            "sip": [{"ipBlock": {"cidr": "203.0.113.0/24"}}],
            "scrapers": [{"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}],
        },
    },
    "an ingress": {
        "ingress": {"enabled": True, "host": "voice.example.com", "tls": "voice", "className": "n"}
    },
    "a volume": {"persistence": {"enabled": True, "storageClass": "fast"}},
    "secrets": {"secrets": {"PARLEY_OWNER_TOKEN": "x" * 24, "SIP_API_KEY": "y"}},
    "a secret that is there": {"existingSecret": "mine", "serviceMonitor": {"enabled": True}},
    "by need": {"autoscaling": {"enabled": True, "max": 20}, "sip": {"enabled": True}},
    "a gpu": {"gpu": True, "nodeSelector": {"gpu": "h200"}, "processes": 2},
    "agents": {
        "agents": {"desk.toml": 'instructions = "Be kind."\n'},
        "settings": '[agents]\nfolder = "/etc/parley/agents"\ndefault = "desk"\n',
        "readiness": "drain",
        "podAnnotations": {"a": "b"},
        "imagePullSecrets": [{"name": "registry"}],
        "tolerations": [{"key": "calls", "operator": "Exists"}],
        "spread": False,
    },
}

REFUSED = {
    "an ingress to several": (
        {"ingress": {"enabled": True, "host": "a.example"}, "replicas": 2},
        "an ingress leads to one replica",
    ),
    "an ingress without a name": ({"ingress": {"enabled": True}}, "ingress.host: it is empty"),
    "one volume of several": (
        {"persistence": {"enabled": True}, "replicas": 2},
        "one volume cannot be several gateways'",
    ),
    "a policy for the node's network": (
        {"networkPolicy": {"enabled": True}},
        "set hostNetwork = false",
    ),
    "agents that nobody reads": ({"agents": {"a.toml": ""}}, "settings do not name it"),
    "a most below the least": (
        {"autoscaling": {"enabled": True, "min": 3, "max": 2}},
        "it is less than autoscaling.min",
    ),
}


def helm(folder: Path, values: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    """Render the chart with some values."""
    file = folder / "values.yaml"
    file.write_text(json.dumps(values))
    assert HELM is not None
    command = [HELM, "template", "p", str(CHART), "-f", str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@needs_helm
@pytest.mark.peer
@pytest.mark.parametrize("name", VARIANTS)
def test_what_is_rendered_is_what_kubernetes_takes(name: str, tmp_path: Path) -> None:
    validate = pytest.importorskip("kubernetes_validate")
    done = helm(tmp_path, VARIANTS[name])
    assert done.returncode == 0, done.stderr
    found = [each for each in yaml.safe_load_all(done.stdout) if each]
    for each in found:
        if each["apiVersion"].startswith(("keda.sh", "monitoring.coreos.com")):
            continue  # their schemas are not Kubernetes' own
        validate.validate(each, KUBERNETES, strict=True)
    (deployment,) = [each for each in found if each["kind"] == "Deployment"]
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["securityContext"]["readOnlyRootFilesystem"]
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["terminationGracePeriodSeconds"] >= ServerSettings().drain + 60
    (ready,) = [container["readinessProbe"]["httpGet"]["path"]]
    assert ready == ("/readyz?for=drain" if name == "agents" else "/readyz")
    mounted = {each["name"] for each in container["volumeMounts"]}
    assert mounted == {each["name"] for each in pod["volumes"]}
    settings = next(each for each in found if each["kind"] == "ConfigMap")["data"]["parley.toml"]
    (tmp_path / "parley.toml").write_text(settings)
    load(tmp_path / "parley.toml", {})


@needs_helm
@pytest.mark.peer
@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_work_is_refused_with_what_is_allowed(name: str, tmp_path: Path) -> None:
    values, said = REFUSED[name]
    done = helm(tmp_path, values)
    assert done.returncode != 0
    assert said in done.stderr


@needs_helm
@pytest.mark.peer
def test_helm_finds_nothing_wrong() -> None:
    assert HELM is not None
    done = subprocess.run(
        [HELM, "lint", "--strict", str(CHART)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_its_settings_are_settings_and_calls_have_longer_than_the_gateway_gives_them(
    tmp_path: Path,
) -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    (tmp_path / "parley.toml").write_text(values["settings"])
    settings = load(tmp_path / "parley.toml", {})
    assert values["terminationGracePeriodSeconds"] >= settings.server.drain + 60
    assert settings.server.port == values["http"]["port"]
    assert values["media"] == {"from": 16384, "to": 32767}


def test_its_version_is_the_packages() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert chart["appVersion"] == project["version"]
