"""An MCP server over the official Python SDK, for the tests: `peer.py stdio`, or `peer.py http`, which prints its address."""

import socket
import sys

import uvicorn
from mcp.server.mcpserver import MCPServer

server = MCPServer("peer", version="1.2.3")


@server.tool()
def echo(text: str) -> str:
    """Says it again."""
    return f"echo: {text}"


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.prompt()
def greet(name: str, style: str = "plain") -> str:
    """Greets a person."""
    return f"Greet {name} in a {style} way."


@server.resource("note://one")
def one() -> str:
    """The first note."""
    return "the first note"


@server.resource("note://by/{name}")
def by(name: str) -> str:
    """A note by its name."""
    return f"the note {name}"


def http():
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
    config = uvicorn.Config(server.streamable_http_app(), log_level="error")
    uvicorn.Server(config).run(sockets=[listener])


if sys.argv[1] == "stdio":
    server.run("stdio")
else:
    http()
