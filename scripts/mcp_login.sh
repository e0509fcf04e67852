#!/bin/bash
# A client for the OAuth scenarios of MCP's conformance suite: logs in to the server at URL with `haft mcp login`, in a browser
# that says yes to everything, and calls its first tool. `mcp_login.sh HAFT URL`; the suite adds the address at the end.
set -euo pipefail
haft=$1
url=${!#}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export HOME=$scratch HAFT_HOME=$scratch/home XDG_CONFIG_HOME=$scratch/config
cat >"$scratch/browser.py" <<'PYTHON'
import sys, urllib.request
urllib.request.urlopen(sys.argv[1])
PYTHON
export BROWSER="python3 $scratch/browser.py"
# What a scenario knows of a client that was registered before.
known() { python3 -c 'import json, os, sys; print(json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}")).get(sys.argv[1], ""))' "$1"; }
id=$(known client_id)
CLIENT_SECRET=$(known client_secret)
export CLIENT_SECRET
"$haft" mcp add ${id:+--client-id "$id"} server "$url"
if [ -n "$CLIENT_SECRET" ]; then
    "$haft" config set mcp.server.oauth.client_secret '${CLIENT_SECRET}'
fi
"$haft" mcp login server
tool=$("$haft" mcp test server --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["tools"][0])')
"$haft" tools call "mcp__server__${tool//[^a-zA-Z0-9_-]/_}" '{}' --permission full
