#!/bin/sh
# Measures what the README quotes, with the release binary.
set -eu
cd "$(dirname "$0")/.."
cargo build --release --quiet -p haft-cli
python3 scripts/bench.py
python3 scripts/bench_screen.py
cargo run --release --quiet -p haft-tools --example find
cargo run --release --quiet -p haft-dialects --example dialect_speed
cargo run --release --quiet -p haft-stage --example attempts
cargo run --release --quiet -p haft-serve --example load -- target/release/haft
