// Reads the page of a session as people do: in light and in dark, on a desk and on a phone, by keyboard, on paper.
//   node page_reader.mjs BROWSER PAGE [FOLDER]
// Ends with 1 and a line for each thing that is not as it should be. Screenshots go into FOLDER.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import puppeteer from 'puppeteer-core'

const [program, page, folder] = process.argv.slice(2)
const address = pathToFileURL(page).href
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const wrong = []
const expect = (what, is) => { if (!is) wrong.push(what) }

const browser = await puppeteer.launch({ executablePath: program, args: ['--no-sandbox', '--disable-gpu'] })

async function open(width, scheme) {
  const tab = await browser.newPage()
  await tab.setViewport({ width, height: 900 })
  await tab.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }])
  const asked = []
  tab.on('request', (request) => asked.push(request.url()))
  tab.on('dialog', (dialog) => { wrong.push(`a dialog: ${dialog.message()}`); dialog.dismiss() })
  tab.on('console', (line) => wrong.push(`the console says: ${line.text()}`))
  await tab.goto(address, { waitUntil: 'networkidle0' })
  await tab.evaluate(() => document.querySelectorAll('details').forEach((one) => { one.open = true }))
  await new Promise((resolve) => setTimeout(resolve, 200))
  expect(`only the page is asked for: ${asked}`, asked.length === 1 && asked[0] === address)
  return tab
}

for (const width of [1280, 390]) {
  for (const scheme of ['light', 'dark']) {
    const where = `${width} wide, ${scheme}`
    const tab = await open(width, scheme)
    const found = await tab.evaluate(() => ({
      title: document.title,
      address: location.href,
      scripts: [...document.scripts].map((one) => one.type).join(),
      active: document.querySelectorAll('iframe, object, embed, link, form, base, button, input, textarea, [style], [onerror], [onclick]').length,
      sources: [...document.querySelectorAll('[src]')].map((one) => one.getAttribute('src').slice(0, 5)),
      links: [...document.querySelectorAll('a')].map((one) => one.getAttribute('href')),
      overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
      paper: getComputedStyle(document.body).backgroundColor,
    }))
    expect(`${where}: the title is the prompt's: ${found.title}`, found.title.startsWith('The sign is lost.'))
    expect(`${where}: the page is still there: ${found.address}`, found.address === address)
    expect(`${where}: the journal and the script of the page are all scripts: ${found.scripts}`, found.scripts === 'application/json,module')
    expect(`${where}: nothing in it is active: ${found.active}`, found.active === 0)
    expect(`${where}: pictures stand in it: ${found.sources}`, found.sources.every((source) => source === 'data:'))
    expect(`${where}: links lead to prompts and web pages: ${found.links}`, found.links.every((link) => /^(#turn-\d+|https?:)/.test(link)))
    expect(`${where}: nothing is wider than the window: ${found.overflow}`, found.overflow <= 0)
    const light = found.paper.match(/\d+/g).slice(0, 3).every((part) => part > 128)
    expect(`${where}: the paper is ${found.paper}`, light === (scheme === 'light'))
    // The protocol of the browser may run what the page's own policy forbids.
    await tab.evaluate(axe)
    const { violations } = await tab.evaluate(() => axe.run())
    for (const { id, impact, nodes } of violations.filter((one) => ['serious', 'critical'].includes(one.impact))) {
      wrong.push(`${where}: ${impact}: ${id}: ${nodes.slice(0, 3).map((node) => node.html).join(' | ')}`)
    }
    if (folder) await tab.screenshot({ path: join(folder, `page-${width}-${scheme}.png`), fullPage: true })
    await tab.close()
  }
}

// By keyboard: each call is reached and folds open.
const tab = await open(1280, 'light')
await tab.evaluate(() => document.querySelectorAll('details').forEach((one) => { one.open = false }))
let reached = false
for (let press = 0; press < 40 && !reached; press++) {
  await tab.keyboard.press('Tab')
  reached = await tab.evaluate(() => document.activeElement.matches('.call > summary'))
}
expect('a call is reached by keyboard', reached)
await tab.keyboard.press('Enter')
expect('a call folds open by keyboard', await tab.evaluate(() => document.activeElement.parentElement.open === true))
await tab.evaluate(() => document.querySelectorAll('details').forEach((one) => { one.open = false }))
const paper = await tab.pdf({ format: 'A4' })
expect(`it can be printed: ${paper.length} bytes`, paper.length > 1000)
await browser.close()

if (wrong.length) {
  console.error(wrong.map((line) => `FAILED  page: ${line}`).join('\n'))
  process.exit(1)
}
console.log('ok      page: in light and dark, on a desk and on a phone, by keyboard, on paper')
