// An MCP server over the official TypeScript SDK, with the authorization server of its examples in the same process: it says
// yes to every person, wants the `resource` of RFC 8707, and cannot refresh. `peer.mjs NODE_MODULES` prints its address.
import { createRequire } from 'node:module';
import { createServer } from 'node:http';

const modules = process.argv[2];
const sdk = path => import(`${modules}/@modelcontextprotocol/sdk/dist/esm/${path}.js`);
const express = createRequire(`${modules}/`)('express');
const { McpServer } = await sdk('server/mcp');
const { StreamableHTTPServerTransport } = await sdk('server/streamableHttp');
const { mcpAuthRouter } = await sdk('server/auth/router');
const { requireBearerAuth } = await sdk('server/auth/middleware/bearerAuth');
const { DemoInMemoryAuthProvider } = await sdk('examples/server/demoInMemoryOAuthProvider');

const app = express();
const http = createServer(app);
await new Promise(resolve => http.listen(0, '127.0.0.1', resolve));
const address = `http://127.0.0.1:${http.address().port}`;
const resource = new URL(`${address}/mcp`);
const provider = new DemoInMemoryAuthProvider(asked => asked?.href === resource.href);
app.use(mcpAuthRouter({ provider, issuerUrl: new URL(address), resourceServerUrl: resource, scopesSupported: ['notes'] }));
const metadata = `${address}/.well-known/oauth-protected-resource/mcp`;
app.use('/mcp', requireBearerAuth({ verifier: provider, resourceMetadataUrl: metadata }), express.json());
app.post('/mcp', async (request, response) => {
    const server = new McpServer({ name: 'peer', version: '1.2.3' });
    server.registerTool('ping', { description: 'Answers.' }, () => ({ content: [{ type: 'text', text: 'pong' }] }));
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
    await server.connect(transport);
    await transport.handleRequest(request, response, request.body);
});
app.all('/mcp', (_, response) => response.status(405).end());
console.log(`${address}/mcp`);
