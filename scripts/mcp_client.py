"""Calls `haft mcp` through the official Python SDK: `mcp_client.py HAFT FOLDER`, or a URL in place of HAFT.

Works in FOLDER. Exits with 0 where everything is as it should be."""

import asyncio
import json
import os
import pathlib
import subprocess
import sys

from mcp import Client, StdioServerParameters
from mcp.types import ElicitResult

heard = []


async def on_progress(progress, total, message):
    heard.append(message)


def answering(answer):
    async def answer_it(context, params):
        return ElicitResult(action="accept", content={"answer": answer})

    return answer_it


async def check(server, folder, mode):
    call = {"path": f"{mode}.txt", "content": "from Python\n"}
    written = folder / call["path"]
    async with Client(server, mode=mode, elicitation_callback=answering("no")) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names == ["read", "write", "bash"], names
        refused = await client.call_tool("write", call)
        assert refused.is_error and not written.exists(), refused
    async with Client(server, mode=mode, elicitation_callback=answering("yes")) as client:
        allowed = await client.call_tool("write", call)
        assert not allowed.is_error and written.read_text() == call["content"], allowed
        read = await client.call_tool("read", {"path": call["path"]})
        assert "from Python" in read.content[0].text, read
        shown = await client.call_tool("bash", {"command": "echo out"}, progress_callback=on_progress)
        assert "out" in shown.content[0].text and heard, (shown, heard)
    async with Client(server, mode=mode) as client:
        nobody = await client.call_tool("bash", {"command": "touch never"})
        assert nobody.is_error and not (folder / "never").exists(), nobody


def repository(folder):
    """A repository with one commit, and a model that writes a file and says so."""
    folder.mkdir()
    git = ["git", "-c", "user.name=S", "-c", "user.email=s@example.org"]
    subprocess.run([*git, "init", "--quiet", "-b", "main"], cwd=folder, check=True)
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "-m", "Begin"], cwd=folder, check=True)
    for key, value in [("user.name", "S"), ("user.email", "s@example.org")]:
        subprocess.run(["git", "config", key, value], cwd=folder, check=True)
    script = folder.with_suffix(".jsonl")
    write = {"calls": [{"name": "write", "arguments": {"path": "notes.md", "content": "x\n"}}]}
    script.write_text(f"{json.dumps(write)}\n{json.dumps({'say': 'There are notes.'})}\n")
    return script


async def check_builder(haft, folder):
    script = repository(folder)
    arguments = ["mcp", "--quiet", "--model", f"script/{script}", "--permission", "full", "--cwd", str(folder)]
    server = StdioServerParameters(command=haft, args=arguments, env=dict(os.environ))
    async with Client(server, mode="legacy") as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert {"agent", "builder", "debugger", "reviewer", "triager"} <= names, names
        missing = await client.call_tool("builder", {})
        assert missing.is_error, missing
        built = await client.call_tool("builder", {"description": "Add notes"}, progress_callback=on_progress)
        told = built.structured_content
        assert not built.is_error and told["status"] == "completed", built
        assert told["evidence"][0]["files"] == ["notes.md"], told
    log = subprocess.run(["git", "log", "--format=%s", told["branch"]], cwd=folder, capture_output=True, text=True)
    assert log.stdout.splitlines()[0] == "Add notes", log


async def main():
    haft, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    arguments = ["mcp", "--quiet", "--no-agents", "--expose", "read,write,bash", "--cwd", str(folder)]
    over_stdio = StdioServerParameters(command=haft, args=arguments, env=dict(os.environ))
    server = haft if haft.startswith("http") else over_stdio
    for mode in ["legacy", "auto"]:
        await check(server, folder, mode)
    if not haft.startswith("http"):
        await check_builder(haft, folder / "repository")


asyncio.run(main())
