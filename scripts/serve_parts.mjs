// Parts of a proposal and single calls on the page of `haft serve`: serve_parts.mjs BROWSER ADDRESS TOKEN WORKSPACE [FOLDER]
// Ends with 1 and a line for each thing that is not as it should be. Screenshots go into FOLDER.
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import puppeteer from 'puppeteer-core'

const [program, address, token, workspace, folder] = process.argv.slice(2)
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const wrong = []
const expect = (what, is) => { if (!is) wrong.push(what) }
const browser = await puppeteer.launch({ executablePath: program, args: ['--no-sandbox', '--disable-gpu'] })
const tab = await browser.newPage()
tab.on('console', (line) => { if (!/401|409/.test(line.text())) wrong.push(`the console says: ${line.text()}`) })
tab.on('pageerror', (error) => wrong.push(`the page fails: ${error.message}`))
const until = (what, is, ...given) => tab.waitForFunction(is, { timeout: 20000 }, ...given).catch(() => wrong.push(`not so: ${what}`))
const has = (words) => until(`the page says: ${words}`, (words) => document.querySelector('main').innerText.includes(words), words)
const press = (words, place = 0) => until(`a button: ${words}`, (words, place) => {
  const all = [...document.querySelectorAll('main button')].filter((one) => one.innerText.trim() === words)
  const button = all.at(place)
  if (!button || button.disabled || button.offsetParent === null) return false
  button.click()
  return true
}, words, place)
const said = async (words) => {
  await tab.type('#prompt', words)
  await tab.keyboard.press('Enter')
}
const read = (name) => (existsSync(join(workspace, name)) ? readFileSync(join(workspace, name), 'utf8') : null)
async function looked(name) {
  for (const [width, height] of [[1280, 900], [390, 844]]) {
    for (const scheme of ['light', 'dark']) {
      await tab.setViewport({ width, height })
      await tab.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }])
      const where = `${name}, ${width} wide, ${scheme}`
      const overflow = await tab.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
      expect(`${where}: nothing is wider than the window: ${overflow}`, overflow <= 0)
      await tab.evaluate(axe)
      const { violations } = await tab.evaluate(() => axe.run())
      for (const { id, impact, nodes } of violations.filter((one) => ['serious', 'critical'].includes(one.impact))) {
        wrong.push(`${where}: ${impact}: ${id}: ${nodes.slice(0, 3).map((node) => node.html).join(' | ')}`)
      }
      if (folder) {
        await tab.evaluate(() => window.scrollTo({ top: document.body.scrollHeight }))
        await tab.screenshot({ path: join(folder, `serve-${name}-${width}-${scheme}.png`) })
      }
    }
  }
  await tab.setViewport({ width: 1280, height: 900 })
}

await tab.setViewport({ width: 1280, height: 900 })
await tab.goto(`${address}/#token=${token}`, { waitUntil: 'networkidle0' })
await until('sessions can be begun', () => [...document.querySelectorAll('nav button')].some((one) => one.innerText === 'New' && (one.click(), true)))
await tab.waitForSelector('#prompt')

// A proposal is edited before it is written.
await said('write it')
await tab.waitForSelector('.asking .diff')
await tab.evaluate(() => document.querySelectorAll('.asking details').forEach((one) => { one.open = true }))
await tab.$eval('.asking textarea', (field) => {
  field.value = field.value.replace('two', 'TWO')
  field.dispatchEvent(new Event('input', { bubbles: true }))
})
expect('always is for what was proposed', await tab.$$eval('.asking button', (all) => all.find((one) => one.innerText.startsWith('Always')).disabled))
await looked('edit')
await press('Apply edited')
await tab.waitForFunction(() => document.querySelector('.asking h2')?.innerText.includes('Edit'), { timeout: 20000 }).catch(() => wrong.push('the second call does not ask'))
expect(`the edited text is written: ${read('a.txt')}`, read('a.txt') === 'one\nTWO\n')
await press('Allow once')
await until('the third call asks', () => [...document.querySelectorAll('.asking .diff ins, .asking .diff .more')].some((one) => one.innerText.includes('I')))
await press('Allow once')
await has('Done.')

// One call is undone, and what depends on it is named.
await until('each call that changed files has its button', () => document.querySelectorAll('.undo-call').length === 3)
await press('Undo this call', 1)
await has('call 2 cannot be undone alone: call 3 (`edit a.txt`) depends on it')
expect(`nothing is undone: ${read('a.txt')}`, read('a.txt') === 'I\nTWO\n')
await looked('undo')
await press('Undo these, too')
await has('Undone: calls 2, 3; 1 file restored')
expect(`both are undone: ${read('a.txt')}`, read('a.txt') === 'one\nTWO\n')
await press('Redo')
await until('the redo is told', () => document.querySelector('main').innerText.includes('Done again: a.txt'))
expect(`both are done again: ${read('a.txt')}`, read('a.txt') === 'I\nTWO\n')
// What was accepted is what is undone: the file, with the text that the person gave it.
await press('Undo this call', 0)
await press('Undo these, too')
await has('Undone: calls 1, 2, 3; 1 file restored')
expect(`the file is gone: ${read('a.txt')}`, read('a.txt') === null)
await said('/undo list')
await has('no call changed files')
await browser.close()

if (wrong.length) {
  console.error([...new Set(wrong)].map((line) => `FAILED  page: ${line}`).join('\n'))
  process.exit(1)
}
