// What a person has typed on the page of `haft serve` outlasts faults: a lost connection, a server that is killed, a token that
// is refused, a session that is deleted elsewhere. serve_faults.mjs BROWSER HAFT WORKSPACE MODEL
// Ends with 1 and a line for each thing that is not as it should be.
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { end, expect, launch, open, person, read, serving } from './browser.mjs'

const [program, haft, workspace, model] = process.argv.slice(2)
const { address, token, start, stop, kill, ask } = await serving(haft, workspace, '--model', model)
const browser = await launch(program)
const tab = await open(browser, /ERR_|40[14]/)
const { seen, has, press, say } = person(tab)

const isIdle = () => seen('the session is idle', () => document.querySelector('.head .state').dataset.state === 'idle')
const isAsked = (words) => seen(`one card asks: ${words}`, (words) => document.querySelectorAll('.asking').length === 1 && document.querySelector('.asking h2').innerText === words, words)
const value = (field) => tab.$eval(field, (field) => field.value).catch(() => undefined)
const holds = (field, words) => seen(`${field} holds: ${words}`, (field, words) => document.querySelector(field)?.value === words, field, words)
/** The card says why, and can be answered. */
const isTold = (words) => seen(`the card says that it was not answered, and offers: ${words}`, (words) => {
  const button = [...document.querySelectorAll('.asking button')].find((one) => one.innerText === words)
  return document.querySelector('.asking .failure')?.innerText.startsWith('The answer was not sent: ') && button && !button.disabled
}, words)
/** The server is killed, and another one takes its place. */
async function crash() {
  await kill()
  await seen('the connection is lost', () => document.getElementById('connection').innerText.includes('lost'))
  await start()
  await seen('the connection stands', () => document.getElementById('connection').innerText === '')
  await isIdle()
}
async function begin() {
  const { id } = await ask('POST', '/v1/sessions', {})
  await tab.evaluate((id) => { location.hash = `s/${id}` }, id)
  await seen('the session is shown', () => document.activeElement.id === 'prompt')
  return id
}
/** The turn of the session `id` goes on: its call asks again, and is listed once. */
async function goOn() {
  const asks = () => read(join(process.env.HAFT_HOME, 'sessions', id), 'journal.jsonl').split('"type":"approval_asked"').length
  const before = asks()
  await press('.say button', 'Continue')
  for (let tries = 0; tries < 200 && asks() === before; tries++) await new Promise((resolve) => setTimeout(resolve, 100))
  const all = await ask('GET', `/v1/sessions/${id}/asked`)
  expect(`one call asks: ${JSON.stringify(all)}`, all.length === 1)
  await isAsked('Create b.txt?')
  await holds('.because input', 'name it c.txt')
}
async function logIn() {
  await tab.type('#token', token())
  await press('main button', 'Open')
}

await tab.goto(`${address}/#token=${token()}`)
await has('begin one')

// An answer that cannot be sent leaves the card as it was, and is given again.
const id = await begin()
await say('write')
await isAsked('Create a.txt?')
await press('.asking summary', 'Edit a.txt first')
await tab.$eval('.asking textarea', (field) => { field.value = ''; field.focus() })
await tab.keyboard.type('edited\n')
await tab.setOfflineMode(true)
await press('.asking button', 'Apply edited')
await isTold('Apply edited')
await tab.setOfflineMode(false)
expect('the edited text is kept', await value('.asking textarea') === 'edited\n')
await press('.asking button', 'Apply edited')

// The server dies while it asks, twice: the question is there once, with what was typed.
await isAsked('Create b.txt?')
expect(`the edited text is written: ${read(workspace, 'a.txt')}`, read(workspace, 'a.txt') === 'edited\n')
await tab.type('.because input', 'name it c.txt')
for (let crashes = 0; crashes < 2; crashes++) {
  await crash()
  await goOn()
}
await kill()
await press('.asking button', 'Refuse and say so')
await isTold('Refuse and say so')
expect('the reason is kept', await value('.because input') === 'name it c.txt')
await start()
await isIdle()
await goOn()

// A token that is refused: the session is there again after the login, with all that was typed.
await tab.type('#prompt', 'a prompt to come')
writeFileSync(join(workspace, 'dot.png'), Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNg+M/wHwAEAQH/7yMK/gAAAABJRU5ErkJggg==', 'base64'))
await (await tab.$('#picture')).uploadFile(join(workspace, 'dot.png'))
await has('dot.png', '.attached')
await tab.evaluate(() => sessionStorage.setItem('haft-token', 'expired'))
await press('.asking button', 'Refuse and say so')
await has('wants a token')
await logIn()
await isAsked('Create b.txt?')
await holds('.because input', 'name it c.txt')
await holds('#prompt', 'a prompt to come')
await has('dot.png', '.attached')
await press('.asking button', 'Refuse and say so')
await has('As you like.')
await seen('no card is left', () => !document.querySelector('.asking'))
expect('the call was refused', read(workspace, 'b.txt') === null)

// Another token of the same server: the form says nothing of a connection.
await stop()
await seen('the connection is lost', () => document.getElementById('connection').innerText.includes('lost'))
rmSync(join(process.env.HAFT_HOME, 'serve-token'))
await start()
await has('wants a token')
await seen('no connection is lost', () => document.getElementById('connection').innerText === '')
await logIn()
await has('As you like.')
await holds('#prompt', 'a prompt to come')
await press('.attached button', 'Remove dot.png')
await tab.$eval('#prompt', (field) => { field.value = '' })

// The server dies in a reply: what goes on after that is shown.
await say('count')
await has('One, ')
await crash()
await seen('Continue is offered, and not Stop', () => [...document.querySelectorAll('.say button')].filter((one) => !one.hidden).map((one) => one.innerText).join() === 'Send,Continue')
await press('.say button', 'Continue')
await seen('a turn that goes on is shown so', () => document.querySelector('.head .state').dataset.state === 'working' && [...document.querySelectorAll('.say button')].filter((one) => !one.hidden).map((one) => one.innerText).join() === 'Steer,Stop')
await press('.say button', 'Stop')
await isIdle()

// A session that is deleted elsewhere is left, and the page says why.
const second = await begin()
const other = await open(browser)
const elsewhere = person(other)
await other.goto(`${address}/#token=${token()}`)
await elsewhere.has('begin one')
await other.evaluate((id) => { location.hash = `s/${id}` }, second)
await elsewhere.has('New session')
await elsewhere.press('.menu summary', 'More')
await elsewhere.press('.menu button', 'Delete')
await elsewhere.press('dialog button', 'Delete')
await elsewhere.has('begin one')
expect('who deletes a session is told nothing', await other.$('#failure') === null)
await tab.bringToFront()
await has('begin one')
await has('was deleted', '#failure')

await browser.close()
await stop()
end('faults')
