#!/bin/bash
# `haft serve` against programs of others: OpenAI's SDKs for Python and JavaScript, curl, and a browser with the page in it.
#
# HAFT names the binary; without it the debug build is taken. PAGES names a folder that screenshots are kept in.
set -euo pipefail
cd "$(dirname "$0")/.."

. scripts/peers.sh
haft=${HAFT:-$PWD/target/debug/haft}
scratch=$(mktemp -d)
server=
port=0
provider=
trap 'for one in $server $provider; do kill "$one" 2>/dev/null || true; wait "$one" 2>/dev/null || true; done; rm -rf "$scratch"' EXIT
export HAFT_HOME=$scratch/home XDG_CONFIG_HOME=$scratch/config
mkdir -p "$scratch/work" "$scratch/config/haft"
if [ -d "$peers" ]; then copy_beside_libraries scripts/browser.mjs scripts/login_provider.mjs scripts/push_service.mjs scripts/serve_*.mjs; fi

failed=0
# name, then the command; its words only where it failed.
try() {
    local name=$1 code=0
    shift
    "$@" >"$scratch/log" 2>&1 || code=$?
    if [ "$code" = 0 ]; then echo "ok      $name"; else echo "FAILED  $name"; cat "$scratch/log"; failed=1; fi
}
# With which model; sets `address` and `token`.
start() {
    rm -rf "$scratch/work" "$scratch/said"
    mkdir -p "$scratch/work"
    (cd "$scratch/work" && exec "$haft" serve --listen "127.0.0.1:$port" --model "$1" "${@:2}" 2>"$scratch/said") &
    server=$!
    for _ in $(seq 100); do
        address=$(sed -n 's/^note: listening on //p' "$scratch/said" 2>/dev/null || true)
        [ -n "$address" ] && break
        sleep 0.1
    done
    [ -n "$address" ] || { cat "$scratch/said"; exit 1; }
    token=$(cat "$HAFT_HOME/serve-token")
}
stop() {
    kill "$server"
    wait "$server" || true
    server=
}

# Each session begins with the first line.
cat >"$scratch/model" <<'SCRIPT'
{"think": "Hm.", "say": "I write.", "pieces": 3, "delay_ms": 5, "calls": [{"name": "write", "arguments": {"path": "a.txt", "content": "one\n"}}], "usage": {"input": 10, "output": 5}}
{"say": "It is written.", "pieces": 3, "delay_ms": 5, "usage": {"input": 20, "output": 5}}
{"say": "Nothing more.", "pieces": 3, "delay_ms": 5, "usage": {"input": 20, "output": 7}}
SCRIPT
start "script/$scratch/model" --permission accept-edits
if [ -d "$packages/openai" ]; then
    try "OpenAI's SDK for Python" timeout 120 "$peers/python/bin/python" scripts/serve_client.py "$address" "$token"
    try "OpenAI's SDK for JavaScript" timeout 120 node "$beside/serve_client.mjs" "$address" "$token"
else
    left_out "OpenAI's SDKs against \`haft serve\`"
fi
stop
start "script/$scratch/model" --permission accept-edits
# The description, and a client that is made of it alone.
if [ -x "$peers/python/bin/openapi-python-client" ]; then
    curl -sf -H "Authorization: Bearer $token" "$address/openapi.json" >"$scratch/openapi.json"
    try "openapi-spec-validator" timeout 60 "$peers/python/bin/openapi-spec-validator" "$scratch/openapi.json"
    generated() {
        (cd "$scratch" && "$peers/python/bin/openapi-python-client" generate --path openapi.json --output-path generated --meta none) &&
            PYTHONPATH=$scratch "$peers/python/bin/python" scripts/serve_generated.py "$address" "$token"
    }
    try "a client generated from the description" generated
else
    left_out "a client that is generated from openapi.json"
fi
# As docs/serve.md shows it.
follows() {
    local id
    id=$(curl -sf -H "Authorization: Bearer $token" -H 'Content-Type: application/json' -d '{}' "$address/v1/sessions" | sed 's/.*"id":"\([^"]*\)".*/\1/')
    curl -sfN --max-time 20 -H "Authorization: Bearer $token" "$address/v1/sessions/$id/events" >"$scratch/events" &
    local curl=$!
    curl -sf -H "Authorization: Bearer $token" -H 'Content-Type: application/json' -d '{"text":"write it","wait":true}' "$address/v1/sessions/$id/prompt"
    for _ in $(seq 100); do
        grep -q '"type":"turn_ended"' "$scratch/events" && break
        sleep 0.1
    done
    kill "$curl"
    grep -q '"type":"text"' "$scratch/events" && grep -q '^id: 1$' "$scratch/events" && grep -q '"outcome":"finished"' "$scratch/events"
}
try "curl follows a session" follows
stop

if command -v node >/dev/null; then
    try "the fold of the page" timeout 60 node --test scripts/serve_fold.mjs
    try "the Markdown of the page" timeout 60 node --test scripts/serve_markdown.mjs
else
    left_out "the fold of the page of \`haft serve\`"
fi
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
if [ -n "$browser" ] && [ -d "$packages/axe-core" ]; then
    cat >"$scratch/config/haft/config.toml" <<TOML
[models."script/$scratch/page"]
price = { input = 3.0, output = 15.0 }
window = 20000
TOML
    cat >"$scratch/page" <<'SCRIPT'
{"think": "I look first. <img src=x onerror=\"document.title='hacked'\">", "say": "I will write the *parser*.\n\n<script>document.title='hacked'</script>\n\n1. one\n2. two\n\n```python\nassert True\n```\n\n<img src=\"https://evil.example/p.png\" onerror=\"document.title='hacked'\"> [run](javascript:document.title='hacked') [docs](https://docs.example/)", "pieces": 12, "delay_ms": 150, "calls": [{"name": "write", "arguments": {"path": "parser.py", "content": "def parse(text):\n    return int(text)\n"}}], "usage": {"input": 4200, "output": 180}}
{"say": "## Done\n\n| a | b |\n| --- | --- |\n| 1 | 2 |", "usage": {"input": 4600, "output": 40}}
{"say": "One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty.", "pieces": 10, "delay_ms": 400, "usage": {"input": 4700, "output": 60}}
{"calls": [{"name": "write", "arguments": {"path": "<b onmouseover=document.title=1>.md", "content": "<script>document.title='hacked'</script>\n"}}], "usage": {"input": 4800, "output": 60}}
{"expect": "name it notes.md", "say": "As you like.", "usage": {"input": 4900, "output": 10}}
{"calls": [{"name": "apply_patch", "arguments": {"patch": "*** Begin Patch\n*** Add File: one.txt\n+one\n*** Add File: two.txt\n+two\n*** End Patch"}}], "usage": {"input": 4900, "output": 60}}
{"expect": "accepted only a part", "say": "Half of it.", "usage": {"input": 5000, "output": 10}}
{"say": "Slowly. Slowly. Slowly. Slowly. Slowly. Slowly. Slowly. Slowly. Slowly. Slowly. Slowly. Slowly. Slowly. Slowly.", "pieces": 2, "delay_ms": 250}
SCRIPT
    start "script/$scratch/page"
    try "the page in a browser" timeout 300 node "$beside/serve_page.mjs" "$browser" "$address" "$token" "$scratch/work" "${PAGES:-}"
    stop
    cat >"$scratch/parts" <<'SCRIPT'
{"say": "I write.", "calls": [{"name": "write", "arguments": {"path": "a.txt", "content": "one\ntwo\n"}}]}
{"expect": "The person edited", "calls": [{"name": "edit", "arguments": {"path": "a.txt", "old_text": "one", "new_text": "1"}}]}
{"calls": [{"name": "edit", "arguments": {"path": "a.txt", "old_text": "1", "new_text": "I"}}]}
{"say": "Done."}
{"say": "One, two, three, four, five, six, seven, eight.", "pieces": 8, "delay_ms": 700}
SCRIPT
    start "script/$scratch/parts"
    try "parts of a proposal and single calls on the page" timeout 300 node "$beside/serve_parts.mjs" "$browser" "$address" "$token" "$scratch/work" "${PAGES:-}"
    stop
    cat >"$scratch/desk" <<'SCRIPT'
{"say": "I write.", "calls": [{"name": "write", "arguments": {"path": "src/parser.py", "content": "def parse(text):\n    return int(text)\n"}}], "usage": {"input": 4200, "output": 180}}
{"say": "It is written."}
SCRIPT
    start "script/$scratch/desk" --up-to accept-edits
    mkdir -p "$scratch/work/docs"
    # It is asked for the third reply.
    for _ in 1 2 3; do echo '{"say": "From the other model."}'; done >"$scratch/work/docs/other"
    try "what a session is made of, on the page" timeout 300 node "$beside/serve_desk.mjs" "$browser" "$address" "$token" "$scratch/work" "${PAGES:-}"
    stop
    cat >"$scratch/outbox" <<'SCRIPT'
{"calls": [{"name": "bash", "arguments": {"command": "git push --quiet origin main:one"}}, {"name": "bash", "arguments": {"command": "git push --quiet ../nothing.git main:two"}}, {"name": "bash", "arguments": {"command": "git push --quiet origin main:three"}}]}
{"say": "All is queued."}
SCRIPT
    start "script/$scratch/outbox" --permission accept-edits
    try "what waits in an outbox, on the page" timeout 300 node "$beside/serve_outbox.mjs" "$browser" "$address" "$token" "$scratch/work" "${PAGES:-}"
    stop
    start_login_provider "$scratch" "$scratch/config/haft/config.toml"
    cat >"$scratch/login" <<'SCRIPT'
{"say": "I write.", "calls": [{"name": "write", "arguments": {"path": "a.txt", "content": "one\n"}}]}
{"say": "Done."}
SCRIPT
    export LOGIN_SECRET=secret-of-haft
    start "script/$scratch/login"
    try "people who log in at an OpenID provider" timeout 300 node "$beside/serve_login.mjs" "$browser" "$address" "$scratch/work" "${PAGES:-}"
    stop
    kill "$provider"
    provider=
    port=0
    cat >>"$scratch/config/haft/config.toml" <<'TOML'
[serve.push]
contact = "mailto:push@example.org"
after = 1
allow_private = true
TOML
    cat >"$scratch/push" <<'SCRIPT'
{"calls": [{"name": "write", "arguments": {"path": "a.txt", "content": "one\n"}}]}
{"say": "It is written."}
SCRIPT
    start "script/$scratch/push"
    try "people who answer from a notification" timeout 300 node "$beside/serve_push.mjs" "$browser" "$address" "$token" "$haft" "$scratch/work" "${PAGES:-}"
    stop
    cat >"$scratch/tabs" <<'SCRIPT'
{"say": "All is said.", "pieces": 4, "delay_ms": 50}
{"say": "All is said.", "pieces": 4, "delay_ms": 50}
{"say": "All is said.", "pieces": 4, "delay_ms": 50}
SCRIPT
    mkdir -p "$scratch/tabs-home"
    try "six tabs, and a server that is started anew" env HAFT_HOME="$scratch/tabs-home" timeout 300 node "$beside/serve_tabs.mjs" "$browser" "$haft" "$scratch/work" "script/$scratch/tabs"
    cat >"$scratch/faults" <<'SCRIPT'
{"say": "I write.", "calls": [{"name": "write", "arguments": {"path": "a.txt", "content": "one\n"}}]}
{"calls": [{"name": "write", "arguments": {"path": "b.txt", "content": "two\n"}}]}
{"expect": "name it c.txt", "say": "As you like."}
{"say": "One, two, three, four, five, six, seven, eight, nine, ten, eleven, twelve, thirteen, fourteen, fifteen.", "pieces": 8, "delay_ms": 1000}
SCRIPT
    mkdir -p "$scratch/faults-home"
    try "what was typed outlasts faults" env HAFT_HOME="$scratch/faults-home" timeout 300 node "$beside/serve_faults.mjs" "$browser" "$haft" "$scratch/work" "script/$scratch/faults"
    python3 >"$scratch/long" <<'PYTHON'
import json
for turn in range(30):
    names = [f"file-{turn * 10 + call}.txt" for call in range(10)]
    print(json.dumps({"calls": [{"name": "write", "arguments": {"path": name, "content": "one\ntwo\n"}} for name in names]}))
print(json.dumps({"say": "All are written."}))
part = "## A part\n\nSome *words* with `code`, **more** and [a link](https://docs.example/).\n\n- one\n- two\n  - three\n\n"
print(json.dumps({"say": (part * 1000)[:94_000], "pieces": 400, "delay_ms": 8}))
hard = [">" * 5_000, "[" * 20_000, "**a " * 10_000, "`" * 3_001 + "a" * 20_000, "*" * 10_000, "~~a" * 5_000]
print(json.dumps({"say": "\n\n".join(hard)}))
PYTHON
    start "script/$scratch/long" --permission accept-edits --max-rounds 50
    try "long replies and long sessions" timeout 300 node "$beside/serve_long.mjs" "$browser" "$address" "$token"
    stop
else
    left_out "the page of \`haft serve\` in a browser"
fi
exit "$failed"
