#!/bin/bash
# The page of `haft serve --fleet` in a browser: a PostgreSQL of its own, a worker with a scripted model, and a repository.
#
# HAFT names the binary; without it the debug build is taken. PAGES names a folder that screenshots are kept in.
set -euo pipefail
cd "$(dirname "$0")/.."

. scripts/peers.sh
haft=${HAFT:-$PWD/target/debug/haft}
scratch=$(mktemp -d)
running=()
trap 'for one in "${running[@]}"; do kill -INT "$one" 2>/dev/null || true; wait "$one" 2>/dev/null || true; done; rm -rf "$scratch"' EXIT
programs=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
if [ -z "$programs" ] || [ -z "$browser" ] || [ ! -d "$packages/axe-core" ]; then
    left_out "the page of \`haft serve --fleet\` in a browser"
    exit 0
fi

mkdir "$scratch/pg" "$scratch/work"
chmod 755 "$scratch"
as_nobody=()
if [ "$(id -u)" = 0 ]; then
    as_nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups --)
    chown 65534:65534 "$scratch/pg"
fi
(cd "$scratch/pg" && "${as_nobody[@]}" "$programs/initdb" --no-sync --auth=trust --username=haft -D "$scratch/pg/data") >"$scratch/log"
"${as_nobody[@]}" "$programs/postgres" -D "$scratch/pg/data" -c listen_addresses= -c "unix_socket_directories=$scratch/pg" 2>"$scratch/pg.log" &
running+=($!)
export HAFT_FLEET="postgres://haft@/postgres?host=$scratch/pg" HAFT_HOME=$scratch/home XDG_CONFIG_HOME=$scratch/config
for _ in $(seq 100); do
    if "$haft" fleet migrate >"$scratch/log" 2>&1; then break; fi
    sleep 0.1
done
# A job that is out of attempts, in a queue that is paused.
"$haft" fleet pause --queue docs >"$scratch/log"
"$haft" fleet limit --queue docs --running 2 --budget 50 >"$scratch/log"
"$haft" fleet add builder "Fix <b>the parser</b>" --queue docs >"$scratch/log"
"$programs/psql" --quiet "$HAFT_FLEET" -c "UPDATE jobs SET status = 'dead', reason = 'git failed', attempts = 5, ended = now()"
# One with names that are as long as they may be.
long=$(printf 'x%.0s' $(seq 64))
"$haft" fleet add builder "$(printf 'crates/%.0s' $(seq 30))" --queue "$long" >"$scratch/log"
"$haft" fleet cancel "$(cat "$scratch/log")" >"$scratch/log"
git -C "$scratch/work" init --quiet
echo end >"$scratch/work/counter.txt"
git -C "$scratch/work" add .
git -C "$scratch/work" -c user.name=Haft -c user.email=haft@localhost commit --quiet --message=Begin
cat >"$scratch/script" <<'SCRIPT'
{"say": "I count.", "calls": [{"name": "edit", "arguments": {"path": "counter.txt", "old_text": "end", "new_text": "+end"}}]}
{"calls": [{"name": "publish", "arguments": {"title": "Count"}}]}
{"say": "# Done\n\nCounted."}
{"calls": [{"name": "publish", "arguments": {"title": "Count"}}]}
{"say": "# Done\n\nCounted."}
SCRIPT
"$haft" serve --fleet "$HAFT_FLEET" --listen 127.0.0.1:0 2>"$scratch/said" &
running=($! "${running[@]}")
"$haft" worker --permission ask --model "script/$scratch/script" 2>"$scratch/worker" &
running=($! "${running[@]}")
address=
for _ in $(seq 100); do
    address=$(sed -n 's/^note: listening on //p' "$scratch/said")
    if [ -n "$address" ]; then break; fi
    sleep 0.1
done
if [ -x "$peers/python/bin/openapi-spec-validator" ]; then
    curl -sf -H "Authorization: Bearer $(cat "$scratch/home/serve-token")" "$address/openapi.json" >"$scratch/openapi.json"
    "$peers/python/bin/openapi-spec-validator" "$scratch/openapi.json" >"$scratch/log" || { echo "FAILED  the description of a fleet"; cat "$scratch/log"; exit 1; }
fi
copy_beside_libraries scripts/browser.mjs scripts/fleet_*.mjs scripts/login_provider.mjs scripts/push_service.mjs
if timeout 200 node "$beside/fleet_page.mjs" "$browser" "$address" "$(cat "$scratch/home/serve-token")" "$scratch/work" "${PAGES:-}"; then
    echo "ok      the page of a fleet in a browser"
else
    echo "FAILED  the page of a fleet in a browser"
    cat "$scratch/worker"
    exit 1
fi

mkdir -p "$scratch/config/haft"
cat >"$scratch/config/haft/config.toml" <<'TOML'
[serve.push]
contact = "mailto:push@example.org"
allow_private = true
after = 1
TOML
export HAFT_FLEET_KEY=0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a
addresses=()
for number in 1 2; do
    : >"$scratch/push$number"
    "$haft" serve --fleet "$HAFT_FLEET" --listen 127.0.0.1:0 2>"$scratch/push$number" &
    running=($! "${running[@]}")
    echo $! >"$scratch/kill"
    disown $!
    for _ in $(seq 100); do grep -q 'listening on' "$scratch/push$number" && break; sleep 0.1; done
    addresses+=("$(sed -n 's/^note: listening on //p' "$scratch/push$number")")
done
if timeout 300 node "$beside/fleet_push.mjs" "$browser" "${addresses[@]}" "$(cat "$scratch/home/serve-token")" "$haft" "$scratch/work" "$scratch"; then
    echo "ok      owners of a fleet who are notified"
else
    echo "FAILED  owners of a fleet who are notified"
    cat "$scratch/push1" "$scratch/push2"
    exit 1
fi

start_login_provider "$scratch" "$scratch/config/haft/config.toml"
running=("$provider" "${running[@]}")
echo 'role = "viewer"' >>"$scratch/config/haft/config.toml"
"$haft" fleet add builder "Of the admin" >"$scratch/log"
: >"$scratch/login1"
: >"$scratch/login2"
for number in 1 2; do
    LOGIN_SECRET=secret-of-haft "$haft" serve --fleet "$HAFT_FLEET" --listen "127.0.0.1:$port" 2>"$scratch/login$number" &
    running=($! "${running[@]}")
    for _ in $(seq 100); do grep -q 'listening on' "$scratch/login$number" && break; sleep 0.1; done
    port=0
done
mapfile -t addresses < <(sed -n 's/^note: listening on //p' "$scratch/login1" "$scratch/login2")
if timeout 200 node "$beside/fleet_login.mjs" "$browser" "${addresses[@]}" "$address" "$scratch/work"; then
    echo "ok      people who log in to a fleet at an OpenID provider"
else
    echo "FAILED  people who log in to a fleet at an OpenID provider"
    cat "$scratch/login1" "$scratch/login2"
    exit 1
fi
