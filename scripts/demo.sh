#!/bin/bash
# Builds Haft, fetches the demo model and tells in a scratch repository what Haft does: a question, an edit, an undo, a
# turn whose process is killed, and the page of a session. Each step is checked; one that fails fails the demo.
#
# HAFT names a binary that is built already.
set -euo pipefail
cd "$(dirname "$0")/.."

model=local/smollm2-135m
scratch=$(mktemp -d)
export HAFT_HOME=$scratch/home HAFT_MODELS=${HAFT_MODELS:-$PWD/models}
haft=${HAFT:-$PWD/target/debug/haft}

fail() { echo "error: $1; what there is lies in $scratch" >&2; exit 1; }

# TITLE FUNCTION: runs it, which says in `shown` what was to be seen, and says how long it took.
step() {
    local start=$EPOCHREALTIME
    shown=""
    echo
    echo "# $1"
    "$2"
    awk -v shown="$shown" -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { printf "ok  %4.1f s  %s\n", b - a, shown }'
}

# A command as a person would type it.
typed() {
    local word line="\$ haft"
    for word in "$@"; do
        case $word in *" "*) line+=" \"$word\"" ;; *) line+=" $word" ;; esac
    done
    echo "$line"
}

# Shows a command and runs it; what it prints is shown and kept in `said`.
run() {
    typed "$@"
    "$haft" "$@" >"$scratch/said" 2>&1 || { cat "$scratch/said"; fail "\`haft $1\` failed"; }
    sed 's/^/    /' "$scratch/said"
    said=$(cat "$scratch/said")
}

prepare() {
    if [ -z "${HAFT:-}" ]; then
        # Built once, to be looked at: what only helps the next build is left out.
        CARGO_INCREMENTAL=0 cargo build --quiet -p haft-cli
    fi
    "$haft" models pull smollm2-135m >/dev/null
    mkdir "$scratch/repository"
    cd "$scratch/repository"
    git init -q .
    printf 'Meeting on Monday.\nThe launch code is 7421.\n' >notes.txt
    printf '{\n  "name": "demo",\n  "port": 8080\n}\n' >config.json
    git add .
    git -c user.name=demo -c user.email=demo@localhost commit -qm "Begin"
    shown="a repository with two files in $PWD"
}

question() {
    run run --model $model "Read notes.txt and tell me the launch code."
    [[ $said == *7421* ]] || fail "the answer does not hold the launch code"
    shown="the model read a file and answered from it"
}

edit() {
    run run --model $model --permission accept-edits "Replace 8080 with 9090 in config.json."
    git diff --unified=0 config.json | tail -n +5 | sed 's/^/    /'
    grep -q '"port": 9090' config.json || fail "config.json was not changed"
    shown="the model changed one line of a file"
}

undo() {
    run undo
    git diff --quiet || fail "the file is not what it was"
    shown="the file is what it was"
}

# The process dies between its edit and the model's answer.
crash() {
    local prompt="Replace Monday with Tuesday in notes.txt." journal="" written
    echo "$(typed run --model $model --permission accept-edits "$prompt") & kill -9 \$!"
    "$haft" run --model $model --permission accept-edits "$prompt" >"$scratch/said" 2>&1 &
    local pid=$!
    until grep -q Tuesday notes.txt; do
        kill -0 $pid 2>/dev/null || fail "the turn ended before it changed a file"
        sleep 0.01
    done
    kill -9 $pid
    wait $pid 2>/dev/null || true
    journal=$(grep -l "$prompt" "$HAFT_HOME"/sessions/*/journal.jsonl)
    grep -q '"type":"turn_ended"' "$journal" && fail "the turn ended before it was killed"
    written=$(stat --format '%i %y' notes.txt)
    echo "    killed; the file is changed, and there is no answer"
    run resume --model $model --permission accept-edits
    [ "$(stat --format '%i %y' notes.txt)" = "$written" ] || fail "the file was written twice"
    [ "$(cat notes.txt)" = "$(printf 'Meeting on Tuesday.\nThe launch code is 7421.')" ] || fail "notes.txt is not as the edit leaves it"
    [ "$(grep -c '"type":"staged"' "$journal")" = 1 ] || fail "the journal does not hold exactly one edit"
    [ "$(grep -c '"type":"turn_ended"' "$journal")" = 1 ] || fail "the turn did not end"
    shown="a turn was killed in its middle and taken up again: the edit was made exactly once"
}

page() {
    local id file=$scratch/session.html
    id=$(basename "$(dirname "$(grep -l Tuesday "$HAFT_HOME"/sessions/*/journal.jsonl)")")
    echo "\$ haft sessions export $id --format html >$file"
    "$haft" sessions export "$id" --format html >"$file" || fail "the page was not written"
    grep -q 'Content-Security-Policy' "$file" && grep -qF '[true,"Tuesday."]' "$file" || fail "the page does not show the edit"
    shown="the page of the session: $file"
}

step "A repository, a model and a binary" prepare
step "A question about a file" question
step "An edit" edit
step "Undo" undo
step "A process that is killed" crash
step "A page to look at" page
