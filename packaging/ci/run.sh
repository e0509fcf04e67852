#!/bin/sh
# Gives PROMPT to Haft in a job of a CI system, and leaves the page and the journal of the session in the folder HAFT_PAGE.
# MODEL, PERMISSION, SCHEMA, MAX_COST, MAX_TIME and OPTIONS are options of `haft run`. In a job of GitHub, the answer is
# written to its outputs and its summary. Exits as `haft run` does.
set -eu

set -- run --output json --permission "${PERMISSION:-accept-edits}" --model "$MODEL"
[ -z "${SCHEMA:-}" ] || set -- "$@" --schema "$SCHEMA"
[ -z "${MAX_COST:-}" ] || set -- "$@" --max-cost "$MAX_COST"
[ -z "${MAX_TIME:-}" ] || set -- "$@" --max-time "$MAX_TIME"
set -f
# shellcheck disable=SC2086
set -- "$@" ${OPTIONS:-} -- "$PROMPT"

# Outside of the workspace, where commands of the agent could write it.
result=$(mktemp)
trap 'rm -f "$result"' EXIT
code=0
haft "$@" >"$result" || code=$?
mkdir -p "$HAFT_PAGE"
cp "$result" "$HAFT_PAGE/result.json"

# FIELD: its text in the result; nothing if there is no result.
field() {
    python3 -c 'import json, sys
result = json.load(open(sys.argv[1]))
value = result.get(sys.argv[2])
print(value if isinstance(value, str) else "" if value is None else json.dumps(value))' "$result" "$1" 2>/dev/null || true
}

session=$(field session)
if [ -n "$session" ]; then
    haft sessions export "$session" --format html >"$HAFT_PAGE/session.html"
    haft sessions export "$session" --format json >"$HAFT_PAGE/journal.jsonl"
fi
answer=$(field answer)
[ -n "$answer" ] || answer=$(field text)
# The `echo` of some shells reads a backslash as the beginning of an escape.
printf '%s\n' "$answer"

if [ -n "${GITHUB_OUTPUT:-}" ]; then
    # No line of an answer can be this one.
    end=haft-$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
    {
        printf 'session=%s\noutcome=%s\n' "$session" "$(field outcome)"
        printf 'answer<<%s\n%s\n%s\n' "$end" "$answer" "$end"
    } >>"$GITHUB_OUTPUT"
fi
if [ -n "${GITHUB_STEP_SUMMARY:-}" ] && [ -n "$session" ]; then
    haft sessions export "$session" --format markdown >>"$GITHUB_STEP_SUMMARY"
fi
exit "$code"
