// The page of `haft serve --fleet` as people use it: fleet_page.mjs BROWSER ADDRESS TOKEN REPOSITORY
// A worker waits beside it whose model edits, asks to publish, and ends. Ends with 1 and a line for each thing that is not
// as it should be.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import puppeteer from 'puppeteer-core'

const [program, address, token, repository] = process.argv.slice(2)
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const wrong = []
const browser = await puppeteer.launch({ executablePath: program, args: ['--no-sandbox', '--disable-gpu'] })
const tab = await browser.newPage()
tab.on('console', (line) => { if (!/404/.test(line.text())) wrong.push(`the console says: ${line.text()}`) })
tab.on('pageerror', (error) => wrong.push(`the page fails: ${error.message}`))
const has = (words) => tab.waitForFunction((words) => document.body.innerText.includes(words), { timeout: 20000 }, words)
  .catch(() => wrong.push(`nowhere: ${words}`))
const press = (place, words) => tab.waitForFunction((place, words) => {
  const found = [...document.querySelectorAll(`${place} button`)].find((one) => one.innerText.trim() === words && !one.disabled && one.offsetParent !== null)
  found?.click()
  return Boolean(found)
}, { timeout: 20000 }, place, words).catch(() => wrong.push(`no button: ${words}`))
async function begin(description) {
  await press('nav', 'New job')
  await tab.type('#field-description', description)
  await tab.type('#field-repository', repository)
  await press('dialog', 'Start')
  await has('Edit counter.txt?')
}

await tab.setViewport({ width: 1280, height: 900 })
await tab.goto(`${address}/#token=${token}`)
await has('There is no job yet.')
await begin('Count <b>once</b>')
await has('Count <b>once</b>')
// The question shows the lines, and the list that the job waits.
const asks = await tab.evaluate(() => ({ lines: document.querySelector('.asking .diff')?.innerText, listed: document.querySelector('nav [data-state=waiting]')?.innerText, whole: document.querySelector('.asking').innerText }))
if (!/\+end/.test(asks.lines ?? '') || asks.whole.includes('{')) wrong.push(`an approval without its diff: ${JSON.stringify(asks)}`)
await tab.waitForSelector('nav [data-state=waiting]', { timeout: 20000 }).catch(() => wrong.push('the list does not say that the job waits'))
await press('main', 'Allow once')
await has('Do all of this?')
await press('main', 'Allow once')
await has('The job is completed')
await has('completed')
await tab.waitForFunction(() => document.querySelector('form.say').hidden, { timeout: 20000 }).catch(() => wrong.push('a job that is over offers Send'))
// A client that comes in the middle sees what is asked, and may end it.
await begin('Count twice')
await tab.reload()
await has('Edit counter.txt?')
await press('main', 'Cancel')
await has('The job is cancelled')
await press('main', 'Retry')
await has('Do all of this?')
for (const [width, height] of [[1280, 900], [390, 844]]) {
  await tab.setViewport({ width, height })
  const overflow = await tab.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
  if (overflow > 0) wrong.push(`${width} wide: something is wider than the window: ${overflow}`)
  await tab.evaluate(axe)
  const { violations } = await tab.evaluate(() => axe.run())
  for (const { id, impact, nodes } of violations.filter((one) => ['serious', 'critical'].includes(one.impact))) wrong.push(`${width} wide: ${impact}: ${id}: ${nodes[0].html}`)
}
await browser.close()
wrong.forEach((line) => console.log(line))
process.exit(wrong.length ? 1 : 0)
