#!/usr/bin/env python3
"""Completes the bill of materials that `cargo cyclonedx` writes: the C libraries that are linked into the binary.

    sbom.py TARGET BOM.json TOOLCHAIN-VERSION

`packaging/c-libraries.toml` names them, for each crate that compiles C. A crate of the binary that compiles C and is not in
that file, or one in the file that the binary no longer has, is an error.
"""
import json, subprocess, sys, tomllib
from pathlib import Path

COMPILERS = {"cc", "cmake"}


def compiles_c(target):
    """The packages linked into the binary whose build scripts compile C, by name, with their versions."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", target]
    metadata = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node["deps"] for node in metadata["resolve"]["nodes"]}
    waiting = [id for id, package in packages.items() if package["name"] == "haft-cli"]
    linked = set()
    while waiting:
        id = waiting.pop()
        if id not in linked:
            linked.add(id)
            waiting += [needed["pkg"] for needed in nodes[id] if any(kind["kind"] is None for kind in needed["dep_kinds"])]
    def builds_with(id):
        return {packages[n["pkg"]]["name"] for n in nodes[id] if any(kind["kind"] == "build" for kind in n["dep_kinds"])}
    return {packages[id]["name"]: packages[id]["version"] for id in linked if builds_with(id) & COMPILERS}


def main():
    target, path, toolchain = sys.argv[1:]
    root = Path(__file__).parent.parent
    known = tomllib.loads((root / "packaging/c-libraries.toml").read_text())
    found = compiles_c(target) | {"toolchain": toolchain}
    for name in sorted(found.keys() - known.keys()):
        sys.exit(f"error: {name} compiles C, and packaging/c-libraries.toml does not tell which libraries that is")
    for name in sorted(known.keys() - found.keys()):
        sys.exit(f"error: packaging/c-libraries.toml tells of {name}, which is not in the binary")
    bom = json.loads(Path(path).read_text())
    for crate, version in sorted(found.items()):
        for library in known[crate]["libraries"]:
            bom["components"].append({
                "type": "library",
                "bom-ref": f"c:{library['name']}",
                "name": library["name"],
                "version": version,
                "description": f"C code, compiled by `{crate}` {version}; the version is that of `{crate}`",
                "licenses": [{"expression": library["license"]} if " " in library["license"] else {"license": {"id": library["license"]}}],
                "externalReferences": [{"type": "vcs", "url": library["source"]}],
            })
    Path(path).write_text(json.dumps(bom, indent=1) + "\n")


main()
