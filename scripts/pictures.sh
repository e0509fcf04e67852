#!/bin/bash
# Takes the pictures of the screen for the docs (`docs/pictures/*.txt`): the debug binary on a written model, in a `tmux` of
# its own. HAFT names another binary.
set -euo pipefail
cd "$(dirname "$0")/.."

haft=${HAFT:-$PWD/target/debug/haft}
pictures=$PWD/docs/pictures
scratch=$(mktemp -d)
socket=$scratch/terminal
trap 'tmux -S "$socket" kill-server 2>/dev/null || true; rm -rf "$scratch"' EXIT

mkdir -p "$pictures" "$scratch/home" "$scratch/calculator/src"
git -C "$scratch/calculator" init -q
cat >"$scratch/calculator/src/calc.py" <<'SOURCE'
def add(a, b):
    return a - b


def mul(a, b):
    return a * b


def sub(a, b):
    return a + -b


def power(a, b):
    return a**b


def div(a, b):
    return a / b
SOURCE
cat >"$scratch/model.jsonl" <<'SCRIPT'
{"calls": [{"name": "todo", "arguments": {"items": [{"text": "find the fault", "status": "done"}, {"text": "mend `add`", "status": "in_progress"}, {"text": "run the tests", "status": "pending"}]}}], "usage": {"input": 2100, "output": 60}}
{"say": "`add` subtracts. I mend it.", "calls": [{"name": "edit", "arguments": {"path": "src/calc.py", "old": "    return a - b", "new": "    return a + b"}}], "usage": {"input": 2300, "output": 70}}
{"calls": [{"name": "bash", "arguments": {"command": "echo '2 failed, 14 passed in 0.21s'; exit 1"}}], "usage": {"input": 2500, "output": 40}}
{"say": "Two tests still fail; they expect `mul` to round.", "usage": {"input": 2700, "output": 30}}
{"calls": [{"name": "write", "arguments": {"path": "src/calc.py", "content": "def add(a, b):\n    return a + b\n\n\ndef mul(a, b):\n    return round(a * b)\n\n\ndef sub(a, b):\n    return a + -b\n\n\ndef power(a, b):\n    return a**b\n\n\ndef div(a, b):\n    return round(a / b)\n"}}], "usage": {"input": 2900, "output": 90}}
{"say": "`mul` rounds; `div` stays as it is.", "usage": {"input": 3100, "output": 30}}
{"calls": [{"name": "bash", "arguments": {"command": "for test in 1 2 3; do echo \"test $test passed\"; done; sleep 60"}}], "usage": {"input": 3300, "output": 40}}
{"say": "1. Give `mul` a parameter for the number of digits.\n2. Run the tests.", "usage": {"input": 3500, "output": 40}}
SCRIPT
# A server whose one tool asks the model of the session.
cat >"$scratch/notes.py" <<'SERVER'
import json, sys

def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

def tool():
    return {"name": "digest", "description": "Sums up the notes.", "inputSchema": {"type": "object"}}

for line in sys.stdin:
    message = json.loads(line)
    match message.get("method"):
        case "initialize":
            send({"id": message["id"], "result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                                                  "serverInfo": {"name": "notes", "version": "1"}}})
        case "tools/list":
            send({"id": message["id"], "result": {"tools": [tool()]}})
        case "tools/call":
            prompt = {"role": "user", "content": {"type": "text", "text": "Sum up: milk, bread, and a present for Ada."}}
            send({"id": "ask", "method": "sampling/createMessage", "params": {"messages": [prompt], "maxTokens": 100}})
SERVER
cat >"$scratch/notes.jsonl" <<'SCRIPT'
{"calls": [{"name": "mcp__notes__digest", "arguments": {}}], "usage": {"input": 2100, "output": 60}}
SCRIPT

keys() { tmux -S "$socket" send-keys "$@"; }
see() { # TEXT: waits until the screen shows it
    for _ in $(seq 200); do
        tmux -S "$socket" capture-pane -p | grep -qF -- "$1" && return
        sleep 0.05
    done
    echo "error: the screen never showed \`$1\`, but:" >&2
    tmux -S "$socket" capture-pane -p >&2
    exit 1
}
# NAME: what stands on the screen, without what differs from one time to the next.
take() {
    sleep 0.3
    tmux -S "$socket" capture-pane -p | sed -E "s|$scratch|~|; s/[0-9]{8}-[0-9]{6}-[0-9a-z]+/20261123-101500-…/; s/ +[0-9]+ s · /  3 s · /; s/─ [0-9.]+ s/─ 6.4 s/; s#script/../[a-z]+.jsonl#openai/gpt-5#; s/ +$//" |
        sed -e :a -e '/^\n*$/{$d;N;ba' -e '}' >"$pictures/$1.txt"
}

# MODEL: opens Haft on a written model.
open_on() {
    tmux -S "$socket" -f /dev/null new-session -d -x 96 -y 34 -c "$scratch/calculator" \
        "env -i PATH=$PATH TERM=tmux-256color HOME=$scratch/home HAFT_HOME=$scratch/home/haft HAFT_SANDBOX=off OPENAI_API_KEY=none OPENAI_BASE_URL=http://127.0.0.1:9/v1 $haft --model script/../$1.jsonl"
    see "what to do?"
}
# LINE TEXT: types it, sends it, and waits for the text.
say() {
    keys -l "$1" && keys Enter
    see "$2"
}
# TEXT NAME: a panel that the line opens.
panel() {
    say "$1" "$2"
    take "$3"
    keys Escape
    see "what to do?"
}

open_on model
say "add(2, 3) gives -1" "Edit src/calc.py?"
take approval
keys y
see "Run \`echo"
keys y
see "Two tests still fail"
take conversation
panel /context "system prompt" context
say /model "272k window"
keys -l "gpt" && keys Right Right
see "effort: medium"
take model
keys Escape
see "what to do?"
keys "?"
see "commands"
take help
keys Escape
see "what to do?"
panel /status "window" status
panel /diff "+1 −1" diff
panel /theme "dracula" themes
panel /login "anthropic" login
panel "/undo list" "edit src/calc.py" undo

# A part of a change.
say "round, where the tests expect it" "p accepts parts"
keys p
see "Space"
keys Space Down
take parts
keys Enter
see "stays as it is"
take part-accepted

# What is typed, and not sent.
seq -f 'line %g of a paste' 500 >"$scratch/paste"
tmux -S "$socket" load-buffer "$scratch/paste"
tmux -S "$socket" paste-buffer -p
see "lines"
take paste
keys C-c
see "what to do?"
keys -l "!git status --short"
see "git status --short"
take shell
keys C-c
see "what to do?"
keys -l "look at @ca"
see "src/calc.py"
take mention
keys Escape
sleep 0.5
keys C-c
see "what to do?"

# A command that is interrupted.
say "run the tests again" "Run \`for"
keys y
see "test 3 passed"
sleep 1
keys Escape
see "interrupted"
take interrupted

say "/plan let people choose how mul rounds" "Run the tests."
take plan
keys Escape
see "what to do?"
say "/mode ask" "· ask"
say "#Run the tests with \`pytest -q\`" "AGENTS.md"
take memory
keys Escape
see "what to do?"
tmux -S "$socket" kill-server

# Keys of vi and a line of one's own.
mkdir -p "$scratch/home/.config/haft"
cat >"$scratch/home/.config/haft/config.toml" <<'CONFIG'
editor_mode = "vim"
status_line = "{vim} · {model} · {folder} · {window}"
theme = "nord"

[mcp.notes]
command = "python3"
arguments = ["NOTES"]
sampling = true
CONFIG
sed -i "s|NOTES|$scratch/notes.py|" "$scratch/home/.config/haft/config.toml"
open_on notes
panel /sessions "add(2, 3)" sessions
keys -l "what is in my notes" && keys Escape
see "NORMAL"
take vim
keys Enter
see "Call \`digest"
keys y
see "Ada"
take sampling
ls -l "$pictures"
