#!/bin/bash
# All tests. Fetches the demo model and other people's programs; where one of them cannot be had, its tests are left out
# with a note, or fail where HAFT_REQUIRE_ALL is set.
set -euo pipefail
cd "$(dirname "$0")/.."

export HAFT_MODELS=${HAFT_MODELS:-$PWD/models}
# What is left out is collected here, and told again at the end.
HAFT_SKIPPED=$(mktemp)
export HAFT_SKIPPED

tell_skipped() {
    sort -u "$HAFT_SKIPPED"
    echo "skipped: $(sort -u "$HAFT_SKIPPED" | wc -l) tests, in whole or in part"
    rm -f "$HAFT_SKIPPED"
}
trap tell_skipped EXIT

. scripts/peers.sh

cargo test --workspace --no-run
target/debug/haft models pull smollm2-135m || left_out "the demo model cannot be had here"

# More threads than cores: most tests wait for a process or a server.
export RUST_TEST_THREADS=${RUST_TEST_THREADS:-8}
python3 scripts/watched.py cargo test --workspace --lib --bins --tests

# Programs of others against the binary, beside the examples of the documentation: each mostly waits for a process or a server.
logs=$(mktemp -d)
try_outside() {
    "scripts/$1.sh" >"$logs/$1" 2>&1 || echo "$1" >>"$logs/failed"
}
export -f try_outside
export logs
outside="mcp serve page deploy fleet_page otel telegram acp"
printf "%s\n" $outside | xargs -P 3 -I{} bash -c 'try_outside {}' &
cargo test --workspace --doc || echo doc >>"$logs/failed"
wait "$!"
for script in $outside; do
    echo "scripts/$script.sh"
    cat "$logs/$script"
done
if [ -e "$logs/failed" ]; then
    echo "error: failed: $(tr '\n' ' ' <"$logs/failed")(their output is above)" >&2
    exit 1
fi
rm -rf "$logs"
