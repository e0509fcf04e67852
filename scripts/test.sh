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

# More threads than cores: most tests wait for a process or a server. The tests of the binary take the longest, so all others
# run beside them, few at a time.
logs=$(mktemp -d)
try_beside() {
    "${@:2}" >"$logs/$1" 2>&1 || echo "$1" >>"$logs/failed"
}
beside=("other-tests" "doc-tests")
run_beside() {
    RUST_TEST_THREADS=2 try_beside other-tests cargo test --workspace --lib --bins --test '[!i]*' --test 'i[!t]*'
    try_beside doc-tests cargo test --workspace --doc
    # Programs of others against the binary.
    for script in $outside; do
        try_beside "$script" "scripts/$script.sh"
    done
}
outside="mcp serve page deploy fleet_page otel telegram acp"
run_beside &
RUST_TEST_THREADS=${RUST_TEST_THREADS:-8} cargo test --workspace --test 'it*' || echo tests >>"$logs/failed"
wait "$!"
for name in "${beside[@]}" $outside; do
    echo "$name:"
    cat "$logs/$name"
done
if [ -e "$logs/failed" ]; then
    echo "error: failed: $(tr '\n' ' ' <"$logs/failed")(their output is above)" >&2
    exit 1
fi
rm -rf "$logs"
