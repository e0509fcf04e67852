// Long replies and long sessions on the page of `haft serve`: serve_long.mjs BROWSER ADDRESS TOKEN
// The model writes 300 files in 30 rounds, then says 94 KB in 400 pieces, then what is hard to read as Markdown. Ends with 1
// and a line for each thing that is not as it should be.
import { end, expect, launch, wrong } from './browser.mjs'

const [program, address, token] = process.argv.slice(2)
const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
const ask = async (method, path, body) => (await fetch(address + path, { method, headers, body: body && JSON.stringify(body) })).json()
const { id } = await ask('POST', '/v1/sessions', {})
const prompt = (text) => ask('POST', `/v1/sessions/${id}/prompt`, { text, wait: true })
await prompt('write them')

const browser = await launch(program)
const tab = await browser.newPage()
await tab.setViewport({ width: 1280, height: 800 })
tab.on('pageerror', (error) => wrong.push(`the page fails: ${error.message}`))
const asked = []
tab.on('request', (request) => asked.push(new URL(request.url()).pathname.replace(/.*\//, '')))
// Times are printed and not judged: how long a machine takes says more about the machine.
await tab.evaluateOnNewDocument(() => {
  globalThis.busy = []
  new PerformanceObserver((list) => { for (const entry of list.getEntries()) globalThis.busy.push(entry.duration) }).observe({ entryTypes: ['longtask'] })
  // The blocks that the page draws, those that it draws again included.
  globalThis.drawn = 0
  new MutationObserver((changes) => { for (const { addedNodes, target } of changes) if (target.matches?.('.reply.pending')) globalThis.drawn += addedNodes.length }).observe(document, { childList: true, subtree: true })
})
const busy = () => tab.evaluate(() => {
  const [all, drawn] = [globalThis.busy, globalThis.drawn]
  Object.assign(globalThis, { busy: [], drawn: 0 })
  return { sum: Math.round(all.reduce((a, b) => a + b, 0)), most: Math.round(Math.max(0, ...all)), drawn }
})
const seen = (what, is, ...more) => tab.waitForFunction(is, { timeout: 30000, polling: 50 }, ...more).catch(() => wrong.push(what))

await tab.goto(`${address}/#token=${token}`)
await seen('the list', () => document.querySelector('nav li a'))
await tab.evaluate((id) => { location.hash = `s/${id}` }, id)
await seen('300 calls', () => document.querySelectorAll('.call').length === 300 && document.querySelector('.end'))
asked.length = 0
const begun = Date.now()
await tab.reload()
await seen('300 calls after a reload', () => document.querySelectorAll('.call').length === 300 && document.querySelector('.end'))
await seen('the diffs that are in sight', () => document.querySelectorAll('.changes .diff').length > 0)
const took = Date.now() - begun
await new Promise((resolve) => setTimeout(resolve, 1000))
const count = (name) => asked.filter((path) => path === name).length
expect(`a reload asks for the diffs that are in sight alone: ${count('diff')}`, count('diff') > 0 && count('diff') <= 40)
expect(`a reload asks for no question that is answered: ${count('asked')}`, count('asked') <= 1)
expect('it ends at the end', await tab.evaluate(() => window.innerHeight + window.scrollY >= document.documentElement.scrollHeight - 80))
// What comes into sight later is fetched then, and what it changed is named before.
const first = await tab.evaluate(() => document.querySelector('.changes').innerText)
expect(`what is out of sight is named: ${first}`, /file-\d+\.txt created/.test(first))
await tab.evaluate(() => window.scrollTo({ top: 0 }))
await seen('a diff that comes into sight', () => document.querySelector('.changes .diff'))

// A long reply while it streams.
await tab.evaluate(() => window.scrollTo({ top: document.documentElement.scrollHeight }))
await busy()
const streamed = Date.now()
const title = await tab.title()
expect(`the title of the tab: ${title}`, title.startsWith('write them'))
await tab.type('#prompt', 'say much')
await tab.keyboard.press('Enter')
await seen('a long reply', () => document.querySelectorAll('.end').length === 2)
const long = { ...(await busy()), of: Date.now() - streamed }
const blocks = await tab.evaluate(() => [...document.querySelectorAll('.reply')].at(-2).childElementCount)
expect(`what is drawn of a long reply is drawn again: ${long.drawn} for ${blocks} blocks`, blocks > 2000 && long.drawn < 2 * blocks)
// One that is hard to read.
await tab.type('#prompt', 'say something hard')
await tab.keyboard.press('Enter')
await seen('a reply that is hard to read, in 30 seconds', () => document.querySelectorAll('.end').length === 3)
const hard = await busy()
console.log(JSON.stringify({ took, diffs: count('diff'), long, hard }))
await browser.close()
end('long')
