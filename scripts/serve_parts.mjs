// Parts of a proposal and single calls on the page of `haft serve`: serve_parts.mjs BROWSER ADDRESS TOKEN WORKSPACE [FOLDER]
// Ends with 1 and a line for each thing that is not as it should be. Screenshots go into FOLDER.
import { end, expect, launch, look, open, person, read } from './browser.mjs'

const [program, address, token, workspace, folder] = process.argv.slice(2)
const browser = await launch(program)
const tab = await open(browser, /401|409/)
const { seen, has, press, say } = person(tab)
const looked = (name) => look(tab, `serve-${name}`, folder)

await tab.goto(`${address}/#token=${token}`, { waitUntil: 'networkidle0' })
await press('nav button', 'New')
await tab.waitForSelector('#prompt')

// A proposal is edited before it is written.
await say('write it')
await tab.waitForSelector('.asking .diff')
await tab.evaluate(() => document.querySelectorAll('.asking details').forEach((one) => { one.open = true }))
await tab.$eval('.asking textarea', (field) => {
  field.value = field.value.replace('two', 'TWO')
  field.dispatchEvent(new Event('input', { bubbles: true }))
})
expect('always is for what was proposed', await tab.$$eval('.asking button', (all) => all.find((one) => one.innerText.startsWith('Always')).disabled))
await looked('edit')
await press('main button', 'Apply edited')
await seen('the second call asks', () => document.querySelector('.asking h2')?.innerText.includes('Edit'))
expect(`the edited text is written: ${read(workspace, 'a.txt')}`, read(workspace, 'a.txt') === 'one\nTWO\n')
await press('main button', 'Allow once')
await seen('the third call asks', () => [...document.querySelectorAll('.asking .diff ins, .asking .diff .more')].some((one) => one.innerText.includes('I')))
await press('main button', 'Allow once')
await has('Done.')

// One call is undone, and what depends on it is named.
await seen('each call that changed files has its button', () => document.querySelectorAll('.undo-call').length === 3)
await press('main button', 'Undo this call', 1)
await has('call 2 cannot be undone alone: call 3 (`edit a.txt`) depends on it')
expect(`nothing is undone: ${read(workspace, 'a.txt')}`, read(workspace, 'a.txt') === 'I\nTWO\n')
await looked('undo')
await press('main button', 'Undo these, too')
await has('Undone: calls 2, 3; 1 file restored')
expect(`both are undone: ${read(workspace, 'a.txt')}`, read(workspace, 'a.txt') === 'one\nTWO\n')
await press('main button', 'Redo')
await seen('the redo is told', () => document.querySelector('main').innerText.includes('Done again: a.txt'))
expect(`both are done again: ${read(workspace, 'a.txt')}`, read(workspace, 'a.txt') === 'I\nTWO\n')
// What was accepted is what is undone: the file, with the text that the person gave it.
await press('main button', 'Undo this call', 0)
await press('main button', 'Undo these, too')
await has('Undone: calls 1, 2, 3; 1 file restored')
expect(`the file is gone: ${read(workspace, 'a.txt')}`, read(workspace, 'a.txt') === null)
await say('/undo list')
await has('no call changed files')
// A prompt that waits is taken back, to be changed.
await say('count')
await has('One, two')
await say('and then stop')
await has('read with the next request')
await press('main button', 'Take back')
await seen('its text is in the field again', () => document.querySelector('#prompt').value === 'and then stop')
await seen('nothing waits any more', () => !document.querySelector('main').innerText.includes('read with the next request'))
await looked('taken-back')
await has('seven, eight.')
await browser.close()
end('parts')
