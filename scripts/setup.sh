#!/bin/sh
# Installs what is missing, on Debian and its relatives: `setup.sh build` what the build and the demo need,
# `setup.sh test` what the tests need besides.
set -eu

missing=""
# PROGRAM PACKAGE…
need() {
    program=$1
    shift
    command -v "$program" >/dev/null 2>&1 || missing="$missing $*"
}

# The bindings of llama.cpp are made by bindgen, which loads libclang at build time: `libclang.so` or
# `libclang-NUMBER.so`, with or without a version behind it. `libclang-cpp` is another library. The headers of the
# compiler come with it.
has_libclang() {
    [ -n "${LIBCLANG_PATH:-}" ] && return
    for folder in /usr/lib /usr/lib64 /usr/local/lib /usr/lib/*-linux-* /usr/lib/llvm-*/lib; do
        for library in "$folder"/libclang.so* "$folder"/libclang-[0-9]*.so*; do
            [ -e "$library" ] && return
        done
    done
    return 1
}

need cc gcc libc6-dev
need c++ g++
need cmake cmake
need git git
need curl curl ca-certificates
need python3 python3
python3 -m pip --version >/dev/null 2>&1 || missing="$missing python3-pip"
has_libclang || missing="$missing libclang-dev"
if [ "${1:-build}" = test ]; then
    python3 -c 'import ensurepip' >/dev/null 2>&1 || missing="$missing python3-venv"
    need tmux tmux
    need mount mount
    need script bsdutils
    need npm nodejs npm
    need go golang-go
    need setfattr attr
    need ps procps
    need strace strace
    need ssh-keygen openssh-client
    need chromium chromium
    ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || missing="$missing postgresql"
    need setpriv util-linux
    need systemd-analyze systemd
    need rsync rsync
fi
[ -z "$missing" ] && exit 0

echo "installing:$missing"
if ! command -v apt-get >/dev/null; then
    echo "error: cannot install$missing: there is no apt-get on this machine" >&2
    echo "hint: install them by hand, then run this again" >&2
    exit 1
fi
as_root=""
[ "$(id -u)" = 0 ] || as_root="sudo"
$as_root apt-get update -qq
# shellcheck disable=SC2086
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
