"""An MCP server that asks for answers of a model, over the official Python SDK."""

import base64
import warnings

from mcp.server.mcpserver import Context, MCPServer
from mcp.shared.exceptions import MCPError
from mcp.types import ImageContent, SamplingMessage, TextContent, ToolAnnotations

warnings.simplefilter("ignore")
server = MCPServer("sampler")


def said(role, text):
    return SamplingMessage(role=role, content=TextContent(type="text", text=text))


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
async def sum_up(what: str, ctx: Context) -> str:
    """Sums up."""
    if ctx.session.client_capabilities.sampling is None:
        return "this client has no model"
    messages = [said("user", "One."), said("assistant", "1"), said("user", "Two."), said("assistant", "2")]
    if what == "a picture":
        data = base64.b64encode(b"x").decode()
        messages.append(SamplingMessage(role="user", content=ImageContent(type="image", data=data, mime_type="image/png")))
    else:
        messages.append(said("user", "x" * 30_000 if what == "too much" else f"Sum up {what}."))
    try:
        answer = await ctx.session.create_message(messages, max_tokens=500, system_prompt="Be brief.")
    except MCPError as error:
        return f"refused: {error}"
    return f"{answer.stop_reason}: {answer.content.text}"


server.run("stdio")
