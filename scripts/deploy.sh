#!/bin/bash
# The files of `deploy/` against programs that others wrote: the chart with Helm's own library and the schemas of
# Kubernetes, the Compose file with a reader of its specification. They are installed into `target/deploy`. The units,
# the proxies, and the rules of Prometheus are tested by `deploy::` of haft-cli.
set -euo pipefail
cd "$(dirname "$0")/.."

. scripts/peers.sh
wanted="helm-python-sdk==0.2.2 kubernetes-validate==1.37.0 compose-spec==0.2.1 pyyaml==6.0.4"
place=$PWD/target/deploy
if [ "$(cat "$place/installed" 2>/dev/null)" != "$wanted" ]; then
    rm -rf "$place"
    # shellcheck disable=SC2086
    if python3 -m venv "$place" && "$place/bin/pip" install --quiet --disable-pip-version-check $wanted; then
        echo "$wanted" >"$place/installed"
    else
        left_out "the chart and the Compose file against programs of others"
        exit 0
    fi
fi
"$place/bin/python" scripts/deploy_checks.py
