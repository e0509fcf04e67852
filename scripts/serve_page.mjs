// The page of `haft serve` as people use it: serve_page.mjs BROWSER ADDRESS TOKEN WORKSPACE [FOLDER]
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
tab.on('request', (request) => expect(`asked for elsewhere: ${request.url()}`, /^(data|blob):/.test(request.url()) || request.url().startsWith(address)))
tab.on('dialog', (dialog) => { wrong.push(`a dialog: ${dialog.message()}`); dialog.dismiss() })
tab.on('console', (line) => { if (!/401/.test(line.text())) wrong.push(`the console says: ${line.text()}`) })
tab.on('pageerror', (error) => wrong.push(`the page fails: ${error.message}`))
const text = (selector) => tab.$eval(selector, (one) => one.innerText).catch(() => '')
const has = (words, timeout = 20000) => tab.waitForFunction((words) => document.querySelector('main').innerText.includes(words), { timeout }, words)
  .catch(() => wrong.push(`nowhere: ${words}`))
const press = async (selector, words) => {
  const pressed = await tab.waitForFunction((selector, words) => {
    const found = [...document.querySelectorAll(selector)].find((one) => one.innerText.trim() === words && !one.disabled && one.offsetParent !== null)
    found?.click()
    return Boolean(found)
  }, { timeout: 10000 }, selector, words).catch(() => false)
  expect(`a button: ${words}`, pressed)
}
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
      if (folder) {
        await tab.evaluate(() => window.scrollTo({ top: document.body.scrollHeight }))
        await tab.screenshot({ path: join(folder, `serve-${name}-${width}-${scheme}.png`) })
      }
    }
  }
  await tab.setViewport({ width: 1280, height: 900 })
}

// Without the token nothing is shown; the address that carries it does not keep it.
await tab.setViewport({ width: 1280, height: 900 })
await tab.goto(address, { waitUntil: 'networkidle0' })
await has('wants its token')
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
await press('.asking button', 'Allow once')
await has('Done ·')
expect('it is written', existsSync(join(workspace, 'parser.py')))
await tab.waitForSelector('.changes .diff')
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
await tab.waitForFunction(() => document.querySelectorAll('.end').length === 2, { timeout: 20000 }).catch(() => wrong.push('the second turn has no end'))
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
expect('the one part is there, and the other is not', existsSync(join(workspace, 'one.txt')) && !existsSync(join(workspace, 'two.txt')))

// Interrupted, renamed, undone.
await say('slowly')
await has('Slowly.')
await press('main button', 'Stop')
await has('Interrupted ·')
const undone = async () => (await tab.$$('.undone')).length
// What was said beside the refusal is a prompt, too.
for (let turn = 0; turn < 6; turn++) {
  const before = await undone()
  await press('main button', 'Undo')
  await press('dialog button', 'Undo')
  await tab.waitForFunction((before) => document.querySelectorAll('.undone').length > before, { timeout: 10000 }, before).catch(() => wrong.push('an undo is not seen'))
}
expect('the file is gone again', !existsSync(join(workspace, 'parser.py')) && !existsSync(join(workspace, 'one.txt')))
await tab.click('.menu > summary')
await press('.menu button', 'Rename')
await tab.waitForSelector('dialog[open] input')
await tab.keyboard.type('The parser')
await tab.keyboard.press('Enter')
await tab.waitForFunction(() => document.querySelector('h1').innerText === 'The parser', { timeout: 10000 }).catch(() => wrong.push('it is not renamed'))
await tab.click('.menu > summary').catch(() => {})
const own = tab.url()
await tab.evaluate(() => { document.querySelector('.menu').open = true })
await press('.menu button', 'Fork')
await tab.waitForFunction((own) => location.href !== own, { timeout: 10000 }, own).catch(() => wrong.push('it is not forked'))
await tab.waitForFunction(() => [...document.querySelectorAll('nav .title')].some((one) => one.innerText === 'The parser'), { timeout: 10000 }).catch(() => wrong.push('the list does not show the name'))

// The words of the terminal: a line for the notes, a goal, a plan.
await press('nav button', 'New')
await tab.waitForFunction(() => document.querySelector('h1').innerText === 'New session', { timeout: 10000 }).catch(() => wrong.push('there is no new session'))
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
await tab.waitForFunction(() => document.querySelectorAll('.end').length === 1, { timeout: 20000 }).catch(() => wrong.push('the call for the notes has no end'))
expect('it is noted', readFileSync(join(workspace, 'AGENTS.md'), 'utf8').includes('- use pnpm, not npm <!-- haft: '))
await say('/goal')
await tab.waitForFunction(() => document.body.innerText.includes('no goal is set'), { timeout: 10000 }).catch(() => wrong.push('the goal is not shown'))
await say('/plan write a parser')
await has('Carry out this plan?')
expect('in plan mode nothing is written', !existsSync(join(workspace, 'parser.py')))
await press('.asking button', 'no, keep planning')
await tab.waitForFunction(() => document.querySelector('.facts').innerText.endsWith('plan'), { timeout: 10000 }).catch(() => wrong.push('the mode is not shown'))

// A job, started and cancelled.
await press('nav button', 'New job')
await tab.waitForSelector('dialog[open] select')
await tab.select('dialog select', 'triager')
await tab.type('dialog textarea', 'look into it')
await press('dialog button', 'Start')
await tab.waitForFunction(() => [...document.querySelectorAll('nav .title')].some((one) => one.innerText === 'look into it'), { timeout: 20000 }).catch(() => wrong.push('the job is not listed'))
const cancel = '[aria-label="Cancel the job: look into it"]'
// The list is drawn anew whenever a session goes on.
await tab.waitForFunction((cancel) => {
  const button = document.querySelector(cancel)
  button?.click()
  return button
}, { timeout: 20000 }, cancel).catch(() => wrong.push('the job cannot be cancelled'))
const isCancelled = (cancel) => {
  const row = document.querySelector('[aria-label="Retry the job: look into it"]')?.closest('li')
  return row?.querySelector('[data-state=cancelled]') && !row.querySelector(cancel)
}
await tab.waitForFunction(isCancelled, { timeout: 20000 }, cancel).catch(() => wrong.push('the job is not cancelled'))

// By keyboard, and on a phone.
await tab.setViewport({ width: 390, height: 844 })
await tab.click('#menu')
expect('the lists unfold', await tab.$eval('nav', (nav) => nav.offsetParent !== null))
await looked('lists')
await tab.keyboard.press('Escape')
await browser.close()

if (wrong.length) {
  console.error([...new Set(wrong)].map((line) => `FAILED  page: ${line}`).join('\n'))
  process.exit(1)
}
