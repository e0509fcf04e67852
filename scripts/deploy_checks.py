"""Checks the chart and the Compose file of `deploy/`; `scripts/deploy.sh` runs it."""
import json
import sys
from pathlib import Path

import compose_spec
import helm_python
import kubernetes_validate
import yaml

DEPLOY = Path(__file__).parent.parent / "deploy"
KUBERNETES = "1.33"
# What a chart is given: nothing, and everything that it has a place for.
VALUES = {
    "as it comes": {},
    "with all of it": {
        "imagePullSecrets": [{"name": "registry"}],
        "nodeSelector": {"disk": "fast"},
        "tolerations": [{"operator": "Exists"}],
        "affinity": {"podAntiAffinity": {}},
        "serve": {
            "args": ["--access-log"],
            "ingress": {"enabled": True, "className": "nginx", "annotations": {"a": "b"}},
        },
        "worker": {"confineCommands": False, "queues": ["default"]},
        "queues": {
            "gpu": {"replicas": 1, "image": {"repository": "haft-gpu"}, "nodeSelector": {"accelerator": "nvidia"}},
            "web": {"args": ["--model", "openai"]},
        },
        "serviceMonitor": {"enabled": True},
    },
}


def linted(chart: Path) -> list[str]:
    """What Helm says against the chart."""
    told = helm_python.lint(chart, strict=True)
    # 1 is a recommendation.
    return [message["error"] for message in told["messages"] if message["severity"] > 1] + list(told["errors"])


def manifests(chart: Path, values: dict) -> list[dict]:
    """What the chart makes."""
    files = helm_python.Chart.load(chart).render(values, name="prod", namespace="haft").values()
    found = [manifest for text in files for manifest in yaml.safe_load_all(text) if manifest]
    assert found, "the chart makes nothing"
    return found


def wrong(manifest: dict) -> str | None:
    """What Kubernetes would say against it."""
    if manifest["apiVersion"].startswith("monitoring.coreos.com/"):
        return None
    try:
        kubernetes_validate.validate(manifest, KUBERNETES, strict=True)
    except kubernetes_validate.ValidationError as error:
        return f"{manifest['kind']} {manifest['metadata']['name']}: {error}"
    return None


def pools(made: list[dict], values: dict) -> list[str]:
    """What is wrong with the workers of queues."""
    found = {manifest["metadata"]["name"]: manifest["spec"] for manifest in made if manifest["kind"] == "Deployment"}
    problems = []
    for queue, own in {"": {}, **values.get("queues", {})}.items():
        name = f"prod-haft-worker-{queue}" if queue else "prod-haft-worker"
        pod = found[name]["template"]["spec"]
        worker = pod["containers"][0]
        taken = [queue] if queue else values.get("worker", {}).get("queues", [])
        begin = ["worker"] + [word for one in taken for word in ("--queue", one)]
        image = own.get("image", {}).get("repository", "haft")
        selected = {**values.get("nodeSelector", {}), **own.get("nodeSelector", {})}
        if worker["args"][: len(begin)] != begin or len(worker["args"]) == len(begin):
            problems.append(f"{name} is started with {worker['args']}")
        if not worker["image"].startswith(f"{image}:"):
            problems.append(f"{name} has the image {worker['image']}")
        if found[name]["replicas"] != own.get("replicas", 2) or pod.get("nodeSelector", {}) != selected:
            problems.append(f"{name} has other replicas or nodes")
    return problems


def composed(text: str) -> list[str]:
    """What is wrong with a Compose file: its form, and names that lead nowhere."""
    # The reader of the specification knows no anchors, which are YAML's own.
    written = yaml.safe_load(text)
    project = compose_spec.PyCompose.from_json(json.dumps(written))
    project.validate()
    missing = []
    for name, service in written["services"].items():
        for other in service.get("depends_on", {}):
            if other not in written["services"]:
                missing.append(f"{name} depends on {other}, which is no service")
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            if not source.startswith((".", "/")) and source not in written["volumes"]:
                missing.append(f"{name} mounts {source}, which is no volume")
    return missing


def main() -> int:
    chart, problems = DEPLOY / "helm/haft", []
    problems += linted(chart)
    for what, values in VALUES.items():
        made = manifests(chart, values)
        problems += [f"{what}: {problem}" for problem in map(wrong, made) if problem]
        print(f"the chart {what}: {', '.join(sorted(manifest['kind'] for manifest in made))}")
        problems += [f"{what}: {problem}" for problem in pools(made, values)]
    problems += composed((DEPLOY / "compose/compose.yaml").read_text())
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
