// People who are notified by `haft serve`, and answer from the notification: serve_push.mjs BROWSER ADDRESS TOKEN HAFT WORKSPACE [FOLDER]
// What the push service decrypts is handed to the page's service worker by DevTools.
// Ends with 1 and a line for each thing that is not as it should be. Screenshots go into FOLDER.
import { execFileSync } from 'node:child_process'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { end, expect, launch, look, open, person } from './browser.mjs'
import { pushService, subscribes } from './push_service.mjs'

const [program, address, token, haft, workspace, folder] = process.argv.slice(2)
const { service, devices, subscription, message, close } = await pushService(['phone', 'viewer', 'stranger', 'gone', 'busy'])
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

async function ask(method, path, body, by = token) {
  const headers = { authorization: `Bearer ${by}`, 'content-type': 'application/json' }
  const answer = await fetch(address + path, { method, headers, body: body && JSON.stringify(body) })
  const read = await answer.json()
  expect(`${method} ${path}: ${JSON.stringify(read)}`, answer.ok)
  return read
}
const put = (name, wishes, by) => ask('PUT', '/v1/push', { subscription: subscription(name), wishes }, by)

/** A session in which a call waits. */
async function asking(made = {}) {
  rmSync(join(workspace, 'a.txt'), { force: true })
  const { id } = await ask('POST', '/v1/sessions', { permission: 'ask', ...made })
  await ask('POST', `/v1/sessions/${id}/prompt`, { text: 'write it' })
  return id
}
const about = (session, kind) => (told) => told.session === session && told.kind === kind
const addUser = (name, role) => execFileSync(haft, ['serve', 'add-user', name, '--role', role], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()

const browser = await launch(program)
await browser.defaultBrowserContext().overridePermissions(address, ['notifications'])
const tab = await open(browser, /40[149]/)
const { text, seen, has, press } = person(tab)
const looked = (name) => look(tab, `push-${name}`, folder)
await subscribes(tab, subscription('phone'))

// H-97. The page can be installed.
await tab.goto(`${address}/#token=${token}`)
await press('main button', 'Notify this device…')
await tab.waitForSelector('dialog[open] .notify')
const tools = await tab.createCDPSession()
const { installabilityErrors } = await tools.send('Page.getInstallabilityErrors')
expect(`the page can be installed: ${JSON.stringify(installabilityErrors)}`, installabilityErrors.every(({ errorId }) => errorId === 'in-incognito'))
const { errors } = await tools.send('Page.getAppManifest')
expect(`the manifest is valid: ${JSON.stringify(errors)}`, errors.length === 0)

// H-98. What is told, and when.
expect('quiet hours are hidden until they are wanted', await tab.$eval('.hours', (one) => one.hidden))
await tab.click('#tell-turns')
await tab.click('#tell-quiet')
await looked('settings')
await tab.click('#tell-quiet')
await tab.focus('#tell-turns')
await tab.keyboard.press('Enter')
await seen('the button says that it is on', () => [...document.querySelectorAll('main button')].some((one) => one.innerText === 'Notifications: on'))
const { key, devices: own } = await ask('GET', '/v1/push')
devices.forEach((one) => { one.wanted = key })
expect(`the server has the device: ${JSON.stringify(own)}`, own.length === 1 && own[0].endpoint === `${service}/phone` && own[0].wishes.turns && own[0].wishes.quiet === null)

/** The worker of the page, and a way to hand it messages. */
const registered = new Promise((resolve) => tools.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => { if (registrations[0]) resolve(registrations[0].registrationId) }))
await tools.send('ServiceWorker.enable')
const registrationId = await registered
const deliver = (told) => tools.send('ServiceWorker.deliverPushMessage', { origin: address, registrationId, data: JSON.stringify(told) })
const shown = () => tab.evaluate(async () => (await (await navigator.serviceWorker.ready).getNotifications()).map(({ title, body, tag, actions }) => ({ title, body, tag, actions: actions.map(({ action, title }) => `${action}: ${title}`).join() })))
const worker = async () => (await browser.waitForTarget((target) => target.type() === 'service_worker')).worker()
const pressOn = async (action) => (await worker()).evaluate(async (action) => {
  const [notification] = await self.registration.getNotifications()
  notification.close()
  await self.pressed(notification, action)
}, action)
const shows = async (what, is) => {
  for (let tries = 0; tries < 100; tries++, await pause(50)) if (is(await shown())) return
  expect(`${what}: ${JSON.stringify(await shown())}`, false)
}

// The page is in view: a person sees the question there.
const first = await asking()
const asked = await message('phone', about(first, 'approval'))
expect(`what waits: ${JSON.stringify(asked)}`, asked?.title === 'write it' && /a\.txt/.test(asked?.text) && /\+ one/.test(asked?.text) && asked?.actions.join() === 'allow,deny')
await deliver(asked)
await has('Haft asks: write it', '#asks')
await looked('in-view')
expect('nothing is shown over the page', (await shown()).length === 0)
await tab.click('#asks button')

// The person looks elsewhere, and allows it from the notification.
const other = await browser.newPage()
await other.bringToFront()
expect(`the page is out of view`, await tab.evaluate(() => document.visibilityState) === 'hidden')
await deliver(asked)
await shows('the notification with its answers', ([one]) => one?.title === 'Haft asks: write it' && one.body === asked.text && one.tag === first && one.actions === 'allow: Allow,deny: Deny')
expect('nothing is written before', !existsSync(join(workspace, 'a.txt')))
await pressOn('allow')
const over = await message('phone', about(first, 'turn'))
expect(`how it ended: ${JSON.stringify(over)}`, over?.text === 'It is written.' && over?.call === null && over?.topic === asked.topic)
expect('it is written', existsSync(join(workspace, 'a.txt')))
await deliver(asked)
await shows('an old notification is shown', ([one]) => one?.tag === first)
await pressOn('deny')
await shows('what was answered before is told', ([one]) => one?.body.startsWith('Not answered: '))

// Denied.
const second = await asking()
await deliver(await message('phone', about(second, 'approval')))
await shows('the second notification', (all) => all.some(({ tag }) => tag === second))
await (await worker()).evaluate(async (tag) => self.pressed((await self.registration.getNotifications({ tag }))[0], 'deny'), second)
await message('phone', about(second, 'turn'))
const { updates } = await ask('GET', `/v1/sessions/${second}/timeline`)
expect(`it was denied: ${JSON.stringify(updates)}`, !existsSync(join(workspace, 'a.txt')) && JSON.stringify(updates).includes('"answer":"no"'))

// A press on the notification itself shows the session at its question.
const third = await asking()
const waits = await message('phone', about(third, 'approval'))
await deliver(waits)
await shows('the third notification', (all) => all.some(({ tag }) => tag === third))
await (await worker()).evaluate(async (tag) => self.pressed((await self.registration.getNotifications({ tag }))[0], '').catch(() => { /* only a press of a person may focus a window */ }), third)
await tab.bringToFront()
// What the worker says where it may focus the window.
await tab.evaluate((session) => { if (!location.hash) navigator.serviceWorker.dispatchEvent(new MessageEvent('message', { data: { open: session } })) }, third)
await tab.waitForSelector('.asking')
expect(`the question is in view: ${await tab.evaluate(() => location.hash)}`, await tab.$eval('.asking', (card) => card.getBoundingClientRect().top < innerHeight) && await tab.evaluate(() => location.hash) === `#s/${third}`)
await press('.asking button', 'Allow once')
await message('phone', about(third, 'turn'))

// What was answered meanwhile is not told.
const quick = await asking()
const { 0: { call } } = await (async () => {
  for (;;) {
    const all = await ask('GET', `/v1/sessions/${quick}/asked`)
    if (all.length) return all
    await pause(20)
  }
})()
await ask('POST', `/v1/sessions/${quick}/approvals/${call}`, { answer: 'once' })
await message('phone', about(quick, 'turn'))
expect('what was answered at once is not told', !await message('phone', about(quick, 'approval'), 1500))

// What is too long to be seen whole can be denied only.
writeFileSync(join(workspace, 'long'), `${JSON.stringify({ calls: [{ name: 'write', arguments: { path: 'long.txt', content: 'ä'.repeat(9000) } }] })}\n{"say": "Done."}\n`)
const long = await asking({ model: 'script/long' })
const cut = await message('phone', about(long, 'approval'))
expect(`a long text: ${JSON.stringify(cut)?.slice(0, 200)}`, cut?.actions.join() === 'deny' && cut?.text.includes('…'))

// Users: who may not approve gets no answers to press, and what a user does not see is not told. A service that is busy is tried again.
const [viewer, stranger] = [addUser('vera', 'viewer'), addUser('sam', 'member')]
await put('viewer', { turns: true }, viewer)
await put('stranger', { turns: true }, stranger)
devices.get('busy').answers.push(503)
await put('busy', {})
devices.get('gone').answers.push(410)
await put('gone', {})
const fourth = await asking()
const toViewer = await message('viewer', about(fourth, 'approval'))
expect(`a viewer is told, and cannot answer: ${JSON.stringify(toViewer)}`, toViewer && toViewer.actions.length === 0)
expect(`a busy service is tried again: ${devices.get('busy').tries}`, await message('busy', about(fourth, 'approval')) && devices.get('busy').tries === 2)
expect('a member is not told of the session of another', !await message('stranger', () => true, 500))
const left = await ask('GET', '/v1/push')
expect(`a device that has unsubscribed is gone: ${JSON.stringify(left)}`, left.devices.every(({ endpoint }) => !endpoint.endsWith('/gone')) && left.devices.length === 2)
expect('a user sees no device of another', (await ask('GET', '/v1/push', undefined, viewer)).devices.length === 1)
const mine = await fetch(`${address}/v1/sessions`, { method: 'POST', headers: { authorization: `Bearer ${stranger}`, 'content-type': 'application/json' }, body: '{"permission":"ask"}' }).then((answer) => answer.json())
await ask('POST', `/v1/sessions/${mine.id}/prompt`, { text: 'mine' }, stranger)
const toStranger = await message('stranger', about(mine.id, 'approval'))
expect(`a member is told of their own: ${JSON.stringify(toStranger)}`, toStranger?.actions.join() === 'allow,deny')
await message('viewer', about(mine.id, 'approval'))
// Another token, another role: neither is notified any more.
addUser('vera', 'viewer')
execFileSync(haft, ['serve', 'remove-user', 'sam'])
devices.get('viewer').got = []

// H-98. In quiet hours nothing is told. A question that waits is told at their end.
const clock = (minutes) => new Date(Date.now() + minutes * 60000).toISOString().slice(11, 16)
await put('phone', { turns: true, quiet: { from: clock(-60), to: clock(60), zone: 'UTC' } })
const night = await asking()
expect('the others are told', await message('busy', about(night, 'approval')))
expect('who was removed, or has another token, is not', devices.get('viewer').got.length === 0 && devices.get('stranger').got.length === 0)
expect('it is quiet', !await message('phone', about(night, 'approval'), 1500))
const row = (await ask('GET', '/v1/push')).devices.find(({ endpoint }) => endpoint.endsWith('/busy'))
await ask('DELETE', `/v1/push?id=${row.id}`)

// The page as an app, in a tab of its own: the device keeps the login.
const app = await open(browser)
await subscribes(app, subscription('phone'))
await app.goto(`${address}/#s/${night}`)
await app.waitForSelector('.asking')
await app.close()

// It is switched off.
await tab.bringToFront()
await tab.evaluate(() => { location.hash = '' })
await press('main button', 'Notifications: on')
await tab.waitForSelector('dialog[open] .notify')
expect('the settings are those of the device', await tab.$eval('#tell-quiet', (box) => box.checked) && !await tab.$eval('.hours', (one) => one.hidden))
await looked('on')
await press('dialog button', 'Stop notifications')
await seen('the button offers it again', () => [...document.querySelectorAll('main button')].some((one) => one.innerText === 'Notify this device…'))
expect('the server has no device', (await ask('GET', '/v1/push')).devices.length === 0)
const fresh = await open(browser, /401/)
await fresh.goto(address)
await person(fresh).has('wants a token')
await browser.close()
close()
end('push')
