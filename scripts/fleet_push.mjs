// Owners of a fleet who are notified by its servers: fleet_push.mjs BROWSER ADDRESS OTHER TOKEN HAFT REPOSITORY FOLDER
// Two servers of the fleet listen at ADDRESS and OTHER; `kill` in FOLDER holds the process ID of the second one. A worker waits
// beside them whose model edits, asks to publish, and ends. Ends with 1 and a line for each thing that is not as it should be.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { end, expect, launch, open, person } from './browser.mjs'
import { pushService, subscribes } from './push_service.mjs'

const [program, address, other, token, haft, repository, folder] = process.argv.slice(2)
const { devices, subscription, message, close } = await pushService(['phone', 'ann', 'busy', 'gone'])
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

async function ask(method, path, body, by = token, at = address) {
  const headers = { authorization: `Bearer ${by}`, 'content-type': 'application/json' }
  const answer = await fetch(at + path, { method, headers, body: body && JSON.stringify(body) })
  const read = await answer.json()
  expect(`${method} ${path}: ${JSON.stringify(read)}`, answer.ok)
  return read
}
const put = (name, wishes, by, at) => ask('PUT', '/v1/push', { subscription: subscription(name), wishes }, by, at)
const add = async (description, by) => (await ask('POST', '/v1/jobs', { description, repository }, by)).job
const about = (session, kind) => (told) => told.session === session && told.kind === kind
const allow = ({ session, call }, by) => ask('POST', `/v1/sessions/${session}/approvals/${encodeURIComponent(call)}`, { answer: 'once' }, by, other)
const owner = (...words) => execFileSync(haft, ['fleet', 'owner', 'ann', ...words], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()

// H-114. The page notifies this device; both servers have one key, and the device.
const browser = await launch(program)
await browser.defaultBrowserContext().overridePermissions(address, ['notifications'])
const tab = await open(browser, /404/)
const { press, seen } = person(tab)
await subscribes(tab, subscription('phone'))
await tab.goto(`${address}/#token=${token}`)
await press('main button', 'Notify this device…')
await tab.waitForSelector('dialog[open] .notify')
expect('turns are no wish of a fleet', !await tab.$('#tell-turns'))
await press('dialog button', 'Notify this device')
await seen('the button says that it is on', () => [...document.querySelectorAll('main button')].some((one) => one.innerText === 'Notifications: on'))
const lists = [await ask('GET', '/v1/push'), await ask('GET', '/v1/push', undefined, token, other)]
expect(`both servers know the device: ${JSON.stringify(lists)}`, lists.every(({ key, devices }) => key === lists[0].key && devices.length === 1 && devices[0].endpoint.endsWith('/phone')))
devices.forEach((one) => { one.wanted = lists[0].key })
let ann = owner()
await put('ann', {}, ann, other)
expect('an owner sees no device of another', (await ask('GET', '/v1/push', undefined, ann)).devices.length === 1)

// A question of a job is told once, to its owner alone, and so is the next one, and how the job ended.
const job = await add('Count for all', token)
const first = await message('phone', about(job, 'approval'), 30000)
expect(`what waits: ${JSON.stringify(first)}`, first?.title === 'Count for all' && /\+ \+end/.test(first?.text) && first?.actions.join() === 'allow,deny')
await allow(first)
const second = await message('phone', about(job, 'approval'), 30000)
expect(`the next one: ${JSON.stringify(second)}`, second && second.call !== first.call)
await allow(second)
const over = await message('phone', about(job, 'job'), 30000)
expect(`how it ended: ${JSON.stringify(over)}`, over?.text.startsWith('Job completed') && over?.call === null && over?.topic === first.topic)
await pause(3000)
expect(`each is told once: ${devices.get('phone').tries}`, devices.get('phone').tries === 3)
expect('another owner is not told', devices.get('ann').got.length === 0)

// What was answered meanwhile is not told. A busy service is tried again; a device that has unsubscribed is removed.
devices.get('busy').answers.push(503)
await put('busy', {}, ann)
devices.get('gone').answers.push(410)
await put('gone', {}, ann)
const hers = await add('Count for ann', ann)
const toAnn = await message('ann', about(hers, 'approval'), 30000)
expect(`she is told of her own: ${JSON.stringify(toAnn)}`, toAnn?.title === 'Count for ann')
expect(`a busy service is tried again: ${devices.get('busy').tries}`, await message('busy', about(hers, 'approval')) && devices.get('busy').tries === 2)
const left = (await ask('GET', '/v1/push', undefined, ann)).devices
expect(`a device that has unsubscribed is gone: ${JSON.stringify(left)}`, left.map(({ endpoint }) => endpoint.split('/').at(-1)).sort().join() === 'ann,busy')
await ask('DELETE', `/v1/push?id=${left.find(({ endpoint }) => endpoint.endsWith('/busy')).id}`, undefined, ann)
await allow(toAnn, ann)
for (let next; !next; await pause(50)) {
  next = (await ask('GET', `/v1/sessions/${hers}/asked`, undefined, ann)).find(({ call }) => call !== toAnn.call)
  if (next) await allow({ session: hers, call: next.call }, ann)
}
expect('what was answered at once is not told', await message('ann', about(hers, 'job'), 30000) && !await message('ann', about(hers, 'approval'), 10))

// In quiet hours, and with another token than the device was added with, there is no message. A server that is killed leaves
// what is to be told to the other.
const clock = (minutes) => new Date(Date.now() + minutes * 60000).toISOString().slice(11, 16)
await put('phone', { quiet: { from: clock(-60), to: clock(60), zone: 'UTC' } })
ann = owner()
process.kill(Number(readFileSync(join(folder, 'kill'), 'utf8')), 'SIGKILL')
const [quiet, changed] = [await add('In the night', token), await add('By another token', ann)]
await put('busy', {}, ann)
const last = await add('With one server', ann)
expect('the other server tells it', await message('busy', about(last, 'approval'), 30000))
await pause(4000)
expect('it is quiet', !await message('phone', about(quiet, 'approval'), 10))
expect('a device of an old token is not told', !await message('ann', about(changed, 'approval'), 10))
await put('phone', {})
expect('a question that still waits is told at the end of quiet hours', await message('phone', about(quiet, 'approval'), 30000))

await press('main button', 'Notifications: on')
await press('dialog button', 'Stop notifications')
await seen('the button offers it again', () => [...document.querySelectorAll('main button')].some((one) => one.innerText === 'Notify this device…'))
expect('the fleet has no device of the admin', (await ask('GET', '/v1/push')).devices.length === 0)
await browser.close()
close()
end('push in a fleet')
