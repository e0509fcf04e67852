#!/bin/sh
# Writes the index that `haft update` reads: `index.sh FOLDER VERSION`, from the tarballs of that version in FOLDER.
#
# HAFT_SIGNING_KEY names the file of a secret minisign key; `minisign` or `rsign` signs the index with it, and asks for its
# password. Without it the index is not signed, and no `haft update` takes it.
set -eu

folder=$1
version=$2
cd "$folder"
rm -f index.json.minisig

{
    printf '{\n  "format": 1,\n  "version": "%s",\n  "files": {' "$version"
    separator=
    for file in "haft-$version"-*.tar.gz; do
        [ -e "$file" ] || { echo "error: there is no haft-$version-*.tar.gz in $folder" >&2; exit 1; }
        target=${file#"haft-$version-"}
        printf '%s\n    "%s": { "url": "%s", "sha256": "%s", "size": %s }' "$separator" "${target%.tar.gz}" "$file" \
            "$(sha256sum "$file" | cut -d' ' -f1)" "$(($(wc -c <"$file")))"
        separator=,
    done
    printf '\n  }\n}\n'
} >index.json.new
mv -f index.json.new index.json

if [ -z "${HAFT_SIGNING_KEY:-}" ]; then
    echo "note: $folder/index.json is not signed, so \`haft update\` does not take it: HAFT_SIGNING_KEY names no key" >&2
elif command -v minisign >/dev/null; then
    minisign -S -s "$HAFT_SIGNING_KEY" -m index.json -x index.json.minisig -t "haft $version"
elif command -v rsign >/dev/null; then
    rsign sign -s "$HAFT_SIGNING_KEY" -x index.json.minisig -t "haft $version" index.json
else
    echo "error: cannot sign $folder/index.json: neither minisign nor rsign is there" >&2
    exit 1
fi
