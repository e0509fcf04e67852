#!/bin/bash
# Builds the image of the Containerfile around a binary, starts it, and asks it over HTTP; then as a worker would be
# started. Needs root, `buildah` and `mmdebstrap`: the base system is made here, so that no registry of images is asked.
#
#   scripts/container.sh [BINARY]
set -euo pipefail
cd "$(dirname "$0")/.."
binary=$(realpath "${1:-target/dist/haft}")
[ "$(id -u)" = 0 ] || { echo "error: cannot make a base system: only root may" >&2; exit 1; }
[ -x "$binary" ] || { echo "error: \`$binary\` is not there; run \`cargo build --profile dist -p haft-cli\`" >&2; exit 1; }
missing=""
for program in buildah mmdebstrap; do command -v $program >/dev/null || missing="$missing $program"; done
# shellcheck disable=SC2086
[ -z "$missing" ] || apt-get install -y -qq $missing >/dev/null

folder=$(mktemp -d)
export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot
store=(--root "$folder/store" --runroot "$folder/run")
trap 'kill "$(cat "$folder/server" 2>/dev/null)" 2>/dev/null || true; wait; buildah "${store[@]}" rm -a >/dev/null 2>&1 || true; rm -rf "$folder"' EXIT

# What the first line of the file names, made of the same packages.
mmdebstrap --quiet --variant=minbase bookworm "$folder/base.tar"
base=$(buildah "${store[@]}" from scratch)
buildah "${store[@]}" add -q "$base" "$folder/base.tar" / >/dev/null
buildah "${store[@]}" commit -q "$base" localhost/debian:12-slim >/dev/null
mkdir -p "$folder/context/target/dist"
cp "$binary" "$folder/context/target/dist/haft"
sed 's|^FROM debian:12-slim|FROM localhost/debian:12-slim|' Containerfile >"$folder/context/Containerfile"
buildah "${store[@]}" build -q --pull-never -t haft "$folder/context" >/dev/null

made=$(buildah "${store[@]}" from --pull-never localhost/haft)
run() { buildah "${store[@]}" run "$made" -- "$@"; }
test "$(run id -un)" = haft
run haft doctor || true
# As the image says, on another port.
word=$(buildah "${store[@]}" inspect --format '{{index .OCIv1.Config.Entrypoint 0}} {{index .OCIv1.Config.Cmd 0}} {{index .OCIv1.Config.Cmd 1}}' "$made")
test "$word" = "haft serve --listen"
run env OPENAI_API_KEY=nobody sh -c 'echo $$ >/var/lib/haft/server; exec haft serve --listen 127.0.0.1:18171 --model openai' 2>"$folder/said" &
for _ in $(seq 100); do curl -fsS http://127.0.0.1:18171/healthz >/dev/null 2>&1 && break; sleep 0.1; done
curl -fsS http://127.0.0.1:18171/healthz || { cat "$folder/said" >&2; exit 1; }
echo
run cat /var/lib/haft/server >"$folder/server"
token=$(run cat /var/lib/haft/serve-token)
test "$(curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:18171/v1/sessions)" = 401
curl -fsS -H "Authorization: Bearer $token" http://127.0.0.1:18171/v1/sessions && echo
run haft worker --help >/dev/null
echo "the image works"
