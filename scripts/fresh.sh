#!/bin/bash
# Runs `make demo` and `make test` as on machines that are new: in Debian systems made for it, with a clean clone of the
# last commit and the Rust toolchain of this machine in them, and nothing else but what the README names as needed.
#
#   scripts/fresh.sh [SYSTEM | SYSTEM:demo | SYSTEM:test]…
#   scripts/fresh.sh bullseye bookworm trixie
#
# The second form tries the packages that `scripts/dist.sh` made, in `target/packages`, on Debian 11, 12 and 13 without a
# compiler: each is installed, does the demo and is removed.
#
# Systems: `bare`; `clang`, where LLVM's libclang-cpp is already there, which is not the libclang that the build needs;
# `person`, where a user who is not root runs the commands. Without a name: all three, one after the other.
# Needs root and `mmdebstrap`. Takes what this machine knows of package sources, certificates and proxies along.
set -euo pipefail
cd "$(dirname "$0")/.."

# What the README names as needed before.
needed=make,git
[ "$(id -u)" = 0 ] || { echo "error: cannot make a system of its own: only root may" >&2; exit 1; }
command -v mmdebstrap >/dev/null || apt-get install -y -qq mmdebstrap >/dev/null

report=$(mktemp)
trap 'rm -f "$report"' EXIT

# SYSTEM: what lies in it besides
more_packages() {
    case $1 in
    bare) ;;
    clang) echo ,libclang-cpp14 ;;
    person) echo ,sudo ;;
    *) echo "error: no system is called \`$1\`; there are bare, clang and person" >&2; exit 2 ;;
    esac
}

# FOLDER: what this machine is told of the way to package registries
take_settings() {
    local root=$1 file
    mkdir -p "$root/etc/haft-fresh"
    for file in /etc/ssl/certs/ca-certificates.crt /etc/pip.conf "$HOME/.npmrc"; do
        [ ! -f "$file" ] || cp -L "$file" "$root/etc/haft-fresh/"
    done
    cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
    {
        env | grep -iE '^(http|https|no|all)_proxy=' || true
        if [ -f "$root/etc/haft-fresh/ca-certificates.crt" ]; then
            for name in SSL_CERT_FILE CURL_CA_BUNDLE GIT_SSL_CAINFO CARGO_HTTP_CAINFO PIP_CERT REQUESTS_CA_BUNDLE NODE_EXTRA_CA_CERTS; do
                echo "$name=/etc/haft-fresh/ca-certificates.crt"
            done
        fi
    } >"$root/etc/haft-fresh/environment"
}

# FOLDER: a clean clone, the cases that lie beside the repository, and the toolchain
take_project() {
    local root=$1 toolchain
    toolchain=$(rustc --print sysroot)
    mkdir -p "$root/home/person/haft" "$root/opt/rust"
    git clone -q . "$root/home/person/haft/main"
    [ ! -d ../shared/conformance ] || { mkdir -p "$root/home/person/haft/shared" && cp -r ../shared/conformance "$root/home/person/haft/shared/"; }
    cp -r "$toolchain/." "$root/opt/rust/"
}

# FOLDER USER COMMAND…: in the system, alone: its processes end with it, and nothing stays mounted. Not by `chroot`, in
# which no process may make a namespace of its own, as some tests do.
inside() {
    local root=$1 user=$2
    shift 2
    unshare --mount --pid --fork --kill-child sh -ec '
        root=$1 user=$2; shift 2
        mount --rbind "$root" "$root"
        mount -t proc proc "$root/proc" && mount --rbind /sys "$root/sys" && mount --rbind /dev "$root/dev"
        mkdir -p "$root/.before" && cd "$root" && pivot_root . .before && cd /
        # The new system may have no `umount`.
        old=/.before; libraries=$(echo $old/usr/lib/*-linux-gnu)
        "$(ls $old/usr/lib/*-linux-gnu/ld-linux-*.so.*)" --library-path "$libraries" $old/usr/bin/umount -l $old
        exec su - "$user" -c "$*"' sh "$root" "$user" "$@"
}

# SYSTEM NAME-OF-STEP COMMAND…: says how it ended, and how long it took
step() {
    local name="$1: $2" start=$EPOCHREALTIME ended=well
    shift 2
    "$@" || ended=BADLY
    awk -v name="$name" -v ended="$ended" -v a="$start" -v b="$EPOCHREALTIME" \
        'BEGIN { printf "%-22s ended %s after %.0f s\n", name, ended, b - a }' | tee -a "$report"
    [ "$ended" = well ]
}

try() {
    local system=${1%%:*} steps=demo,test user=root root packages
    case $1 in *:*) steps=${1#*:} ;; esac
    packages=$(more_packages "$system")
    [ "$system" != person ] || user=person
    root=$(mktemp -d -p "${TMPDIR:-/var/tmp}" "haft-fresh-$system-XXXX")
    step "$system" "system" mmdebstrap --quiet --variant=apt --include="$needed$packages" "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$root" || return 1
    take_settings "$root"
    take_project "$root"
    chroot "$root" useradd --home-dir /home/person --shell /bin/bash person
    [ "$system" != person ] || echo 'person ALL=(ALL) NOPASSWD: ALL' >"$root/etc/sudoers.d/person"
    for home in /root /home/person; do
        [ ! -f "$root/etc/haft-fresh/.npmrc" ] || cp "$root/etc/haft-fresh/.npmrc" "$root$home/"
    done
    [ "$user" = root ] || chroot "$root" chown -R person /home/person
    # Nothing that only the programs of the machine have may be left out.
    local require=1
    [ -d ../shared/conformance ] || require=programs
    local prepare="set -a; . /etc/haft-fresh/environment; PATH=/opt/rust/bin:\$PATH; HAFT_REQUIRE_ALL=$require; set +a; cd /home/person/haft/main"
    local ended=0
    local command
    for command in ${steps//,/ }; do
        step "$system" "make $command" inside "$root" "$user" "$prepare && make $command" || ended=1
    done
    rm -rf --one-file-system "$root"
    return "$ended"
}

# SUITE: each package of `target/packages`, in a Debian of that name
try_packages() {
    local suite=$1 root port server pipx=,pipx ended=0
    # Debian 11 has none: a virtual environment in its place.
    [ "$suite" != bullseye ] || pipx=,python3-venv
    root=$(mktemp -d -p "${TMPDIR:-/var/tmp}" "haft-fresh-$suite-XXXX")
    step "$suite" "system" mmdebstrap --quiet --variant=apt --include=ca-certificates,curl,git,nodejs,npm,passwd,procps$pipx \
        "$suite" "$root" || return 1
    take_settings "$root"
    chroot "$root" useradd --create-home --shell /bin/bash person
    mkdir -p "$root/opt/haft" "$root/opt/packages" "$root/opt/models"
    git archive HEAD | tar -x -C "$root/opt/haft"
    cp -r target/packages/. "$root/opt/packages/"
    cp models/*.gguf "$root/opt/models/"
    chmod -R a+rX "$root/opt"
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    python3 -m http.server --bind 127.0.0.1 --directory target/packages "$port" >/dev/null 2>&1 &
    server=$!
    until curl -fso /dev/null "http://127.0.0.1:$port/install.sh"; do sleep 0.1; done
    step "$suite" "packages" inside "$root" root /opt/haft/scripts/fresh_packages.sh "http://127.0.0.1:$port" /opt/packages /opt/models || ended=1
    kill "$server"
    rm -rf --one-file-system "$root"
    return "$ended"
}

failed=0
[ $# -gt 0 ] || set -- bare clang person
for system in "$@"; do
    case $system in
    bullseye | bookworm | trixie) try_packages "$system" || failed=1 ;;
    *) try "$system" || failed=1 ;;
    esac
done
echo
cat "$report"
exit "$failed"
