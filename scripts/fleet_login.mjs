// People who log in to a fleet at an OpenID provider: fleet_login.mjs BROWSER ADDRESS SECOND-ADDRESS OTHER-ADDRESS REPOSITORY
// All addresses are servers of the same fleet; people can log in at the first two. Ends with 1 and a line for each thing that is not as it should be.
import { request } from 'node:http'
import { end, expect, launch, logIn } from './browser.mjs'

const [program, address, second, other, repository] = process.argv.slice(2)
const browser = await launch(program)

// H-89. `ann` gives jobs of her own, and sees no others.
const ann = await logIn(browser, address, 'ann')
await ann.has('ann@example.org', '.account')
expect(`ann sees no job: ${await ann.text('nav')}`, !(await ann.text('nav')).includes('Of the admin'))
const token = await ann.tab.evaluate(() => sessionStorage.getItem('haft-token'))
const ask = async (server, method, path, body, by = token) => {
  const answer = await fetch(server + path, { method, headers: { authorization: `Bearer ${by}`, 'content-type': 'application/json' }, body: body && JSON.stringify(body) })
  return { code: answer.status, body: await answer.json().catch(() => ({})) }
}
const given = await ask(address, 'POST', '/v1/jobs', { kind: 'builder', description: 'Of ann', repository })
expect(`a job is given: ${JSON.stringify(given)}`, given.code === 201 && given.body.owner === 'ann@example.org')
await ann.has('Of ann')
const jobs = await ask(other, 'GET', '/v1/jobs')
expect(`another server of the fleet knows ann: ${JSON.stringify(jobs)}`, jobs.body.jobs?.length === 1)
expect('figures are for those who administer', (await ask(address, 'GET', '/metrics')).code === 403)

// H-145. A balancer may send a browser that comes back from the provider to another server than the one where its login began.
const back = await ann.tab.browserContext().newPage()
await back.setRequestInterception(true)
const callback = new Promise((found) => back.on('request', (asked) => {
  if (new URL(asked.url()).pathname !== '/login/callback') return asked.continue()
  found(asked.url())
  asked.abort()
}))
await back.goto(`${address}/login`).catch(() => null)
const url = new URL(await callback)
const cookies = (await back.cookies(url.href)).map(({ name, value }) => `${name}=${value}`).join('; ')
const returned = (cookie) => new Promise((done, failed) => {
  const headers = { host: url.host, cookie }
  request(second + url.pathname + url.search, { headers }, (answer) => { answer.resume(); done(answer) }).on('error', failed).end()
})
const stranger = await returned('')
expect(`a browser without the cookie is refused: ${stranger.statusCode}`, stranger.statusCode === 403)
const { statusCode, headers } = await returned(cookies)
expect(`the second server logs her in: ${statusCode}`, statusCode === 303 && headers.location?.startsWith('/#token='))
await back.close()

// H-120. Who may prompt and not approve gives jobs, and answers nothing that they ask.
const ina = await logIn(browser, address, 'ina')
await ina.has('ina@example.org', '.account')
await ina.has('intern', '.account')
const hers = await ina.tab.evaluate(() => sessionStorage.getItem('haft-token'))
const me = (await ask(address, 'GET', '/v1/me', undefined, hers)).body
expect(`ina may not approve: ${JSON.stringify(me)}`, me.role === 'intern' && me.may.join() === 'view,prompt')
const job = (await ask(address, 'POST', '/v1/jobs', { kind: 'builder', description: 'Of ina', repository }, hers)).body
let asked
for (let tries = 0; tries < 300 && !asked; tries++) {
  asked = (await ask(address, 'GET', `/v1/sessions/${job.job}/asked`, undefined, hers)).body[0]
  if (!asked) await new Promise((done) => setTimeout(done, 100))
}
expect('her job asks', Boolean(asked))
for (const server of [address, other]) {
  const refused = await ask(server, 'POST', `/v1/sessions/${job.job}/approvals/${asked?.call}`, { answer: 'once' }, hers)
  expect(`her answer is refused: ${JSON.stringify(refused)}`, refused.code === 403 && refused.body.error?.message.includes('has the role `intern`, which may not approve'))
}
expect('it still waits', (await ask(address, 'GET', `/v1/jobs/${job.job}`, undefined, hers)).body.status === 'waiting')
await ask(address, 'POST', `/v1/jobs/${job.job}/cancel`, undefined, hers)

// Who has a role that may not prompt is told so.
const eve = await logIn(browser, address, 'eve')
expect(`eve is told why: ${await eve.text('body')}`, (await eve.text('body')).includes('the role `viewer` may not prompt'))

await ann.press('nav button', 'Log out')
await ann.has('wants a token')
const ended = async () => (await ask(other, 'GET', '/v1/jobs')).code
for (let tries = 0; tries < 150 && (await ended()) !== 401; tries++) await new Promise((done) => setTimeout(done, 100))
expect('the token is refused everywhere', (await ended()) === 401)
await browser.close()
end('fleet login')
