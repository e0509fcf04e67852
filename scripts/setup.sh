#!/bin/sh
# Installs what the build and the tests need and is not there: a C++ compiler, cmake and libclang for the embedded
# model, a terminal for the tests of the screen.
set -eu

missing=""
command -v cmake >/dev/null || missing="$missing cmake"
command -v c++ >/dev/null || missing="$missing g++"
command -v git >/dev/null || missing="$missing git"
command -v python3 >/dev/null || missing="$missing python3 python3-pip"
command -v tmux >/dev/null || missing="$missing tmux"
if [ -z "${LIBCLANG_PATH:-}" ] && ! ls /usr/lib/llvm-*/lib/libclang*.so* /usr/lib/*/libclang*.so* >/dev/null 2>&1; then
    missing="$missing libclang-dev"
fi
[ -z "$missing" ] && exit 0

echo "installing:$missing"
if ! command -v apt-get >/dev/null; then
    echo "error: cannot install$missing: there is no apt-get on this machine" >&2
    echo "hint: install them by hand, then run this again" >&2
    exit 1
fi
sudo=""
[ "$(id -u)" = 0 ] || sudo="sudo"
$sudo apt-get update -qq
# shellcheck disable=SC2086
DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq $missing >/dev/null
