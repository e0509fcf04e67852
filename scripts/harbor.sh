#!/bin/sh
# Runs Haft as Harbor's agent on an example task, in a throw-away Debian: with a scripted model, and with the demo model if it
# is here. Needs root and Python 3.12 or newer; PYTHON names another one. HAFT names the binary.
set -eu
cd "$(dirname "$0")/.."

python=${PYTHON:-python3}
haft=${HAFT:-$PWD/target/release/haft}
folder=$PWD/target/harbor
[ -x "$haft" ] || { echo "error: there is no binary \`$haft\`: run \`cargo build --release -p haft-cli\` first" >&2; exit 1; }
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 12))' || { echo "error: Harbor needs Python 3.12: set PYTHON" >&2; exit 1; }

if [ ! -x "$folder/python/bin/harbor" ]; then
    "$python" -m venv "$folder/python"
    "$folder/python/bin/pip" install --quiet harbor==0.26.0
fi
if [ ! -e "$folder/system/bin/sh" ]; then
    command -v mmdebstrap >/dev/null || apt-get install -y -qq mmdebstrap >/dev/null
    mmdebstrap --quiet --variant=apt --include=ca-certificates,git bookworm "$folder/system"
fi
export HAFT_HARBOR_SYSTEM="$folder/system" PYTHONPATH="$PWD/packaging/harbor:$PWD/scripts" LITELLM_LOCAL_MODEL_COST_MAP=True

# MODEL OPTION…: runs the task and prints what its own check says.
run() {
    model=$1
    shift
    rm -rf "$folder/jobs"
    "$folder/python/bin/harbor" run --path packaging/harbor/tasks/hello-world --agent haft_harbor:Haft --model "$model" \
        --env harbor_chroot:Chroot --agent-kwarg binary="$haft" --jobs-dir "$folder/jobs" --skip-credential-checks --yes \
        --quiet "$@" >"$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }
    trial=$(echo "$folder"/jobs/*/hello-world__*)
    ls "$trial"/agent/*.jsonl "$trial"/agent/*.html >/dev/null
    echo "$model: reward $(cat "$trial/verifier/reward.txt"), $("$python" -c 'import json, sys; print(json.load(open(sys.argv[1]))["agent_result"]["metadata"])' "$trial/result.json")"
}

run script/hello --agent-kwarg model_file="$PWD/packaging/harbor/tasks/hello-world.jsonl"
[ "$(cat "$folder"/jobs/*/hello-world__*/verifier/reward.txt)" = 1 ] || { echo "error: the task is not solved" >&2; exit 1; }

# The demo model is small: whether it solves the task is told, not required.
model=$(find "${HAFT_MODELS:-$PWD/models}" -iname 'smollm2-135m*.gguf' 2>/dev/null | head -1)
if [ -n "$model" ]; then
    run local/smollm2-135m --agent-kwarg model_file="$model"
else
    echo "skipped: the demo model is not here; \`make demo\` fetches it"
fi
