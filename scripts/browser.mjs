// A browser for the scripts that use a page as people do, and the list of what is not as it should be.
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { join } from 'node:path'
import puppeteer from 'puppeteer-core'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
export const wrong = []
export const expect = (what, is) => { if (!is) wrong.push(what) }

/** Prints what is wrong and ends with 1; where nothing is, prints `fine`, if that is given, and ends with 0. */
export function end(about, fine) {
  for (const line of new Set(wrong)) console.error(`FAILED  ${about}: ${line}`)
  if (fine && !wrong.length) console.log(`ok      ${about}: ${fine}`)
  process.exit(wrong.length ? 1 : 0)
}

/** A file below `folder`, or null. */
export const read = (folder, name) => (existsSync(join(folder, name)) ? readFileSync(join(folder, name), 'utf8') : null)

export const launch = (program) => puppeteer.launch({ executablePath: program, args: ['--no-sandbox', '--disable-gpu'] })

/** A server in `workspace` that ends and is started anew at the same address, with these options. */
export async function serving(haft, workspace, ...options) {
  const port = await new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => { const { port } = server.address(); server.close(() => resolve(port)) })
  })
  const address = `http://127.0.0.1:${port}`
  const token = () => readFileSync(join(process.env.HAFT_HOME, 'serve-token'), 'utf8').trim()
  let server
  process.on('exit', () => server?.kill('SIGKILL'))
  async function start() {
    server = spawn(haft, ['serve', '--listen', `127.0.0.1:${port}`, ...options], { cwd: workspace, stdio: 'ignore' })
    for (let tries = 0; tries < 100; tries++) {
      if (await fetch(`${address}/healthz`).then((answer) => answer.ok, () => false)) return
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    throw new Error('the server does not answer')
  }
  const end = (signal) => new Promise((resolve) => { server.on('exit', resolve); server.kill(signal) })
  const ask = async (method, path, body) => (await fetch(address + path, { method, headers: { authorization: `Bearer ${token()}`, 'content-type': 'application/json' }, body: body && JSON.stringify(body) })).json()
  await start()
  return { address, token, start, stop: () => end('SIGTERM'), kill: () => end('SIGKILL'), ask }
}

/** A tab of `browser`; its console may say what fits `allowed`, and nothing else. */
export async function open(browser, allowed) {
  const tab = await browser.newPage()
  tab.on('dialog', (dialog) => { wrong.push(`a dialog: ${dialog.message()}`); dialog.dismiss() })
  tab.on('console', (line) => { if (!allowed?.test(line.text())) wrong.push(`the console says: ${line.text()}`) })
  tab.on('pageerror', (error) => wrong.push(`the page fails: ${error.message}`))
  await tab.setViewport({ width: 1280, height: 900 })
  return tab
}

/** What a person does in a tab, and sees. */
export function person(tab) {
  const text = (selector) => tab.$eval(selector, (one) => one.innerText).catch(() => '')
  const seen = (what, is, ...given) => tab.waitForFunction(is, { timeout: 20000, polling: 50 }, ...given).catch(() => wrong.push(`not so: ${what}`))
  const has = (words, where = 'main') => seen(`${where} says: ${words}`, (where, words) => document.querySelector(where)?.innerText.includes(words), where, words)
  // By its text, or by the first words of its label; the one at `place` where there are several.
  const press = (selector, words, place = 0) => seen(`a button: ${words}`, (selector, words, place) => {
    const all = [...document.querySelectorAll(selector)].filter((one) => !one.disabled && one.offsetParent !== null)
    const exact = all.filter((one) => one.innerText.trim() === words)
    const button = (exact.length ? exact : all.filter((one) => one.ariaLabel?.startsWith(words))).at(place)
    button?.click()
    return Boolean(button)
  }, selector, words, place)
  const say = async (words) => {
    await tab.type('#prompt', words)
    await tab.keyboard.press('Enter')
  }
  return { text, seen, has, press, say }
}

/** That nothing is wider than the window, and that axe finds nothing serious. */
export async function audit(tab, where) {
  const overflow = await tab.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
  expect(`${where}: nothing is wider than the window: ${overflow}`, overflow <= 0)
  // The protocol of the browser may run what the page's own policy forbids.
  await tab.evaluate(axe)
  const { violations } = await tab.evaluate(() => axe.run())
  for (const { id, impact, nodes } of violations.filter((one) => ['serious', 'critical'].includes(one.impact))) {
    wrong.push(`${where}: ${impact}: ${id}: ${nodes.slice(0, 3).map((node) => node.html).join(' | ')}`)
  }
}

/** Audits the page on a desk and on a phone, in light and in dark; screenshots go into `folder`, if there is one. */
export async function look(tab, name, folder) {
  for (const [width, height] of [[1280, 900], [390, 844]]) {
    for (const scheme of ['light', 'dark']) {
      await tab.setViewport({ width, height })
      await tab.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }])
      await audit(tab, `${name}, ${width} wide, ${scheme}`)
      if (!folder) continue
      await tab.evaluate(() => window.scrollTo({ top: document.body.scrollHeight }))
      await tab.screenshot({ path: join(folder, `${name}-${width}-${scheme}.png`) })
    }
  }
  await tab.setViewport({ width: 1280, height: 900 })
}

/** A person in a browser of their own, who logs in as `name` at the provider of `login_provider.mjs`. */
export async function logIn(browser, address, name, folder) {
  const tab = await open(await browser.createBrowserContext(), /40[134]|ERR_NAME|\[DOM\]|Autofocus/)
  const does = person(tab)
  await tab.goto(address)
  await does.seen('a login is offered', () => document.querySelector('a[href="/login"]')?.offsetParent)
  await look(tab, 'login', folder)
  await tab.click('a[href="/login"]')
  await tab.waitForSelector('input[name=login]')
  await tab.type('input[name=login]', name)
  await tab.type('input[name=password]', 'any')
  await Promise.all([tab.waitForNavigation(), tab.click('button[type=submit]')])
  // The provider asks whether the server may know this.
  await Promise.all([tab.waitForNavigation(), tab.click('button[type=submit]')])
  return { tab, ...does }
}
