// The page: lists at the side, one session in the middle. Where it stands is in the address, behind `#`.
import { Refused, call, forgetPlace, forgetToken, keepToken, takeToken, token } from './api.js'
import { paintCode } from './code.js'
import { ask, el, fill, may, named } from './dom.js'
import { forgetDrafts } from './drafts.js'
import { Home } from './home.js'
import { JobView } from './job.js'
import { Lists } from './lists.js'
import * as notifications from './notifications.js'
import { Overview, OwnJobs } from './overview.js'
import { SessionView } from './session.js'

const main = document.getElementById('main')
const lists = document.getElementById('lists')
const menu = document.getElementById('menu')
let shown
let list
let isFleet
/** Whether a key led here from one session of the list to the next. */
let isStep = false

/** What a key does outside of fields. */
const KEYS = {
  '/': ['go to the prompt', () => document.getElementById('prompt')?.focus()],
  n: ['begin a session', () => (isFleet ? list.job() : list.begin()).catch(failed)],
  c: ['show what this session changed', () => shown?.review?.().catch(failed)],
  h: ['go to the beginning: what waits, runs and ended', () => { location.hash = '' }],
  j: ['next session of the list', () => step(1)],
  k: ['session before it', () => step(-1)],
  '?': ['show the keys', () => showKeys()],
}
/** Keys of the prompt, of lists and of dialogs. */
const FIELD_KEYS = [['Enter', 'send the prompt; take what is offered'], ['Shift+Enter', 'break the line'], ['@ and /', 'offer files and commands'], ['Esc', 'close what is offered, or a dialog'], ['Tab', 'go on to the next control'], ['y, a, n', 'in an approval, after a second without a key: allow once, always, refuse']]

function showKeys() {
  const rows = [...Object.entries(KEYS).map(([key, [what]]) => [key, what]), ...FIELD_KEYS]
  return ask('Keys', [], 'Close', el('dl', { class: 'shortcuts' }, rows.map(([key, what]) => el('div', {}, el('dt', {}, el('kbd', {}, key)), el('dd', {}, what)))))
}

function failed(error) {
  if (error instanceof Refused && error.status === 401) return askForToken()
  document.getElementById('failure')?.remove()
  const close = el('button', { type: 'button', class: 'plain', onclick: () => box.remove() }, 'Close')
  const isAway = !(error instanceof Refused)
  const box = el('div', { id: 'failure', class: 'failure', role: 'alert', 'data-away': isAway }, el('p', {}, error.message), error.suggestion && el('p', { class: 'quiet' }, error.suggestion), close)
  document.body.append(box)
}

async function askForToken() {
  // Several requests may be refused, and each leads here: what is typed into the form by then stays.
  if (document.getElementById('token')) return
  const forgotten = forgetToken()
  connected(true)
  shown?.close()
  shown = undefined
  fill(lists)
  const input = el('input', { id: 'token', type: 'password', autocomplete: 'off', required: true })
  const login = el('p', { hidden: true }, el('a', { class: 'button main', href: '/login' }, 'Log in'))
  fetch('/login/offer').then((answer) => answer.json()).then(({ issuer }) => { login.hidden = !issuer }, () => { /* the token is another way */ })
  const refused = el('p', { class: 'failure', role: 'alert', hidden: true }, 'The server refuses this token.')
  const given = async (event) => {
    event.preventDefault()
    keepToken(input.value.trim())
    refused.hidden = true
    await begin().catch((error) => {
      if (error.status !== 401) return failed(error)
      refused.hidden = false
      input.select()
      return forgetToken()
    })
  }
  fill(main, el('h1', {}, 'Haft'), login, el('form', { class: 'token', onsubmit: given },
    el('p', {}, 'This server wants a token: yours, or the one that ', el('code', {}, 'haft serve'), ' prints, also as an address that carries it.'),
    el('label', { for: 'token' }, 'Token'), input, el('button', { type: 'submit', class: 'main' }, 'Open'), refused))
  input.focus()
  await forgotten
}

/** Says at the top whether the connection stands. Without a token there is none. */
function connected(stands) {
  if (stands) document.querySelector('#failure[data-away]')?.remove()
  document.getElementById('connection').textContent = stands || !token() ? '' : 'The connection is lost; trying again…'
}

const open = (id) => { location.hash = `s/${id}` }

function step(rows) {
  const id = list.below(rows)
  isStep = id !== undefined
  if (isStep) open(id)
}

async function route() {
  const isStepped = isStep
  isStep = false
  shown?.close()
  shown = undefined
  unfold(false)
  const id = /^#s\/([0-9a-z-]+)$/.exec(location.hash)?.[1]
  list.choose(id)
  if (!id) {
    if (!isFleet) shown = new Home(main, { begin: () => list.begin(), choose: () => list.beginWith(), failed })
    else shown = new (may('administer') ? Overview : OwnJobs)(main, { begin: () => list.job(), failed })
    return shown.show().catch(failed)
  }
  const gone = (why) => {
    if (shown !== view) return
    view.close()
    shown = undefined
    location.hash = ''
    if (why) failed(why)
  }
  const view = shown = new (isFleet ? JobView : SessionView)(id, main, { open, failed, gone })
  try {
    await view.show(isStepped)
  } catch (error) {
    view.lost(error)
  }
}

function unfold(is) {
  menu.setAttribute('aria-expanded', String(is))
  lists.classList.toggle('unfolded', is)
}

async function logOut() {
  await notifications.stop().catch(() => { /* the server notifies no device */ })
  // A token that was given to the user, and not by a login, stays.
  await call('POST', '/logout').catch(() => { /* there are no logins here */ })
  await askForToken()
  forgetDrafts()
  forgetPlace()
}

/** Who is logged in. */
const account = ({ user, role }) => el('p', { class: 'account' }, el('span', {}, named(user)), ' ', el('span', { class: 'quiet' }, named(role)), ' ', el('button', { type: 'button', class: 'quiet', onclick: logOut }, 'Log out'))

async function begin() {
  // A server of a fleet has no models.
  isFleet = await call('GET', '/v1/models').then(() => false, (error) => { if (error.status === 404) return true; throw error })
  const me = await call('GET', '/v1/me')
  document.body.dataset.may = me.may.join(' ')
  await notifications.begin(isFleet).catch(() => { /* the server notifies no device */ })
  menu.textContent = isFleet ? 'Jobs' : 'Sessions'
  list = new Lists(lists, { open, failed, isFleet, account: me.user && account(me) })
  await list.show()
  await route()
}

menu.addEventListener('click', () => unfold(menu.getAttribute('aria-expanded') !== 'true'))
document.addEventListener('connection', ({ detail }) => connected(detail))
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') unfold(false)
  const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName)
  const isFree = list && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey && !document.getElementById('dialog').open
  const act = isFree && KEYS[event.key]?.[1]
  if (act) {
    event.preventDefault()
    act()
  }
})
paintCode(main)
window.addEventListener('hashchange', () => { if (list) route() })

if (await takeToken()) begin().catch(failed)
else askForToken()
