// Six tabs of one browser on one server, before and after it is started anew: serve_tabs.mjs BROWSER HAFT WORKSPACE MODEL
// Ends with 1 and a line for each thing that is not as it should be.
import { appendFileSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { end, expect, launch, serving, wrong } from './browser.mjs'

const [program, haft, workspace, model] = process.argv.slice(2)
const home = process.env.HAFT_HOME

const { address, token, start, stop, ask } = await serving(haft, workspace, '--model', model, '--idle', '1')
const headers = { authorization: `Bearer ${token()}` }
const streams = async () => Number(/haft_event_streams (\d+)/.exec(await (await fetch(`${address}/metrics`, { headers })).text())[1])
// The one before is closed when the next one stands. A browser may keep the connection of a request that was given up; the
// server then sees at its next sign of life that the stream is closed.
const single = async (when) => {
  for (let tries = 0; await streams() !== 1; tries++) {
    if (tries > 300) return expect(`${when}: ${await streams()} streams`, false)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}
const ids = []
for (let number = 0; number < 6; number++) ids.push((await ask('POST', '/v1/sessions', { name: `session ${number}` })).id)

const browser = await launch(program)
const tabs = []
for (const [number, id] of ids.entries()) {
  const tab = await browser.newPage()
  tab.on('pageerror', (error) => wrong.push(`the page fails: ${error.message}`))
  await tab.goto(`${address}/#token=${token()}`)
  await tab.waitForFunction(() => document.querySelectorAll('nav li a').length >= 6, { timeout: 10000 }).catch(() => wrong.push(`tab ${number} shows no list`))
  await tab.evaluate((id) => { location.hash = `s/${id}` }, id)
  await tab.waitForSelector('#prompt', { timeout: 10000 }).catch(() => wrong.push(`tab ${number} shows no session`))
  tabs.push(tab)
}
const seen = (tab, what, is, ...more) => tab.waitForFunction(is, { timeout: 15000, polling: 100 }, ...more).catch(() => wrong.push(what))
const shows = (tab, what, words) => seen(tab, what, (words) => document.querySelector('main').innerText.includes(words), words)
const say = async (tab, words) => {
  await tab.bringToFront()
  await tab.type('#prompt', words)
  await tab.keyboard.press('Enter')
}
await single('six tabs')
for (const [number, tab] of tabs.entries()) await say(tab, `prompt ${number}`)
for (const [number, tab] of tabs.entries()) {
  await shows(tab, `tab ${number} hears its own session`, 'Done ·')
  const text = await tab.$eval('main', (main) => main.innerText)
  expect(`tab ${number} shows what was said there, once: ${text}`, text.split(`prompt ${number}`).length === 2 && text.split('All is said.').length === 2)
  expect(`tab ${number} shows nothing of others: ${text}`, ![0, 1, 2, 3, 4, 5].some((other) => other !== number && text.includes(`prompt ${other}`)))
}
// Two tabs with the same session, one of which comes later.
await tabs[1].evaluate((id) => { location.hash = `s/${id}` }, ids[0])
await shows(tabs[1], 'a second tab shows all of a session', 'Done ·')
await say(tabs[0], 'once more')
for (const tab of [tabs[0], tabs[1]]) await seen(tab, 'both hear it', () => document.querySelectorAll('.end').length === 2)
await single('two tabs with one session')
// One that is closed takes nothing along.
await tabs[5].close()
await say(tabs[4], 'after that')
await seen(tabs[4], 'a tab hears on when another one is closed', () => document.querySelectorAll('.end').length === 2)

// Sessions that rest are closed, and no other process has them open.
const elsewhere = () => [...document.querySelectorAll('[data-state=elsewhere]')].map((one) => one.innerText).join()
await new Promise((resolve) => setTimeout(resolve, 2500))
expect(`idle sessions are idle: ${await tabs[0].evaluate(elsewhere)}`, await tabs[0].evaluate(elsewhere) === '')

// While the server is away that is in sight, wherever people have scrolled to.
await tabs[0].bringToFront()
await tabs[0].setViewport({ width: 800, height: 300 })
await stop()
await tabs[0].evaluate(() => window.scrollTo({ top: document.documentElement.scrollHeight }))
await seen(tabs[0], 'a lost connection is in sight', () => {
  const [words, box] = [document.getElementById('connection').innerText, document.getElementById('connection').getBoundingClientRect()]
  return words.includes('lost') && box.top >= 0 && box.bottom <= window.innerHeight && document.elementFromPoint(box.left + 5, box.top + 5)?.closest('.top')
})
await say(tabs[0], 'into nothing')
await seen(tabs[0], 'what cannot be sent is told', () => document.getElementById('failure'))
// An entry that an earlier Haft would have left: commands ran unconfined.
const journal = join(home, 'sessions', ids[0], 'journal.jsonl')
const last = JSON.parse(readFileSync(journal, 'utf8').trim().split('\n').pop())
appendFileSync(journal, `${JSON.stringify({ seq: last.seq + 1, at: last.at, type: 'unconfined', reason: 'overlays cannot be mounted' })}\n`)
await start()
for (const [number, tab] of tabs.slice(0, 5).entries()) {
  await tab.bringToFront()
  await seen(tab, `tab ${number}: nothing stale is left`, () => document.getElementById('connection').innerText === '' && !document.getElementById('failure'))
  await seen(tab, `tab ${number}: nothing is open elsewhere`, () => !document.querySelector('[data-state=elsewhere]'))
}
await tabs[0].bringToFront()
expect('what could not be sent is not lost', await tabs[0].$eval('#prompt', (prompt) => prompt.value) === 'into nothing')
await shows(tabs[0], 'commands that ran unconfined are told of', 'Commands run unconfined, and an undo cannot take back what they do: overlays cannot be mounted')
await tabs[0].focus('#prompt')
await tabs[0].keyboard.press('Enter')
await seen(tabs[0], 'a session goes on after the restart', () => document.querySelectorAll('.end').length === 3)
await single('after the restart')
expect(`as many sessions as before: ${readdirSync(join(home, 'sessions')).length}`, readdirSync(join(home, 'sessions')).length === 6)
await browser.close()
await stop()
end('tabs')
