// Reads the page of a session as people do: in light and in dark, on a desk and on a phone, by keyboard, on paper.
//   node page_reader.mjs BROWSER PAGE [FOLDER]
// Ends with 1 and a line for each thing that is not as it should be. Screenshots go into FOLDER.
import { pathToFileURL } from 'node:url'
import { join } from 'node:path'
import { audit, end, expect, launch, open } from './browser.mjs'

const [program, page, folder] = process.argv.slice(2)
const address = pathToFileURL(page).href
const browser = await launch(program)

async function read(width, scheme) {
  const tab = await open(browser)
  await tab.setViewport({ width, height: 900 })
  await tab.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }])
  const asked = []
  tab.on('request', (request) => asked.push(request.url()))
  await tab.goto(address, { waitUntil: 'networkidle0' })
  await tab.evaluate(() => document.querySelectorAll('details').forEach((one) => { one.open = true }))
  await new Promise((resolve) => setTimeout(resolve, 200))
  expect(`only the page is asked for: ${asked}`, asked.length === 1 && asked[0] === address)
  return tab
}

for (const width of [1280, 390]) {
  for (const scheme of ['light', 'dark']) {
    const where = `${width} wide, ${scheme}`
    const tab = await read(width, scheme)
    const found = await tab.evaluate(() => ({
      title: document.title,
      address: location.href,
      scripts: [...document.scripts].map((one) => one.type).join(),
      active: document.querySelectorAll('iframe, object, embed, link, form, base, button, input, textarea, [style], [onerror], [onclick]').length,
      sources: [...document.querySelectorAll('[src]')].map((one) => one.getAttribute('src').slice(0, 5)),
      links: [...document.querySelectorAll('a')].map((one) => one.getAttribute('href')),
      paper: getComputedStyle(document.body).backgroundColor,
    }))
    expect(`${where}: the title is the prompt's: ${found.title}`, found.title.startsWith('The sign is lost.'))
    expect(`${where}: the page is still there: ${found.address}`, found.address === address)
    expect(`${where}: the journal and the script of the page are all scripts: ${found.scripts}`, found.scripts === 'application/json,module')
    expect(`${where}: nothing in it is active: ${found.active}`, found.active === 0)
    expect(`${where}: pictures stand in it: ${found.sources}`, found.sources.every((source) => source === 'data:'))
    expect(`${where}: links lead to prompts and web pages: ${found.links}`, found.links.every((link) => /^(#turn-\d+|https?:)/.test(link)))
    const light = found.paper.match(/\d+/g).slice(0, 3).every((part) => part > 128)
    expect(`${where}: the paper is ${found.paper}`, light === (scheme === 'light'))
    await audit(tab, where)
    if (folder) await tab.screenshot({ path: join(folder, `page-${width}-${scheme}.png`), fullPage: true })
    await tab.close()
  }
}

// By keyboard: each call is reached and folds open.
const tab = await read(1280, 'light')
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
end('page', 'in light and dark, on a desk and on a phone, by keyboard, on paper')
