#!/bin/sh
# Writes crates/haft-cli/startup.order: which functions run until the first reply, in the order of their first call.
# Names change with the toolchain and with libraries; run this when `make bench` says that the memory has grown. It needs
# valgrind, and builds the binary with its symbols.
set -eu
cd "$(dirname "$0")/.."
HAFT_SYMBOLS=1 cargo build --release --quiet -p haft-cli
python3 scripts/startup_order.py target/release/haft crates/haft-cli/startup.order
# Without symbols again, in the new order.
cargo build --release --quiet -p haft-cli
