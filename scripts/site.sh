#!/bin/bash
# Renders `docs/` as a site into `target/site`, and checks that every link in it leads to a place there is.
#
# mdBook and the player of the recording are of fixed versions; both are kept in `target/site-tools`.
# HAFT_DOWNLOADS is the address of the release that the front page names, HAFT_HOMEPAGE that of the repository.
set -euo pipefail
cd "$(dirname "$0")/.."

mdbook=0.4.52
player=3.18.0
tools=$PWD/target/site-tools
site=$PWD/target/site

if [ "$("$tools/bin/mdbook" --version 2>/dev/null)" != "mdbook v$mdbook" ]; then
    cargo install mdbook --version "$mdbook" --locked --quiet --no-default-features --features search \
        --root "$tools" --target-dir "$tools/build"
    rm -rf "$tools/build"
fi
if [ ! -d "$tools/player-$player" ]; then
    archive=$(cd "$tools" && npm pack --silent "asciinema-player@$player")
    mkdir -p "$tools/unpacked"
    tar -C "$tools/unpacked" -xzf "$tools/$archive"
    rm "$tools/$archive"
    mv "$tools/unpacked/package" "$tools/player-$player"
fi

rm -rf "$site"
if [ -n "${HAFT_HOMEPAGE:-}" ]; then
    export MDBOOK_OUTPUT__HTML__GIT_REPOSITORY_URL=$HAFT_HOMEPAGE
fi
"$tools/bin/mdbook" build docs/site
mkdir -p "$site/site/player"
cp "$tools/player-$player"/dist/bundle/asciinema-player.{css,min.js} "$tools/player-$player/LICENSE" "$site/site/player/"
grep -rlF '@DOWNLOADS@' "$site" | while read -r file; do
    sed -i "s|@DOWNLOADS@|${HAFT_DOWNLOADS:-ADDRESS}|g" "$file"
done
python3 scripts/site_links.py "$site"
