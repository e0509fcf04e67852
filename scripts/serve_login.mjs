// People who log in at an OpenID provider, on the page of `haft serve`: serve_login.mjs BROWSER ADDRESS WORKSPACE [FOLDER]
// Ends with 1 and a line for each thing that is not as it should be. Screenshots go into FOLDER.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { end, expect, launch, logIn, look } from './browser.mjs'

const [program, address, workspace, folder] = process.argv.slice(2)
const browser = await launch(program)

const logsIn = (name, folder) => logIn(browser, address, name, folder)

// H-93. The name and the role are those of the provider, and the address does not keep the token.
const ann = await logsIn('ann', folder)
await ann.has('ann@example.org', '.account')
await ann.has('member', '.account')
expect(`the token is not in the address: ${ann.tab.url()}`, ann.tab.url() === `${address}/`)
await ann.press('nav button', 'New')
await ann.tab.waitForSelector('#prompt')
await ann.say('write it')
await ann.tab.waitForSelector('.asking')
await look(ann.tab, 'member', folder)
await ann.press('.asking button', 'Allow once')
await ann.has('Done ·')
expect('it is written', existsSync(join(workspace, 'a.txt')))
const offersJobs = (person) => person.tab.$$eval('nav button', (all) => all.some((one) => one.innerText === 'New job' && one.offsetParent !== null))
expect('who may prompt is offered jobs', await offersJobs(ann))

// Not by its place: what the turn came to moves it.
await ann.press('.menu > summary', 'More')
expect('what only administrators may do is not offered', await ann.tab.$$eval('.menu button', (all) => all.filter((one) => one.offsetParent !== null).every((one) => !['Verify', 'Delete'].includes(one.innerText))))
await ann.press('.menu button', 'Rename')
await ann.tab.waitForSelector('dialog[open] input')
await ann.tab.keyboard.press('Escape')

// A login that has ended: the next one leads back to the session, with the prompt that was begun. The provider knows ann still.
const place = ann.tab.url()
await ann.tab.type('#prompt', 'to come')
await ann.tab.evaluate(() => sessionStorage.setItem('haft-token', 'ended'))
await ann.press('main button', 'Changes')
await ann.has('wants a token')
await ann.seen('a login is offered', () => document.querySelector('a[href="/login"]')?.offsetParent)
await Promise.all([ann.tab.waitForNavigation(), ann.tab.click('a[href="/login"]')])
await ann.seen('the prompt is there again', () => document.querySelector('#prompt')?.value === 'to come')
expect(`the session is shown again: ${ann.tab.url()}`, ann.tab.url() === place)

// The log of what users changed begins with the login.
const log = readFileSync(join(process.env.HAFT_HOME, 'serve-audit.jsonl'), 'utf8').split('\n')
expect(`the login is logged: ${log[0]}`, JSON.parse(log[0]).user === 'ann@example.org' && JSON.parse(log[0]).path === '/login/callback')

// Others are refused, and told why.
const eve = await logsIn('eve')
expect(`eve is told why: ${await eve.text('body')}`, (await eve.text('body')).includes('`eve@example.org` is in no group that has a role on this server'))
const mal = await logsIn('mal')
expect(`mal is told why: ${await mal.text('body')}`, (await mal.text('body')).includes('has not verified the e-mail address'))

const logged = readFileSync(join(process.env.HAFT_HOME, 'serve-audit.jsonl'), 'utf8').trim().split('\n').map((line) => JSON.parse(line))
expect('a refused login is logged', logged.some((line) => line.user === 'eve@example.org' && line.status === 403))
expect('so is one without a name, with the subject that the provider gives', logged.some((line) => line.user?.endsWith('mal') && line.status === 403))

// Another person sees nothing of it.
const ben = await logsIn('ben')
await ben.has('ben@example.org', '.account')
expect(`ben sees no session: ${await ben.text('nav')}`, !(await ben.text('nav')).includes('write it'))

// A login that was begun in another browser counts for none.
const stolen = await (await fetch(`${address}/login`, { redirect: 'manual' })).headers.get('location')
await ben.tab.goto(stolen)
await ben.seen('the provider has let ben in', () => location.pathname === '/login/callback' || document.querySelector('button[type=submit]'))
if (await ben.tab.$('button[type=submit]')) await Promise.all([ben.tab.waitForNavigation(), ben.tab.click('button[type=submit]')])
expect(`a login of another browser is refused: ${await ben.text('body')}`, (await ben.text('body')).includes('it began in another browser'))

// H-120. A provider that has changed its keys since is asked for them again.
const stillBegun = await (await fetch(`${address}/login`, { redirect: 'manual' })).headers.get('location')
await fetch(`${new URL(stillBegun).origin}/new-keys`)
await new Promise((done) => setTimeout(done, 1500))
const cat = await logsIn('cat')
await cat.has('cat@example.org', '.account')

// After a log-out the page asks again.
await ann.press('nav button', 'Log out')
await ann.has('wants a token')
await browser.close()
end('login')
