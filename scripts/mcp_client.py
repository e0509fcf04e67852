"""Calls `haft mcp` through the official Python SDK: `mcp_client.py HAFT FOLDER`, or a URL in place of HAFT.

Works in FOLDER. Exits with 0 where everything is as it should be."""

import asyncio
import os
import pathlib
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


async def main():
    haft, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    arguments = ["mcp", "--quiet", "--no-agents", "--expose", "read,write,bash", "--cwd", str(folder)]
    over_stdio = StdioServerParameters(command=haft, args=arguments, env=dict(os.environ))
    server = haft if haft.startswith("http") else over_stdio
    for mode in ["legacy", "auto"]:
        await check(server, folder, mode)


asyncio.run(main())
