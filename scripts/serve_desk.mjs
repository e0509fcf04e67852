// What a person does around the conversation on the page of `haft serve`: serve_desk.mjs BROWSER ADDRESS TOKEN WORKSPACE [FOLDER]
// Ends with 1 and a line for each thing that is not as it should be. Screenshots go into FOLDER.
import { execFileSync } from 'node:child_process'
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
// What is refused on purpose is told there, too.
tab.on('console', (line) => { if (!/status of 4\d\d/.test(line.text())) wrong.push(`the console says: ${line.text()}`) })
tab.on('pageerror', (error) => wrong.push(`the page fails: ${error.message}`))
const text = (selector) => tab.$eval(selector, (one) => one.innerText).catch(() => '')
const seen = (what, is, ...more) => tab.waitForFunction(is, { timeout: 15000, polling: 50 }, ...more).catch(() => wrong.push(what))
const has = (words, where = 'main') => seen(`nowhere: ${words}`, (where, words) => document.querySelector(where)?.innerText.includes(words), where, words)
const press = (selector, words) => seen(`a button: ${words}`, (selector, words) => {
  const found = [...document.querySelectorAll(selector)].find((one) => (one.ariaLabel ?? one.innerText).trim().startsWith(words) && !one.disabled && one.offsetParent !== null)
  found?.click()
  return Boolean(found)
}, selector, words)
const say = async (words) => {
  await tab.type('#prompt', words)
  await tab.keyboard.press('Enter')
}
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
      if (folder) await tab.screenshot({ path: join(folder, `desk-${name}-${width}-${scheme}.png`) })
    }
  }
  await tab.setViewport({ width: 1280, height: 900 })
}
const ends = (count) => seen(`${count} turns end`, (count) => document.querySelectorAll('.end').length === count, count)

await tab.setViewport({ width: 1280, height: 900 })
await tab.goto(`${address}/#token=${token}`)

// A session that is made of what was chosen.
await press('nav button', 'Choose…')
await tab.waitForSelector('dialog[open] #field-model')
expect('the folder is named', (await tab.$eval('#field-workspace', (field) => field.value)).endsWith('/work'))
await tab.type('#field-inside', 'docs')
await tab.select('#field-agent', 'reviewer')
await looked('choosing')
await press('dialog button', 'Begin')
await seen('the session is as it was chosen', () => /reviewer\s+docs\s+read-only$/.test(document.querySelector('.facts')?.innerText ?? ''))
// Another agent and another model, once it has begun.
await press('.facts button', 'Agent')
await tab.waitForSelector('dialog[open] #field-agent')
expect('the field that was pressed has the focus', await tab.evaluate(() => document.activeElement.id === 'field-agent'))
await tab.select('#field-agent', 'haft')
await tab.select('#field-permission', 'accept-edits')
await press('dialog button', 'Set')
await seen('the agent is another one', () => /haft\s+docs\s+accept-edits$/.test(document.querySelector('.facts').innerText))
await say('write it')
await ends(1)
await press('.facts button', 'Model')
await tab.waitForSelector('dialog[open] #field-model')
await tab.type('#field-other', 'script/other')
await tab.keyboard.press('Enter')
await has('script/other', '.facts')
await say('and now?')
await has('From the other model.')
await ends(2)
await press('.facts button', 'Model')
await tab.waitForSelector('dialog[open] #field-model')
await tab.type('#field-other', 'script/nothing')
await tab.keyboard.press('Enter')
await has('is not a file in a folder that is served', '#failure')
await press('#failure button', 'Close')
expect(`the model stays: ${await text('.facts')}`, (await text('.facts')).includes('script/other'))
await looked('chosen')

// Names of files and commands are completed from the keyboard.
const offered = () => tab.$$eval('#completions [role=option] .value', (all) => all.map((one) => one.innerText))
const offers = (what) => seen(`completions: ${what}`, (what) => !document.querySelector('#completions').hidden && [...document.querySelectorAll('#completions .value')].some((one) => one.innerText === what), what)
const typed = () => tab.$eval('#prompt', (field) => field.value)
await tab.type('#prompt', 'look at @pars')
await offers('@src/parser.py')
expect('the first is chosen', await tab.evaluate(() => document.getElementById(document.activeElement.getAttribute('aria-activedescendant'))?.ariaSelected === 'true'))
await looked('completing')
await tab.keyboard.press('Tab')
expect(`a file: ${await typed()}`, await typed() === 'look at @src/parser.py ')
await tab.type('#prompt', '@sr')
await offers('@src/')
await tab.keyboard.press('ArrowDown')
await tab.keyboard.press('ArrowUp')
await tab.keyboard.press('Enter')
await offers('@src/parser.py')
await tab.keyboard.press('Escape')
expect(`a folder is not the end: ${await typed()}`, await typed() === 'look at @src/parser.py @src/' && (await offered()).length === 0)
await tab.$eval('#prompt', (field) => { field.value = '' })
await tab.type('#prompt', '/o')
await offers('/outbox')
await tab.keyboard.press('Enter')
expect(`a command: ${await typed()}`, await typed() === '/outbox ')
await tab.keyboard.press('Enter')
await has('the outbox is empty')
await say('/rename')
await tab.waitForSelector('dialog[open] #field-name')
await tab.keyboard.press('Escape')

// What the session changed, file by file, is reviewed and committed.
const git = (...words) => execFileSync('git', ['-C', join(workspace, 'docs'), ...words], { encoding: 'utf8' })
git('init', '-q')
git('config', 'user.name', 'A person')
git('config', 'user.email', 'person@example.org')
await press('main button', 'Changes')
await tab.waitForSelector('dialog[open] .review .diff')
expect(`the diff: ${await text('dialog .review')}`, /src\/parser\.py[^]*return int\(text\)/.test(await text('dialog .review')))
expect('the message is the title', await tab.$eval('#field-message', (field) => field.value) === 'write it')
await looked('review')
await press('dialog button', 'Commit')
await has('write it', '.told .note:last-of-type, .told')
await seen('the call of git has ended', () => document.querySelectorAll('.end').length === 4)
expect(`it is committed: ${git('log', '--format=%s', '--name-only')}`, git('log', '--format=%s', '--name-only').trim() === 'write it\n\nsrc/parser.py')
// An undo shows what it would put back.
await tab.evaluate(() => window.scrollTo({ top: 0 }))
await press('.prompt button', 'Undo from here')
await tab.waitForSelector('dialog[open] .review .diff')
expect(`what would be put back: ${await text('dialog')}`, /Undo this prompt[^]*parser\.py deleted/.test(await text('dialog')))
await looked('preview')
await press('dialog button', 'Cancel')
expect('nothing is undone before', existsSync(join(workspace, 'docs/src/parser.py')))
await press('.prompt button', 'Undo from here')
await press('dialog button', 'Undo')
await seen('all prompts are undone', () => [...document.querySelectorAll('.prompt')].every((one) => one.classList.contains('undone')))
expect('the file is gone', !existsSync(join(workspace, 'docs/src/parser.py')))

// Without a session the page says what ended; `?` shows the keys, and keys lead to sessions.
await tab.evaluate(() => { document.activeElement.blur(); location.hash = '' })
await has('Ended')
await looked('home')
await tab.keyboard.type('?')
await tab.waitForSelector('dialog[open] .shortcuts')
expect(`the keys: ${await text('dialog')}`, /\?\s+show the keys/.test(await text('dialog')))
await looked('keys')
await tab.keyboard.press('Escape')
await tab.evaluate(() => document.activeElement.blur())
await tab.keyboard.type('j')
await seen('the first session of the list', () => document.querySelector('h1')?.innerText === 'write it')

await browser.close()
if (wrong.length) {
  console.error([...new Set(wrong)].map((line) => `FAILED  desk: ${line}`).join('\n'))
  process.exit(1)
}
