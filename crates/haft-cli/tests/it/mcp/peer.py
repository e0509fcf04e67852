"""An MCP server over the official Python SDK, for the tests: `peer.py stdio`, or `peer.py http`, which prints its address.

`peer.py http oauth SECONDS LOG` lets in only those who logged in. Its authorization server says yes to every person, gives
tokens that work for SECONDS, and notes in LOG what it was asked.
"""

import pathlib
import secrets
import socket
import sys
import time

import anyio
import uvicorn
from mcp.server.auth.provider import AccessToken, AuthorizationCode, RefreshToken, construct_redirect_uri
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthToken
from mcp.types import Completion


class Provider:
    """An authorization server that keeps everything in memory."""

    def __init__(self, seconds, log):
        self.seconds, self.log = seconds, log
        self.clients, self.codes, self.access, self.refreshes = {}, {}, {}, {}

    def note(self, text):
        with open(self.log, "a") as log:
            print(text, file=log)

    async def get_client(self, client_id):
        return self.clients.get(client_id)

    async def register_client(self, client):
        self.note(f"register {client.client_name}")
        self.clients[client.client_id] = client

    async def authorize(self, client, params):
        self.note(f"authorize {params.resource}")
        code = AuthorizationCode(
            code=secrets.token_urlsafe(24),
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        self.codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state)

    async def load_authorization_code(self, client, code):
        return self.codes.get(code)

    async def exchange_authorization_code(self, client, code):
        self.note("exchange")
        del self.codes[code.code]
        return self.issue(client, code.scopes, code.resource)

    async def load_refresh_token(self, client, token):
        return self.refreshes.get(token)

    async def exchange_refresh_token(self, client, token, scopes):
        self.note("refresh")
        del self.refreshes[token.token]
        return self.issue(client, scopes, token.resource)

    async def load_access_token(self, token):
        return self.access.get(token)

    async def revoke_token(self, token):
        self.note("revoke")
        for tokens in (self.access, self.refreshes):
            tokens.pop(token.token, None)

    def issue(self, client, scopes, resource):
        def token():
            return "secret-" + secrets.token_urlsafe(24)

        access, refresh = token(), token()
        until = int(time.time()) + self.seconds
        self.access[access] = AccessToken(
            token=access, client_id=client.client_id, scopes=scopes, expires_at=until, resource=resource
        )
        self.refreshes[refresh] = RefreshToken(
            token=refresh, client_id=client.client_id, scopes=scopes, resource=resource
        )
        return OAuthToken(
            access_token=access, token_type="Bearer", expires_in=self.seconds, refresh_token=refresh, scope=" ".join(scopes)
        )


def with_oauth(address, seconds, log):
    settings = AuthSettings(
        issuer_url=address,
        resource_server_url=f"{address}/mcp",
        validate_token_resource=True,
        required_scopes=["notes"],
        client_registration_options=ClientRegistrationOptions(enabled=True, valid_scopes=["notes"]),
        revocation_options=RevocationOptions(enabled=True),
    )
    return {"auth_server_provider": Provider(seconds, log), "auth": settings}


arguments = sys.argv[1:]
listener = socket.create_server(("127.0.0.1", 0))
address = f"http://127.0.0.1:{listener.getsockname()[1]}"
options = with_oauth(address, int(arguments[2]), arguments[3]) if "oauth" in arguments else {}
server = MCPServer("peer", version="1.2.3", **options)


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


@server.completion()
async def complete(ref, argument, context):
    """Names and styles; for a name that begins with `wait`, once there is a file `go` in the folder."""
    if argument.name == "style":
        known = [f"{context.arguments['name'].lower()} and warm"]
    else:
        known = ["Ada", "Alan", "waiting"]
    while argument.value == "wait" and not pathlib.Path("go").exists():
        await anyio.sleep(0.01)
    return Completion(values=[value for value in known if value.startswith(argument.value)])


if arguments[0] == "stdio":
    server.run("stdio")
else:
    print(f"{address}/mcp", flush=True)
    config = uvicorn.Config(server.streamable_http_app(), log_level="error")
    uvicorn.Server(config).run(sockets=[listener])
