// An OpenID provider on loopback, certified: login_provider.mjs ADDRESS-OF-THE-SERVER
// Prints its address. A person who logs in as NAME has the address NAME@example.org; `ann` is in the group `team`, `eve` in none,
// and the address of `mal` is not verified.
import Provider from 'oidc-provider'
import { createServer } from 'node:http'

const [server] = process.argv.slice(2)
const claims = (name) => ({ sub: `id-of-${name}`, email: `${name}@example.org`, email_verified: name !== 'mal', groups: name === 'eve' ? [] : ['staff', 'team'] })
const listener = createServer((request, response) => provider.callback()(request, response))
await new Promise((resolve) => listener.listen(0, '127.0.0.1', resolve))
const address = `http://127.0.0.1:${listener.address().port}`
const provider = new Provider(address, {
  clients: [{ client_id: 'haft', client_secret: 'secret-of-haft', redirect_uris: [`${server}/login/callback`] }],
  claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['groups'] },
  // The claims stand in the ID token, as at most providers.
  conformIdTokenClaims: false,
  findAccount: (_, name) => ({ accountId: name, claims: () => claims(name) }),
  features: { devInteractions: { enabled: true } },
})
console.log(address)
