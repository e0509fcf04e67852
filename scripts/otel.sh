#!/bin/bash
# Telemetry against a collector that others wrote: `rotel` receives what sessions send over OTLP, and writes out all of it.
#
# HAFT names the binary; without it the debug build is taken. The collector is installed into `target/otel`.
set -euo pipefail
cd "$(dirname "$0")/.."

. scripts/peers.sh
haft=${HAFT:-$PWD/target/debug/haft}
wanted=rotel==0.0.1a15
place=$PWD/target/otel
if [ "$(cat "$place/installed" 2>/dev/null)" != "$wanted" ]; then
    rm -rf "$place"
    if python3 -m venv "$place" && "$place/bin/pip" install --quiet --disable-pip-version-check "$wanted"; then
        echo "$wanted" >"$place/installed"
    else
        left_out "telemetry against a collector of others"
        exit 0
    fi
fi
collector=$(echo "$place"/lib/python3*/site-packages/rotel/rotel-agent)

scratch=$(mktemp -d)
running=
trap 'if [ -n "$running" ]; then kill "$running" 2>/dev/null || true; wait "$running" 2>/dev/null || true; fi; rm -rf "$scratch"' EXIT
export HAFT_HOME=$scratch/home XDG_CONFIG_HOME=$scratch/config
mkdir -p "$scratch/work"

# Two ports that are free.
read -r http grpc < <(python3 -c '
import socket
both = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
print(*(one.getsockname()[1] for one in both))')
"$collector" start --exporter blackhole --otlp-http-endpoint "127.0.0.1:$http" --otlp-grpc-endpoint "127.0.0.1:$grpc" \
    --debug-log traces --debug-log metrics --debug-log-verbosity detailed >"$scratch/received" 2>&1 &
running=$!
for _ in $(seq 100); do
    (exec 3<>"/dev/tcp/127.0.0.1/$http") 2>/dev/null && break
    sleep 0.1
done

# A turn with a call that goes well, one that fails and a subagent; then one with many calls, more than a batch.
cat >"$scratch/first" <<'SCRIPT'
{"think": "SECRET-THOUGHT", "say": "SECRET-REPLY", "calls": [{"name": "bash", "arguments": {"command": "echo SECRET-RESULT"}}], "usage": {"input": 1000, "output": 50, "cache_read": 200}}
{"calls": [{"name": "bash", "arguments": {"command": "exit 3"}}], "usage": {"input": 10, "output": 5}}
{"calls": [{"name": "delegate", "arguments": {"task": "SECRET-TASK"}}], "usage": {"input": 10, "output": 5}}
{"say": "Looked.", "usage": {"input": 10, "output": 5}}
{"say": "Done.", "usage": {"input": 10, "output": 5}}
SCRIPT
python3 >"$scratch/many" <<'PYTHON'
import json
for turn in range(60):
    calls = [{"name": "read", "arguments": {"path": "a.txt", "offset": turn * 20 + call + 1}} for call in range(20)]
    print(json.dumps({"calls": calls, "usage": {"input": 1, "output": 1}}))
print(json.dumps({"say": "All is read.", "usage": {"input": 1, "output": 1}}))
PYTHON
seq 2000 >"$scratch/work/a.txt"
cd "$scratch/work"
export OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:$http OTEL_RESOURCE_ATTRIBUTES=deployment.environment.name=trial
for model in first many; do
    "$haft" run --quiet --permission full --max-rounds 100 --model "script/$scratch/$model" SECRET-PROMPT >/dev/null
done
cd "$OLDPWD"
# What the collector holds is written out when it ends.
kill -INT "$running"
wait "$running" || true
running=
python3 scripts/otel_received.py "$scratch/received" "$HAFT_HOME/sessions"
echo "ok      a collector of others receives traces and metrics whole"
