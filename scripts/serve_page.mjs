// The page of `haft serve` as people use it: serve_page.mjs BROWSER ADDRESS TOKEN WORKSPACE [FOLDER]
// Ends with 1 and a line for each thing that is not as it should be. Screenshots go into FOLDER.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { end, expect, launch, look, open, person, wrong } from './browser.mjs'

const [program, address, token, workspace, folder] = process.argv.slice(2)
const browser = await launch(program)
const tab = await open(browser, /401/)
tab.on('request', (request) => expect(`asked for elsewhere: ${request.url()}`, /^(data|blob):/.test(request.url()) || request.url().startsWith(address)))
const { text, seen, has, press, say } = person(tab)
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds))
const looked = (name) => look(tab, `serve-${name}`, folder)

// Without the token nothing is shown; the address that carries it does not keep it.
await browser.defaultBrowserContext().overridePermissions(address, ['clipboard-read', 'clipboard-write', 'clipboard-sanitized-write'])
await tab.goto(address, { waitUntil: 'networkidle0' })
await has('wants a token')
await looked('token')
await tab.goto(`${address}/#token=${token}`)
await tab.reload()
await has('begin one')
expect(`the token is not in the address: ${tab.url()}`, !tab.url().includes(token))

// A session; text as it streams.
await press('nav button', 'New')
await tab.waitForSelector('#prompt')
await say('write a parser')
await has('I will write')
expect('text is seen while it streams', !(await text('main')).includes('assert True'))
// An approval, with the diff in view.
await tab.waitForSelector('.asking .diff')
expect(`the diff: ${await text('.asking')}`, /Create parser\.py\?/.test(await text('.asking')) && /return int\(text\)/.test(await text('.asking .diff')))
expect('nothing is written before', !existsSync(join(workspace, 'parser.py')))
// In sight above the composer, with the focus, and no key that is typed on answers it.
const sight = await tab.evaluate(() => {
  const card = document.querySelector('.asking')
  const [answer, composer] = [card.querySelector('button.main'), document.querySelector('.say')].map((one) => one.getBoundingClientRect())
  return { above: answer.top >= 0 && answer.bottom <= composer.top, focused: document.activeElement === card, end: window.innerHeight + window.scrollY >= document.documentElement.scrollHeight - 80 }
})
expect(`the question is in sight: ${JSON.stringify(sight)}`, sight.above && sight.focused && sight.end)
await looked('asking')
// A key that is typed on answers nothing; after a second without one it does.
await tab.keyboard.press('x')
await tab.keyboard.press('y')
await pause(300)
expect('a key that is typed on answers nothing', !existsSync(join(workspace, 'parser.py')))
await pause(1000)
await tab.keyboard.press('y')
await has('Done ·')
expect('it is written', existsSync(join(workspace, 'parser.py')))
await tab.waitForSelector('.changes .diff')
// Code is colored, and is the same; it can be copied.
await seen('code is colored', () => document.querySelector('.reply .code-keyword')?.innerText === 'assert')
expect('colored code is the same', await tab.$eval('.reply pre code', (one) => one.textContent) === 'assert True')
await tab.click('.code .copy')
await has('Copied')
expect('the code is copied', await tab.evaluate(() => navigator.clipboard.readText()) === 'assert True')
const found = await tab.evaluate(() => ({
  title: document.title,
  active: document.querySelectorAll('main script, main iframe, main [onerror], main [onclick], main style, main link').length,
  links: [...document.querySelectorAll('.reply a')].map((one) => one.href),
  images: document.querySelectorAll('.reply img').length,
  meters: document.querySelector('.meters').innerText,
  call: document.querySelector('.call .name').innerText,
}))
expect(`a script in the text does nothing: ${found.title}`, found.title.startsWith('write a parser') || found.title.startsWith('New session'))
expect(`nothing in it is active: ${found.active}, ${found.images}`, found.active === 0 && found.images === 0)
expect(`links lead to web pages: ${found.links}`, found.links.join() === 'https://docs.example/')
expect(`meters: ${found.meters}`, /\$0\.0\d+/.test(found.meters) && /Context/.test(found.meters))
await tab.evaluate(() => document.querySelectorAll('details.call, details.thinking').forEach((one) => { one.open = true }))
await looked('session')

// Reloaded in the middle of a turn, it misses nothing.
await say('count')
await has('three')
await tab.reload()
await has('One two three')
expect('it is reloaded in the middle', !(await text('main')).includes('twenty'))
await has('nineteen twenty.')
await seen('the second turn ends', () => document.querySelectorAll('.end').length === 2)
const counted = await tab.$$eval('.reply', (all) => all.map((one) => one.innerText).filter((one) => one.startsWith('One two')))
expect(`all of it, once: ${counted}`, counted.length === 1 && counted[0].endsWith('twenty.'))
expect('the diff is there after the reload', (await tab.$$('.changes .diff')).length === 1)

// No, because …
await say('take notes')
await tab.waitForSelector('.asking input')
await tab.type('.asking input', 'name it notes.md')
await tab.keyboard.press('Enter')
await has('As you like.')
await has('You said no.')

// Only a part of what is proposed.
await say('add both')
await tab.waitForSelector('.asking [aria-label="Accept two.txt"]')
await tab.click('.asking [aria-label="Accept two.txt"]')
expect('always is for all of it', await tab.$$eval('.asking button', (all) => all.find((one) => one.innerText.startsWith('Always')).disabled))
await looked('part')
await press('.asking button', 'Allow 1 of 2 parts')
await has('Half of it.')
// H-86. What was not taken is said beside the call.
await has('not taken: two.txt')
expect('the one part is there, and the other is not', existsSync(join(workspace, 'one.txt')) && !existsSync(join(workspace, 'two.txt')))

// Interrupted, renamed, undone.
await say('slowly')
await has('Slowly.')
await press('main button', 'Stop')
await has('Interrupted ·')
const undone = async () => (await tab.$$('.undone')).length
// What was said beside the refusal goes with its turn.
for (let turn = 0; turn < 5; turn++) {
  const before = await undone()
  await press('main button', 'Undo')
  await press('dialog button', 'Undo')
  await seen('an undo is seen', (before) => document.querySelectorAll('.undone').length > before, before)
}
expect('the file is gone again', !existsSync(join(workspace, 'parser.py')) && !existsSync(join(workspace, 'one.txt')))
await press('.menu > summary', 'More')
await press('.menu button', 'Rename')
await tab.waitForSelector('dialog[open] input')
await tab.keyboard.type('The parser')
await tab.keyboard.press('Enter')
await seen('it is renamed', () => document.querySelector('h1').innerText === 'The parser')
await tab.click('.menu > summary').catch(() => {})
const own = tab.url()
await tab.evaluate(() => { document.querySelector('.menu').open = true })
await press('.menu button', 'Fork')
await seen('it is forked', (own) => location.href !== own, own)
await seen('the list shows the name', () => [...document.querySelectorAll('nav .title')].some((one) => one.innerText === 'The parser'))

// The words of the terminal: a line for the notes, a goal, a plan.
await press('nav button', 'New')
await seen('there is a new session', () => document.querySelector('h1').innerText === 'New session')
await tab.waitForSelector('#prompt')
// How the session stood when it was asked for is told late, when the question is there already.
await tab.evaluate(() => {
  const real = window.fetch
  window.fetch = async (address, options) => {
    const answer = await real(address, options)
    if (/\/v1\/sessions\/[^/?]+$/.test(String(address))) await new Promise((resolve) => setTimeout(resolve, 1500))
    return answer
  }
})
await say('# use pnpm, not npm')
await tab.waitForSelector('.asking .diff')
await new Promise((resolve) => setTimeout(resolve, 2000))
expect('the question stays', (await tab.$$('.asking .diff')).length === 1)
expect(`the line is shown: ${await text('.asking .diff')}`, /use pnpm, not npm <!-- haft: /.test(await text('.asking .diff')))
expect('nothing is noted before', !existsSync(join(workspace, 'AGENTS.md')))
await press('.asking button', 'Allow once')
await seen('the call for the notes ends', () => document.querySelectorAll('.end').length === 1)
expect('it is noted', readFileSync(join(workspace, 'AGENTS.md'), 'utf8').includes('- use pnpm, not npm <!-- haft: '))
await say('/goal')
await seen('the goal is shown', () => document.body.innerText.includes('no goal is set'))
await say('/plan write a parser')
await has('Carry out this plan?')
expect('in plan mode nothing is written', !existsSync(join(workspace, 'parser.py')))
await press('.asking button', 'no, keep planning')
await seen('the mode is shown', () => document.querySelector('.facts').innerText.endsWith('plan'))

// A job, started and cancelled.
await press('nav button', 'New job')
await tab.waitForSelector('dialog[open] select')
await tab.select('dialog select', 'triager')
await tab.type('dialog textarea', 'look into it')
await press('dialog button', 'Start')
await seen('the job is listed', () => [...document.querySelectorAll('nav .title')].some((one) => one.innerText === 'look into it'))
const cancel = '[aria-label="Cancel the job: look into it"]'
// The list is drawn anew whenever a session goes on.
await seen('the job can be cancelled', (cancel) => {
  const button = document.querySelector(cancel)
  button?.click()
  return button
}, cancel)
const isCancelled = (cancel) => {
  const row = document.querySelector('[aria-label="Retry the job: look into it"]')?.closest('li')
  return row?.querySelector('[data-state=cancelled]') && !row.querySelector(cancel)
}
await seen('the job is cancelled', isCancelled, cancel)

// By keyboard, and on a phone.
await tab.setViewport({ width: 390, height: 844 })
await tab.click('#menu')
expect('the lists unfold', await tab.$eval('nav', (nav) => nav.offsetParent !== null))
await looked('lists')
await tab.keyboard.press('Escape')
await browser.close()
end('page')
