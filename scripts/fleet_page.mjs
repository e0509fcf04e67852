// The page of `haft serve --fleet` as people use it: fleet_page.mjs BROWSER ADDRESS TOKEN REPOSITORY
// A worker waits beside it whose model edits, asks to publish, and ends. Ends with 1 and a line for each thing that is not
// as it should be.
import { audit, end, launch, open, person, wrong } from './browser.mjs'

const [program, address, token, repository] = process.argv.slice(2)
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
await has('There is no job yet.', 'body')
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
