#!/bin/bash
# Installs each package of this release, uses it and removes it again, in a system that has nothing of Haft. `fresh.sh` runs
# it there, as root:
#
#   fresh_packages.sh DOWNLOADS FOLDER MODELS
#
# DOWNLOADS is the address of the packages, FOLDER is where they lie, MODELS where the demo model is. `person` is a user.
set -euo pipefail
downloads=$1 folder=$2 models=$3
project=$(cd "$(dirname "$0")/.." && pwd)
ended=0

as_person() { su - person -c "set -a; [ ! -f /etc/haft-fresh/environment ] || . /etc/haft-fresh/environment; set +a; $1"; }

# The files that a system has, but for those that every run leaves.
files() {
    find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /tmp -o -path /var/cache -o -path /var/log \
        -o -path "$project" -o -path "$folder" -o -path /home/person/.npm -o -path /home/person/.cache \) -prune -o -type f -print | sort
}

# WAY HAFT INSTALL REMOVE: HAFT is where the program is then; INSTALL and REMOVE are commands, of root if they begin with `dpkg`.
try() {
    local way=$1 haft=$2 install=$3 remove=$4 start end
    local run=as_person
    case $install in dpkg*) run=eval ;; esac
    files >/tmp/before
    start=$EPOCHREALTIME
    if ! $run "$install" >/tmp/said 2>&1; then
        cat /tmp/said
        echo "$way: cannot be installed"
        return 1
    fi
    as_person "$haft --version" || return 1
    end=$EPOCHREALTIME
    files | comm -13 /tmp/before - >/tmp/installed
    local brought
    for brought in man1/haft.1 man1/haft-undo.1 completions/haft _haft haft.fish haft/completions.ps1; do
        # Of a compressed page, the name goes on.
        grep -qF "/$brought" /tmp/installed || { cat /tmp/installed; echo "$way: does not bring $brought"; return 1; }
    done
    # What is missing for a first prompt is a model, and that is a finding.
    as_person "$haft doctor" >/tmp/said 2>&1 || true
    grep -q 'commands: ' /tmp/said || { cat /tmp/said; echo "$way: haft doctor does not say whether commands are confined"; return 1; }
    if ! as_person "HAFT=$haft HAFT_MODELS=$models $project/scripts/demo.sh" >/tmp/said 2>&1; then
        cat /tmp/said
        echo "$way: the demo failed"
        return 1
    fi
    # What only Haft does, in a new folder each.
    if command -v python3 >/dev/null && ! as_person "HAFT=$haft $project/scripts/demonstrations.py --alone" >/tmp/said 2>&1; then
        cat /tmp/said
        echo "$way: a demonstration failed"
        return 1
    fi
    $run "$remove" >/tmp/said 2>&1 || { cat /tmp/said; echo "$way: cannot be removed"; return 1; }
    files >/tmp/after
    # Sessions and keys are the person's.
    if comm -13 /tmp/before /tmp/after | grep -i haft | grep -v '/haft/sessions/'; then
        echo "$way: leaves these files"
        return 1
    fi
    awk -v way="$way" -v a="$start" -v b="$end" 'BEGIN { printf "%s: installed in %.1f s, the demo passed, removed\n", way, b - a }'
}

version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$project/Cargo.toml" | head -1)
script="curl -fsSL $downloads/install.sh | HAFT_DOWNLOADS=$downloads sh"
try script /home/person/.local/bin/haft "$script -s --" "$script -s -- --remove" || ended=1
try deb /usr/bin/haft "dpkg -i $folder/haft_*.deb" "dpkg --purge haft" || ended=1
# The packages of other systems are optional, and only in a registry.
npm="npm --global --prefix /home/person/npm"
try npm /home/person/npm/bin/haft \
    "$npm install --omit=optional --no-optional $folder/haft-linux-x64-$version.tgz $folder/haft-$version.tgz" \
    "$npm uninstall haft haft-linux-x64" || ended=1
if command -v pipx >/dev/null; then
    try pipx /home/person/.local/bin/haft "pipx install $folder/haft-$version-*.whl" "pipx uninstall haft" || ended=1
else
    venv=/home/person/venv
    try pip $venv/bin/haft "python3 -m venv $venv && $venv/bin/pip install --quiet $folder/haft-$version-*.whl" \
        "$venv/bin/pip uninstall --quiet --yes haft" || ended=1
fi
exit "$ended"
