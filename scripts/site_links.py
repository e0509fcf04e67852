#!/usr/bin/env python3
"""Checks a rendered site: `site_links.py FOLDER` fails if a link, a picture or a heading that a page names is not there, or
if a page loads a script, a style or a font from elsewhere."""
import os, re, sys
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """What a page names: its anchors, the addresses that it links to, and those that it loads."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links, self.loaded = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.anchors.update(given[name] for name in ("id", "name") if given.get(name))
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        for name in ("src", "data-recording", *(["href"] if tag == "link" else [])):
            if given.get(name):
                self.loaded.append(given[name])


def main():
    root = os.path.realpath(sys.argv[1])
    pages = {}
    for folder, _, names in os.walk(root):
        for name in names:
            if name.endswith(".html"):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as file:
                    pages[path] = Page(file.read())
    faults, count = [], 0
    for path, page in sorted(pages.items()):
        # Its addresses count from the root of the server.
        if os.path.basename(path) == "404.html":
            continue
        where = os.path.relpath(path, root)
        for address in page.links + page.loaded:
            count += 1
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                if address in page.loaded and parts.scheme != "data":
                    faults.append(f"{where} loads {address}")
                continue
            target = os.path.normpath(os.path.join(os.path.dirname(path), unquote(parts.path))) if parts.path else path
            if os.path.isdir(target):
                target = os.path.join(target, "index.html")
            if not target.startswith(root + os.sep) or not os.path.isfile(target):
                faults.append(f"{where}: there is no {address}")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                faults.append(f"{where}: no heading for {address}")
    # `site.js` puts each recording of this folder below the heading of its name.
    demonstrations = pages.get(os.path.join(root, "demonstrations.html"))
    recordings = os.path.join(root, "site", "recordings")
    for name in sorted(os.listdir(recordings)):
        if not demonstrations or os.path.splitext(name)[0] not in demonstrations.anchors:
            faults.append(f"site/recordings/{name}: no demonstration has this heading")
    for fault in faults:
        print(f"error: {fault}")
    if faults or not pages:
        sys.exit(f"error: {len(faults)} faults in {len(pages)} pages")
    print(f"{len(pages)} pages, {count} links: all lead somewhere")


main()
