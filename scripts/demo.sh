#!/bin/bash
# Builds Haft, fetches the demo model and lets it do a small job in a scratch repository.
set -euo pipefail
cd "$(dirname "$0")/.."

part() { # TITLE COMMAND…: runs it and says how long it took
    local title=$1 start=$EPOCHREALTIME
    shift
    "$@"
    awk -v title="$title" -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { printf "%-28s %6.1f s\n", title, b - a }' >>"$times"
}

times=$(mktemp)
scratch=$(mktemp -d)
trap 'rm -f "$times"' EXIT
export HAFT_HOME=$scratch/home HAFT_MODELS=${HAFT_MODELS:-$PWD/models}
haft=$PWD/target/release/haft

part "build" cargo build --release --quiet -p haft-cli
part "model" "$haft" models pull smollm2-135m

mkdir "$scratch/repository" && cd "$scratch/repository"
git init -q .
printf 'Meeting on Monday.\nThe launch code is 7421.\n' >notes.txt
printf '{\n  "name": "demo",\n  "port": 8080\n}\n' >config.json

prompt="Read notes.txt and tell me the launch code."
echo
echo "\$ haft run --model local/smollm2-135m \"$prompt\""
part "the job" "$haft" run --model local/smollm2-135m "$prompt" >"$scratch/answer" 2> >(tee "$scratch/steps" >&2)
cat "$scratch/answer"

echo
journal=$(ls "$HAFT_HOME"/sessions/*/journal.jsonl)
echo "journal: $journal"
cat "$times"
grep -q '"type":"tool_ended".*"ok":true' "$journal" || { echo "error: no tool call went well" >&2; exit 1; }
grep -q 7421 "$scratch/answer" || { echo "error: the answer does not hold the launch code" >&2; exit 1; }
