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
cat >"$scratch/calculator/src/calc.py" <<'SOURCE'
def add(a, b):
    return a - b


def mul(a, b):
    return a * b
SOURCE
cat >"$scratch/model.jsonl" <<'SCRIPT'
{"calls": [{"name": "todo", "arguments": {"items": [{"text": "find the fault", "status": "done"}, {"text": "mend `add`", "status": "in_progress"}, {"text": "run the tests", "status": "pending"}]}}], "usage": {"input": 2100, "output": 60}}
{"say": "`add` subtracts. I mend it.", "calls": [{"name": "edit", "arguments": {"path": "src/calc.py", "old": "    return a - b", "new": "    return a + b"}}], "usage": {"input": 2300, "output": 70}}
{"calls": [{"name": "bash", "arguments": {"command": "echo '2 failed, 14 passed in 0.21s'; exit 1"}}], "usage": {"input": 2500, "output": 40}}
{"say": "Two tests still fail; they expect `mul` to round.", "usage": {"input": 2700, "output": 30}}
SCRIPT

keys() { tmux -S "$socket" send-keys "$@"; }
see() { # TEXT: waits until the screen shows it
    for _ in $(seq 200); do
        tmux -S "$socket" capture-pane -p | grep -qF -- "$1" && return
        sleep 0.05
    done
    echo "error: the screen never showed \`$1\`" >&2
    exit 1
}
# NAME: what stands on the screen, without what differs from one time to the next.
take() {
    sleep 0.3
    tmux -S "$socket" capture-pane -p | sed -E "s|$scratch|~|; s/session [0-9]{8}-[0-9a-z-]+/session 20261123-101500-…/; s/ +[0-9]+ s · /  3 s · /; s/─ [0-9.]+ s/─ 6.4 s/; s|script/../model.jsonl|openai/gpt-5|; s/ +$//" |
        sed -e :a -e '/^\n*$/{$d;N;ba' -e '}' >"$pictures/$1.txt"
}

tmux -S "$socket" -f /dev/null new-session -d -x 96 -y 34 -c "$scratch/calculator" \
    "env -i PATH=$PATH TERM=tmux-256color HOME=$scratch/home HAFT_HOME=$scratch/home/haft HAFT_SANDBOX=off OPENAI_API_KEY=none OPENAI_BASE_URL=http://127.0.0.1:9/v1 $haft --model script/../model.jsonl"
see "what to do?"
keys -l "add(2, 3) gives -1" && keys Enter
see "Edit src/calc.py?"
take approval
keys y
see "Run \`echo"
keys y
see "Two tests still fail"
take conversation
keys -l "/context" && keys Enter
see "system prompt"
take context
keys Escape
see "what to do?"
keys -l "/model" && keys Enter
see "272k window"
keys -l "gpt" && keys Right Right
see "effort: medium"
take model
keys Escape
see "what to do?"
keys -l "/help" && keys Enter
see "commands"
take help
ls -l "$pictures"
