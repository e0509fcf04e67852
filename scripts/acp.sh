#!/bin/bash
# ACP against the protocol's own JavaScript library: a small editor made of it starts `haft acp` and talks to it.
#
# HAFT names the binary; without it the debug build is taken.
set -euo pipefail
cd "$(dirname "$0")/.."

. scripts/peers.sh
haft=${HAFT:-$PWD/target/debug/haft}
probe=$PWD/../shared/conformance/probes/acp_probe.mjs
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export HAFT_HOME=$scratch/home XDG_CONFIG_HOME=$scratch/config

[ -d "$packages/@agentclientprotocol" ] || { left_out "ACP against another program"; exit 0; }

# What the model says.
cat >"$scratch/plain" <<'SCRIPT'
{"think": "A greeting.", "say": "Hello, editor! How are you?", "pieces": 4, "delay_ms": 5}
{"say": "Still here."}
SCRIPT
cat >"$scratch/deny" <<'SCRIPT'
{"say": "I write.", "calls": [{"name": "write", "arguments": {"path": "a.txt", "content": "x"}}]}
{"say": "You said no."}
SCRIPT
cat >"$scratch/allow" <<'SCRIPT'
{"calls": [{"name": "read", "arguments": {"path": "b.txt"}}]}
{"expect": "typed", "calls": [{"name": "edit", "arguments": {"path": "b.txt", "old_text": "typed", "new_text": "mended"}}]}
{"say": "Mended."}
SCRIPT
cat >"$scratch/cancel" <<'SCRIPT'
{"say": "I wait.", "calls": [{"name": "bash", "arguments": {"command": "echo begun; sleep 60"}}]}
SCRIPT
cp "$scratch/cancel" "$scratch/leave"
cat >"$scratch/tools" <<'SCRIPT'
{"calls": [{"name": "mcp__own__read", "arguments": {"path": "b.txt"}}]}
{"expect": "saved", "say": "I see."}
SCRIPT

cat >"$scratch/part" <<'SCRIPT'
{"calls": [{"name": "apply_patch", "arguments": {"patch": "*** Begin Patch\n*** Add File: c.txt\n+c\n*** Add File: d.txt\n+d\n*** End Patch"}}]}
{"expect": "accepted only a part", "say": "Half of it."}
SCRIPT
cat >"$scratch/because" <<'SCRIPT'
{"calls": [{"name": "write", "arguments": {"path": "c.txt", "content": "c"}}]}
{"expect": "name it d.txt", "say": "As you like."}
SCRIPT
cat >"$scratch/undo" <<'SCRIPT'
{"calls": [{"name": "write", "arguments": {"path": "c.txt", "content": "c"}}]}
{"calls": [{"name": "write", "arguments": {"path": "d.txt", "content": "d"}}]}
{"say": "Both are there."}
SCRIPT

echo '{"say": "No model is asked."}' >"$scratch/typed"
echo '{"say": "I am the first."}' >"$scratch/model"

failed=0
# name, then the command; its words only where it failed.
try() {
    local name=$1 code=0
    shift
    timeout 120 "$@" >"$scratch/log" 2>&1 || code=$?
    if [ "$code" = 0 ]; then echo "ok      $name"; else echo "FAILED  $name"; cat "$scratch/log"; failed=1; fi
}
# The library is looked for beside the script.
copy_beside_libraries scripts/acp_client.mjs
for way in plain deny allow cancel leave tools typed part because undo model; do
    permission=ask
    case $way in cancel | leave) permission=full ;; undo) permission=accept-edits ;; esac
    try "editor: $way" node "$beside/acp_client.mjs" "$way" "$haft" acp --quiet --permission "$permission" --model "script/$scratch/$way"
done
if [ -f "$probe" ]; then
    copy_beside_libraries "$probe"
    try "probe: plain" node "$beside/acp_probe.mjs" -- "$haft" acp --model "script/$scratch/plain"
    try "probe: deny" node "$beside/acp_probe.mjs" --deny --prompt "write x to a.txt" -- "$haft" acp --model "script/$scratch/deny"
    try "probe: cancel" node "$beside/acp_probe.mjs" --cancel-after 700 -- "$haft" acp --permission full --model "script/$scratch/cancel"
else
    echo "note: the probe does not lie beside the repository; only our own editor was tried"
fi
exit "$failed"
