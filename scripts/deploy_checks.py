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
            "envFrom": [{"secretRef": {"name": "haft-oidc"}}],
            "ingress": {"enabled": True, "className": "nginx", "annotations": {"a": "b"}},
        },
        "config": '[serve.oidc]\nissuer = "https://id.example.org"\n\n[models."a/b"]\nprice = {input = 1, output = 2}\n',
        "worker": {
            "confineCommands": False,
            "queues": ["default"],
            "envFrom": [{"secretRef": {"name": "haft-otel"}}],
            "volumes": [{"name": "git", "secret": {"secretName": "haft-git"}}],
            "volumeMounts": [{"name": "git", "mountPath": "/etc/haft-git"}],
        },
        "queues": {
            "gpu": {"replicas": 1, "image": {"repository": "haft-gpu"}, "nodeSelector": {"accelerator": "nvidia"}},
            "web": {"args": ["--model", "openai"]},
        },
        "serviceMonitor": {"enabled": True},
    },
    "without options": {"worker": {"args": [], "queues": ["default"]}},
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
        has_options = bool(values.get("worker", {}).get("args", True))
        if worker["args"][: len(begin)] != begin or (len(worker["args"]) > len(begin)) != has_options:
            problems.append(f"{name} is started with {worker['args']}")
        if not worker["image"].startswith(f"{image}:"):
            problems.append(f"{name} has the image {worker['image']}")
        if found[name]["replicas"] != own.get("replicas", 2) or pod.get("nodeSelector", {}) != selected:
            problems.append(f"{name} has other replicas or nodes")
    return problems


def settings(made: list[dict], values: dict) -> list[str]:
    """What is wrong with `config.toml`, and with variables and volumes of one's own."""
    problems = []
    written = [manifest["data"]["config.toml"] for manifest in made if manifest["kind"] == "ConfigMap"]
    wanted = [values["config"].rstrip("\n")] if "config" in values else []
    if written != wanted:
        problems.append(f"the configuration is {written}")
    for manifest in (manifest for manifest in made if manifest["kind"] == "Deployment"):
        name, pod = manifest["metadata"]["name"], manifest["spec"]["template"]["spec"]
        part = "serve" if name.endswith("-serve") else "worker"
        container, own = pod["containers"][0], values.get(part, {})
        mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
        volumes = {volume["name"] for volume in pod["volumes"]}
        if (mounts.get("config") == "/var/lib/haft/config/haft") != bool(wanted) or not set(mounts) <= volumes:
            problems.append(f"{name} mounts {mounts} of {volumes}")
        if any(one not in container.get("envFrom", []) for one in own.get("envFrom", [])):
            problems.append(f"{name} lacks variables")
        if any(mount not in container["volumeMounts"] for mount in own.get("volumeMounts", [])):
            problems.append(f"{name} lacks a volume")
    return problems


def scraped(made: list[dict]) -> list[str]:
    """What is wrong with the name under which Prometheus knows the servers: rules and dashboard look for the job `haft`."""
    services = {manifest["metadata"]["name"]: manifest for manifest in made if manifest["kind"] == "Service"}
    monitors = [manifest for manifest in made if manifest["kind"] == "ServiceMonitor"]
    jobs = [services[one["metadata"]["name"]]["metadata"]["labels"].get(one["spec"].get("jobLabel")) for one in monitors]
    return [f"Prometheus calls the job {job}" for job in jobs if job != "haft"]


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
        told = pools(made, values) + settings(made, values) + scraped(made)
        problems += [f"{what}: {problem}" for problem in told]
    problems += composed((DEPLOY / "compose/compose.yaml").read_text())
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
