#!/bin/sh
# Copies a data folder while its server runs: `backup.sh /var/lib/haft backup:/backups/haft`. Needs rsync, which copies
# only what changed since the last time.
#
# Haft writes the content of a file before the journal that names it. So journals are copied first: the copy has every
# content that its journals name.
set -eu
if [ $# != 2 ]; then
    echo "usage: $0 FOLDER [HOST:]FOLDER" >&2
    exit 2
fi
from=${1%/}/
to=${2%/}/

# 24: something was deleted while it was copied.
copy() {
    rsync -a "$@" "$from" "$to" || [ $? = 24 ]
}

copy --include='*/' --include=journal.jsonl --exclude='*'
copy --exclude=journal.jsonl
# Takes away what was deleted since the last time, and copies nothing.
copy --delete --existing --ignore-existing
