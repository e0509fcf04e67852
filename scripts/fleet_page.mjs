// The page of `haft serve --fleet` as people use it: fleet_page.mjs BROWSER ADDRESS TOKEN REPOSITORY [FOLDER]
// A worker waits beside it whose model edits, asks to publish, and ends; a job of the paused queue `docs` is dead. Ends with
// 1 and a line for each thing that is not as it should be.
import { audit, end, expect, launch, look, open, person, wrong } from './browser.mjs'

const [program, address, token, repository, folder] = process.argv.slice(2)
const browser = await launch(program)
const tab = await open(browser, /404/)
const { has, press, seen } = person(tab)
async function begin(description, queue) {
  await press('nav button', 'New job')
  await tab.type('#field-description', description)
  await tab.type('#field-repository', repository)
  if (queue) await tab.evaluate((queue) => { document.querySelector('#field-queue').value = queue }, queue)
  await press('dialog button', 'Start')
  await has('Edit counter.txt?', 'body')
}

await tab.goto(`${address}/#token=${token}`)
// H-113. An administrator sees the fleet, and tries a dead job again.
await seen('the overview names the worker', () => document.querySelector('.workers tbody tr')?.innerText.includes('all'))
for (const words of ['The queue docs is paused', 'Fix <b>the parser</b>', 'git failed', '0 of 2', '$0.00 of $50.00 a day']) await has(words)
await look(tab, 'fleet', folder)
await tab.focus('[data-post$="/retry"]')
await tab.evaluate(() => { globalThis.button = document.activeElement })
for (let refreshes = 0; refreshes < 2; refreshes++) await tab.waitForResponse((answer) => answer.url().endsWith('/v1/fleet'))
expect('a refresh keeps the focus', await tab.evaluate(() => globalThis.button.isConnected && globalThis.button === document.activeElement))
await press('.fleet button', 'Retry the job')
await seen('the dead job is pending', () => !document.querySelector('[data-post$="/retry"]') && document.querySelector('.counts td[data-label=Pending]').innerText === '1')
expect('the focus stays in the overview', await tab.evaluate(() => document.activeElement.tagName === 'H1'))
// Pauses begin and end where they are shown.
await press('.fleet .note button', 'Resume')
await seen('the queue is resumed', () => !document.querySelector('.note') && !document.querySelector('[data-state=paused]'))
await tab.click('[data-post="/v1/fleet/pause"]')
await has('The fleet is paused')
await tab.waitForResponse((answer) => answer.url().endsWith('/v1/fleet'))
expect('a pause keeps the focus', await tab.evaluate(() => document.activeElement.ariaLabel === 'Resume the fleet'))
await look(tab, 'fleet-paused', folder)
await press('.actions button', 'Resume the fleet')
await seen('the fleet is resumed', () => !document.querySelector('.note'))
await press('.counts button', 'Pause the queue docs')
await has('The queue docs is paused')
await begin('Count <b>once</b>')
await has('Count <b>once</b>', 'body')
// The question shows the lines, and the list that the job waits.
const asks = await tab.evaluate(() => ({ lines: document.querySelector('.asking .diff')?.innerText, listed: document.querySelector('nav [data-state=waiting]')?.innerText, whole: document.querySelector('.asking').innerText }))
if (!/\+end/.test(asks.lines ?? '') || asks.whole.includes('{')) wrong.push(`an approval without its diff: ${JSON.stringify(asks)}`)
await seen('the list says that the job waits', () => document.querySelector('nav [data-state=waiting]'))
await press('main button', 'Allow once')
await has('Do all of this?', 'body')
await press('main button', 'Allow once')
await has('The job is completed', 'body')
await has('completed', 'body')
await seen('a job that is over offers no Send', () => document.querySelector('form.say').hidden)
// A client that comes in the middle sees what is asked, and may end it.
await begin('Count twice', 'web')
await has('queue web', 'body')
await tab.reload()
await has('Edit counter.txt?', 'body')
await press('main button', 'Cancel')
await has('The job is cancelled', 'body')
await press('main button', 'Retry')
await has('Do all of this?', 'body')
for (const [width, height] of [[1280, 900], [390, 844]]) {
  await tab.setViewport({ width, height })
  await audit(tab, `${width} wide`)
}
await browser.close()
end('fleet')
