#!/bin/sh
# Installs Haft for this user, without root: `curl -fsSL ADDRESS/install.sh | sh`.
#
# Takes the package of this system from HAFT_DOWNLOADS (by default where this script was released), checks its SHA-256,
# and puts it below HAFT_PREFIX (by default ~/.local). Nothing is replaced before the new version is whole and answers.
# Undo: `sh install.sh --remove`. Sessions, configuration and keys are left where they are.
set -eu

downloads=${HAFT_DOWNLOADS:-@DOWNLOADS@}
prefix=${HAFT_PREFIX:-$HOME/.local}
version=${HAFT_VERSION:-@VERSION@}
files="bin/haft share/man/man1 share/bash-completion/completions/haft share/zsh/site-functions/_haft share/fish/vendor_completions.d/haft.fish share/haft/completions.ps1"

fail() {
    echo "error: $1" >&2
    [ $# -lt 2 ] || echo "hint: $2" >&2
    exit 1
}

remove() {
    [ -e "$prefix/bin/haft" ] || fail "there is no Haft in $prefix" "HAFT_PREFIX names the folder that it was installed to"
    rm -f "$prefix/bin/haft" "$prefix/bin/haft.previous"
    rm -f "$prefix"/share/man/man1/haft.1 "$prefix"/share/man/man1/haft-*.1
    for file in $files; do
        case $file in share/man/man1) ;; *) rm -f "$prefix/$file" ;; esac
    done
    rmdir "$prefix/share/haft" 2>/dev/null || true
    echo "removed Haft from $prefix; sessions, configuration and keys were left"
    exit 0
}

# The name of this system, as packages have it.
platform() {
    case $(uname -s) in
        Linux) system=unknown-linux-gnu ;;
        Darwin) system=apple-darwin ;;
        *) fail "there is no package for $(uname -s)" "build it: see README.md" ;;
    esac
    case $(uname -m) in
        x86_64 | amd64) machine=x86_64 ;;
        aarch64 | arm64) machine=aarch64 ;;
        *) fail "there is no package for $(uname -m)" "build it: see README.md" ;;
    esac
    if [ "$system" = unknown-linux-gnu ]; then
        libc=$(getconf GNU_LIBC_VERSION 2>/dev/null | cut -d' ' -f2)
        [ -n "$libc" ] || fail "this system has no glibc" "build it: see README.md"
        case $(printf '%s\n' 2.28 "$libc" | sort -V | head -1) in
            2.28) ;;
            *) fail "glibc $libc is too old: the package needs 2.28" "build it: see README.md" ;;
        esac
    fi
    echo "$machine-$system"
}

# ADDRESS FILE
fetch() {
    if command -v curl >/dev/null; then
        curl -fsSL --retry 2 --connect-timeout 20 -o "$2" "$1"
    elif command -v wget >/dev/null; then
        wget -q -O "$2" "$1"
    else
        fail "neither curl nor wget is there" "install one of them"
    fi
}

sum_of() {
    if command -v sha256sum >/dev/null; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d' ' -f1
}

install() {
    name=haft-$version-$(platform)
    scratch=$(mktemp -d) || fail "cannot make a folder for the download" "is the disk full? TMPDIR names another place"
    trap 'rm -rf "$scratch"' EXIT
    echo "fetching $downloads/$name.tar.gz"
    fetch "$downloads/$name.tar.gz" "$scratch/package" || fail "cannot fetch $downloads/$name.tar.gz" "is the address right? A proxy is taken from https_proxy"
    fetch "$downloads/$name.tar.gz.sha256" "$scratch/sum" || fail "cannot fetch the checksum of $name.tar.gz"
    wanted=$(cut -d' ' -f1 <"$scratch/sum")
    found=$(sum_of "$scratch/package")
    [ "$wanted" = "$found" ] || fail "the download is damaged: its SHA-256 is $found, not $wanted" "run it again; nothing was changed"
    tar -xzf "$scratch/package" -C "$scratch" || fail "cannot unpack $name.tar.gz" "is the disk full? Nothing was changed"
    "$scratch/$name/bin/haft" --version >/dev/null || fail "the package does not run here" "nothing was changed; \`ldd\` says what is missing"
    mkdir -p "$prefix/bin" || fail "cannot write to $prefix" "HAFT_PREFIX names another folder"
    for file in $files; do
        mkdir -p "$(dirname "$prefix/$file")"
        case $file in
            share/man/man1) mkdir -p "$prefix/$file" && cp "$scratch/$name/$file"/*.1 "$prefix/$file/" ;;
            *) cp "$scratch/$name/$file" "$prefix/$file.new" && mv -f "$prefix/$file.new" "$prefix/$file" ;;
        esac || fail "cannot write $prefix/$file" "the version that was there still is"
    done
    echo "installed $("$prefix/bin/haft" --version) to $prefix/bin/haft"
    case :$PATH: in
        *:"$prefix/bin":*) ;;
        *) echo "note: $prefix/bin is not in the PATH: export PATH=\"$prefix/bin:\$PATH\"" ;;
    esac
    echo "to undo this: run this script again with --remove"
}

case ${1:-} in
    --remove) remove ;;
    "") install ;;
    *) fail "\`$1\` is not an option" "there is --remove" ;;
esac
