#!/bin/sh
# Makes what is handed out: `dist.sh [TARGET] [FOLDER]`, by default for this machine, in `target/packages`.
#
# The binary runs on glibc 2.28 and newer (Debian 10, Ubuntu 20.04, RHEL 8, Amazon Linux 2023), whatever this machine has:
# `zig cc` links it against the symbols of that version. `ziglang` and `maturin` come from the Python registry into a
# folder of their own. Tried: x86_64-unknown-linux-gnu. Not tried: aarch64-unknown-linux-gnu (the same command, with the
# Rust target installed), and x86_64- and aarch64-apple-darwin (on a Mac, without a glibc version).
set -eu
cd "$(dirname "$0")/.."

target=${1:-$(rustc -vV | sed -n 's/^host: //p')}
folder=${2:-target/packages}
profile=${HAFT_PROFILE:-dist}
tools=$PWD/target/dist-tools
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
glibc=2.28

if [ ! -x "$tools/bin/maturin" ]; then
    python3 -m venv "$tools"
    "$tools/bin/pip" install --quiet --disable-pip-version-check ziglang==0.17.1 'maturin>=1.9,<2'
fi
PATH=$tools/bin:$PATH
export PATH
for tool in cargo-cyclonedx cargo-deb; do
    command -v $tool >/dev/null || cargo install --quiet --locked --root "$tools" $tool
done

mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
# The wheel for Python's tools. maturin compiles the binary that all packages hold, with `zig cc` as its linker, and packs
# what lies in `haft.data` along.
case $target in
    *-linux-gnu) portable="--zig --compatibility manylinux_$(echo $glibc | tr . _)" ;;
    *) portable="" ;;
esac
data=$PWD/packaging/pypi/haft.data
# bindgen reads C headers with the libclang of this machine: those of its compiler and of its C library.
headers="-isystem $(cc -print-file-name=include) -isystem /usr/include/$(cc -dumpmachine) -isystem /usr/include"
wheel() {
    # shellcheck disable=SC2086
    (cd packaging/pypi && env "BINDGEN_EXTRA_CLANG_ARGS_$target=$headers" \
        "BINDGEN_EXTRA_CLANG_ARGS_$(echo "$target" | tr - _)=$headers" \
        maturin build --quiet --profile "$profile" --target "$target" $portable --out "$folder")
}
rm -rf "$data"
mkdir -p "$data"
wheel
binary=target/$target/$profile/haft
[ "$profile" != dev ] || binary=target/$target/debug/haft

# What the binary needs of the system, so that nothing newer slips in.
case $target in
    *-linux-gnu)
        newest=$(objdump -T "$binary" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -1)
        case $(printf '%s\n' "GLIBC_$glibc" "$newest" | sort -V | tail -1) in
            "GLIBC_$glibc") ;;
            *) echo "error: $binary needs $newest, and is to run with glibc $glibc" >&2; exit 1 ;;
        esac
        ;;
esac

# What stands beside the binary in every package.
share=target/share
rm -rf "$share"
mkdir -p "$share/man/man1" "$share/bash-completion/completions" "$share/zsh/site-functions" \
    "$share/fish/vendor_completions.d" "$share/haft"
"$binary" man --to "$share/man/man1" >/dev/null
"$binary" completions bash >"$share/bash-completion/completions/haft"
"$binary" completions zsh >"$share/zsh/site-functions/_haft"
"$binary" completions fish >"$share/fish/vendor_completions.d/haft.fish"
"$binary" completions powershell >"$share/haft/completions.ps1"
mkdir -p "$data/data"
cp -r "$share" "$data/data/share"
wheel
rm -rf "$data"

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT

# The tarball, and the script that installs it.
name=haft-$version-$target
root=$stage/$name
mkdir -p "$root/bin"
cp "$binary" "$root/bin/haft"
cp -r "$share" "$root/share"
cp README.md CHANGELOG.md LICENSE-APACHE LICENSE-MIT "$root/"
tar -C "$stage" --sort=name --owner=0 --group=0 --numeric-owner -czf "$folder/$name.tar.gz" "$name"
(cd "$folder" && sha256sum "$name.tar.gz" >"$name.tar.gz.sha256")
sum=$(cut -d' ' -f1 <"$folder/$name.tar.gz.sha256")
# FILE: with the values of this release in it
filled() {
    sed -e "s|@VERSION@|$version|g; s|@DOWNLOADS@|${HAFT_DOWNLOADS:-}|g; s|@HOMEPAGE@|${HAFT_HOMEPAGE:-}|g" \
        -e "s|@SHA256_$target@|$sum|g" "$1"
}
filled packaging/install.sh >"$folder/install.sh"
filled packaging/ci/gitlab/haft.yml >"$folder/haft.gitlab-ci.yml"
cp packaging/ci/run.sh "$folder/ci-run.sh"
cp packaging/harbor/haft_harbor.py "$folder/haft_harbor.py"
filled packaging/homebrew/haft.rb >"$folder/haft.rb"
# What `haft update` reads. It is made again once the tarballs of all systems are in one folder.
"$PWD/scripts/index.sh" "$folder" "$version"

# For npm: one package for each system with the binary, and one that starts it.
case $target in
    x86_64-unknown-linux-gnu) npm=linux-x64 ;;
    aarch64-unknown-linux-gnu) npm=linux-arm64 ;;
    x86_64-apple-darwin) npm=darwin-x64 ;;
    aarch64-apple-darwin) npm=darwin-arm64 ;;
    *) npm="" ;;
esac
if [ -n "$npm" ] && command -v npm >/dev/null; then
    mkdir -p "$stage/npm/$npm/bin" "$stage/npm/haft/bin"
    cp "$binary" "$stage/npm/$npm/bin/haft"
    cp -r packaging/npm/install.js README.md LICENSE-APACHE LICENSE-MIT "$share" "$stage/npm/haft/"
    cp packaging/npm/start.js "$stage/npm/haft/bin/haft"
    chmod +x "$stage/npm/haft/bin/haft"
    cat >"$stage/npm/$npm/package.json" <<JSON
{ "name": "haft-$npm", "version": "$version", "description": "The binary of haft for $npm",
  "license": "MIT OR Apache-2.0", "os": ["${npm%-*}"], "cpu": ["${npm#*-}"], "files": ["bin"] }
JSON
    cat >"$stage/npm/haft/package.json" <<JSON
{ "name": "haft", "version": "$version",
  "description": "A coding agent that records every tool call, asks before it changes anything, and can undo it",
  "license": "MIT OR Apache-2.0", "bin": { "haft": "bin/haft" }, "files": ["bin", "install.js", "share"],
  "scripts": { "postinstall": "node install.js" },
  "directories": { "man": "share/man/man1" },
  "optionalDependencies": { "haft-linux-x64": "$version", "haft-linux-arm64": "$version",
    "haft-darwin-x64": "$version", "haft-darwin-arm64": "$version" } }
JSON
    npm pack --silent --pack-destination "$folder" "$stage/npm/$npm" "$stage/npm/haft" >/dev/null
fi

# For Debian and its relatives.
case $target in
    *-linux-gnu)
        cargo deb --quiet --no-build --no-strip --package haft-cli --profile "$profile" --target "$target" --output "$folder/"
        ;;
esac

# What it is made of, the C libraries included.
bom=haft-$version-$target.cdx.json
cargo cyclonedx --quiet --manifest-path crates/haft-cli/Cargo.toml --target "$target" --no-default-features --features local \
    --format json --spec-version 1.5 --override-filename "${bom%.json}"
mv "crates/haft-cli/$bom" "$folder/$bom"
python3 scripts/sbom.py "$target" "$folder/$bom" "zig $(python-zig version 2>/dev/null || "$tools/bin/python" -m ziglang version)"

ls -l "$folder"
