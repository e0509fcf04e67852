// What a person does around the conversation on the page of `haft serve`: serve_desk.mjs BROWSER ADDRESS TOKEN WORKSPACE [FOLDER]
// Ends with 1 and a line for each thing that is not as it should be. Screenshots go into FOLDER.
import { execFileSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { end, expect, launch, look, open, person } from './browser.mjs'

const [program, address, token, workspace, folder] = process.argv.slice(2)
const browser = await launch(program)
// What is refused on purpose is told there, too.
const tab = await open(browser, /status of 4\d\d/)
const { text, seen, has, press, say } = person(tab)
const looked = (name) => look(tab, `desk-${name}`, folder)
const ends = (count) => seen(`${count} turns end`, (count) => document.querySelectorAll('.end').length === count, count)

/** A PDF of one page with this text. */
function pdf(text) {
  const shown = `BT /F 12 Tf 72 700 Td (${text}) Tj ET`
  const objects = ['<</Type/Catalog/Pages 2 0 R>>', '<</Type/Pages/Kids[4 0 R]/Count 1>>', '<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>',
    '<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F 3 0 R>>>>/Contents 5 0 R>>', `<</Length ${shown.length}>>\nstream\n${shown}\nendstream`]
  let file = '%PDF-1.4\n'
  const places = objects.map((object, place) => {
    const start = file.length
    file += `${place + 1} 0 obj\n${object}\nendobj\n`
    return `${String(start).padStart(10, '0')} 00000 n \n`
  })
  return `${file}xref\n0 6\n0000000000 65535 f \n${places.join('')}trailer\n<</Size 6/Root 1 0 R>>\nstartxref\n${file.length}\n%%EOF\n`
}

await tab.goto(`${address}/#token=${token}`)

// H-67. A session that is made of what was chosen.
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

// H-68. Names of files and commands are completed from the keyboard.
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

// H-88. A PDF is attached by button and by drop, and removed again; what is none is named.
const picker = await tab.$('#picture')
writeFileSync(join(workspace, 'paper.pdf'), pdf('First page'))
writeFileSync(join(workspace, 'wrong.pdf'), 'Not a PDF')
await picker.uploadFile(join(workspace, 'paper.pdf'))
await has('paper.pdf, 1 page', '.attached')
await looked('attached')
await picker.uploadFile(join(workspace, 'wrong.pdf'))
await has('cannot attach `wrong.pdf`', '#failure')
await press('#failure button', 'Close')
await tab.$eval('.say', (form, text) => {
  const transfer = new DataTransfer()
  transfer.items.add(new File([text], 'dropped.pdf', { type: 'application/pdf' }))
  form.dispatchEvent(new DragEvent('drop', { dataTransfer: transfer, bubbles: true, cancelable: true }))
}, pdf('Dropped'))
await has('dropped.pdf, 1 page', '.attached')
await press('.attached button', 'Remove dropped.pdf')
await seen('one is left', () => document.querySelectorAll('.attached button').length === 1)
await press('.attached button', 'Remove paper.pdf')

// H-69. What the session changed, file by file, is reviewed and committed.
const git = (...words) => execFileSync('git', ['-C', join(workspace, 'docs'), ...words], { encoding: 'utf8' })
git('init', '-q')
git('config', 'user.name', 'A person')
git('config', 'user.email', 'person@example.org')
// H-106. A pull request needs a branch that others work on; why there is none is told.
await press('main button', 'Changes')
await tab.waitForSelector('dialog[open] .review .diff')
await tab.select('#field-then', 'pull-request')
await tab.type('#field-branch', 'parser')
await looked('pull-request')
await press('dialog button', 'Commit')
await has('cannot publish', '#failure')
await press('#failure button', 'Close')
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

// H-70. Without a session the page says what ended; `?` shows the keys, and keys lead to sessions.
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
const shows = (title) => seen(`the session is shown: ${title}`, (title) => document.querySelector('main h1')?.innerText === title && document.querySelectorAll('nav li a[aria-current]').length === 1, title)
await shows('write it')
// They lead on from a session to the next one, and into no prompt.
await tab.keyboard.type('n')
await shows('New session')
await seen('a session that begins takes a prompt', () => document.activeElement.id === 'prompt')
await tab.evaluate(() => document.activeElement.blur())
for (const [key, title] of [['j', 'write it'], ['k', 'New session'], ['j', 'write it']]) {
  await tab.keyboard.type(key)
  await shows(title)
  await seen('the title has the focus', () => document.activeElement.tagName === 'H1')
}
expect(`the prompt is empty: ${await typed()}`, await typed() === '')
await tab.keyboard.type('h')
await has('begin one')

await browser.close()
end('desk')
