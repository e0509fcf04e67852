// An OpenID provider on loopback, certified: login_provider.mjs ADDRESS-OF-THE-SERVER
// Prints its address. A person who logs in as NAME has the address NAME@example.org; `ann` is in the group `team`, `ina` in
// `interns`, `eve` in none, and the address of `mal` is not verified. A request to /new-keys gives it another signing key.
import Provider from 'oidc-provider'
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { createServer } from 'node:http'

const [server] = process.argv.slice(2)
const groups = { eve: [], ina: ['interns'] }
const claims = (name) => ({ sub: `id-of-${name}`, email: `${name}@example.org`, email_verified: name !== 'mal', groups: groups[name] ?? ['staff', 'team'] })
const listener = createServer((request, response) => {
  if (request.url !== '/new-keys') return provider.callback()(request, response)
  provider = new Provider(address, settings())
  response.end()
})
await new Promise((resolve) => listener.listen(0, '127.0.0.1', resolve))
const address = `http://127.0.0.1:${listener.address().port}`
const key = () => ({ ...generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' }), kid: randomUUID(), use: 'sig', alg: 'RS256' })
const settings = () => ({
  jwks: { keys: [key()] },
  clients: [{ client_id: 'haft', client_secret: 'secret-of-haft', redirect_uris: [`${server}/login/callback`] }],
  claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['groups'] },
  // The claims stand in the ID token, as at most providers.
  conformIdTokenClaims: false,
  findAccount: (_, name) => ({ accountId: name, claims: () => claims(name) }),
  features: { devInteractions: { enabled: true } },
})
let provider = new Provider(address, settings())
console.log(address)
