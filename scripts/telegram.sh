#!/bin/bash
# `haft telegram` against a Bot API emulator of other people: a prompt, a file written after a button's press, a
# restart in the middle, a stranger.
#
# HAFT names the binary; without it the debug build is taken.
set -euo pipefail
cd "$(dirname "$0")/.."

. scripts/peers.sh
haft=${HAFT:-$PWD/target/debug/haft}
scratch=$(mktemp -d)
server=
bot=
trap 'kill $bot $server 2>/dev/null || true; rm -rf "$scratch"' EXIT
export HAFT_HOME=$scratch/home XDG_CONFIG_HOME=$scratch/config TELEGRAM_BOT_TOKEN=sampleToken
mkdir -p "$scratch/work" "$scratch/config"

[ -d "$packages/telegram-test-api" ] || { left_out "Telegram against another program"; exit 0; }

NODE_PATH=$packages node scripts/telegram_server.cjs >"$scratch/port" 2>"$scratch/server" & server=$!
for _ in $(seq 600); do
    if [ -s "$scratch/port" ] || ! kill -0 "$server" 2>/dev/null; then break; fi
    sleep 0.1
done
[ -s "$scratch/port" ] || { echo "FAILED  the emulator does not start"; cat "$scratch/server"; exit 1; }
url=http://127.0.0.1:$(cat "$scratch/port")
export TELEGRAM_BASE_URL=$url

person() { timeout 90 python3 scripts/telegram_person.py "$url" "$@"; }
start() { "$haft" telegram --allow 7 --cwd "$scratch/work" --permission "$2" --model "script/$scratch/$1" 2>>"$scratch/notes" & bot=$!; }
end() { kill "-$1" "$bot"; wait "$bot" 2>/dev/null || true; bot=; }
failed=0
report() {
    if [ "$2" = 0 ]; then echo "ok      $1"; else echo "FAILED  $1"; cat "$scratch/log" "$scratch/notes"; failed=1; fi
}
# name, number, what the bot says there
hears() { code=0; person hears "$2" "$3" >"$scratch/log" 2>&1 || code=$?; report "$1" "$code"; }

cat >"$scratch/first" <<'JSON'
{"say": "Hello **you**, this comes piece by piece and with an end.", "pieces": 3, "delay_ms": 60}
{"say": "I write.", "calls": [{"name": "write", "arguments": {"path": "a.txt", "content": "by telegram\n"}}]}
{"say": "It is written."}
{"say": "I begin and", "hang": true}
JSON
grep -v hang "$scratch/first" >"$scratch/second"
echo '{"say": "I begin and end."}' >>"$scratch/second"

start first ask
person say 7 hi
hears "an answer to a prompt" 7 "Hello <b>you</b>, this comes piece by piece and with an end."
code=0
last=0 asked=
for _ in $(seq 600); do
    read -r last asked < <(person asked) || true
    [ "$asked" = $((last + 1)) ] && break
    sleep 0.1
done
[ "$asked" = $((last + 1)) ] || code=1
report "updates are asked for from the last one and one" "$code"

person say 66 "let me in"
hears "a stranger is told why not" 66 "your number is 66"

person say 7 "write it"
hears "a question with the diff" 7 "+by telegram"
person press 7 "Allow once"
hears "an answer after the button" 7 "It is written."
code=0; grep -q "by telegram" "$scratch/work/a.txt" || code=1
report "the file" "$code"

person say 7 "go on"
hears "a turn begins" 7 "I begin and"
end KILL
start second ask
hears "a turn that died is taken up again" 7 "I begin and end."
person say 7 "/goal"
hears "the goal is shown" 7 "no goal is set"
person say 7 "/plan"
hears "plan mode begins" 7 "nothing is changed until you accept a plan"
person say 7 "/memory"
hears "there is nothing to remember" 7 "show nothing to add"
end INT
start second ask
sleep 1.5
end INT
code=0; [ "$(person count 7 'I begin and')" = 1 ] || code=1
report "nothing is answered twice" "$code"

code=0
TELEGRAM_BOT_TOKEN='no token' "$haft" telegram --model "script/$scratch/second" >"$scratch/log" 2>&1 || code=$?
[ "$code" = 2 ] && grep -q "is not a valid token" "$scratch/log" && code=0
report "an odd token" "$code"
code=0; grep -q sampleToken -r "$scratch/notes" "$scratch/home" && code=1
report "the token stands nowhere" "$code"
exit "$failed"
