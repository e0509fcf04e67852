// The page: lists at the side, one session in the middle. Where it stands is in the address, behind `#`.
import { Refused, call, forgetToken, keepToken, takeToken } from './api.js'
import { el, fill } from './dom.js'
import { JobView } from './job.js'
import { Lists } from './lists.js'
import { SessionView } from './session.js'

const main = document.getElementById('main')
const lists = document.getElementById('lists')
const menu = document.getElementById('menu')
let shown
let list
let isFleet

function failed(error) {
  if (error instanceof Refused && error.status === 401) return askForToken()
  document.getElementById('failure')?.remove()
  const close = el('button', { type: 'button', class: 'plain', onclick: () => box.remove() }, 'Close')
  const isAway = !(error instanceof Refused)
  const box = el('div', { id: 'failure', class: 'failure', role: 'alert', 'data-away': isAway }, el('p', {}, error.message), error.suggestion && el('p', { class: 'quiet' }, error.suggestion), close)
  document.body.append(box)
}

function askForToken() {
  forgetToken()
  shown?.close()
  fill(lists)
  const input = el('input', { id: 'token', type: 'password', autocomplete: 'off', required: true })
  fill(main, el('h1', {}, 'Haft'), el('form', { class: 'token', onsubmit: (event) => { event.preventDefault(); keepToken(input.value.trim()); begin().catch(failed) } },
    el('p', {}, 'This server wants its token. ', el('code', {}, 'haft serve'), ' prints it, also as an address that carries it.'),
    el('label', { for: 'token' }, 'Token'), input, el('button', { type: 'submit', class: 'main' }, 'Open')))
  input.focus()
}

const open = (id) => { location.hash = `s/${id}` }

async function route() {
  shown?.close()
  shown = undefined
  unfold(false)
  const id = /^#s\/([0-9a-z-]+)$/.exec(location.hash)?.[1]
  list.choose(id)
  if (!id) {
    document.title = 'Haft'
    const [words, action, begin] = isFleet ? ['Choose a job, or give one.', 'New job', () => list.job()] : ['Choose a session, or begin one.', 'New session', () => list.begin()]
    fill(main, el('h1', {}, 'Haft'), el('p', {}, words), el('p', {}, el('button', { type: 'button', class: 'main', onclick: () => begin().catch(failed) }, action)))
    return
  }
  shown = new (isFleet ? JobView : SessionView)(id, main, { open, failed, gone: () => { location.hash = '' } })
  try {
    await shown.show()
  } catch (error) {
    failed(error)
  }
}

function unfold(is) {
  menu.setAttribute('aria-expanded', String(is))
  lists.classList.toggle('unfolded', is)
}

async function begin() {
  // A server of a fleet has no models.
  isFleet = await call('GET', '/v1/models').then(() => false, (error) => { if (error.status === 404) return true; throw error })
  menu.textContent = isFleet ? 'Jobs' : 'Sessions'
  list = new Lists(lists, { open, failed, isFleet })
  await list.show()
  await route()
}

menu.addEventListener('click', () => unfold(menu.getAttribute('aria-expanded') !== 'true'))
document.addEventListener('connection', ({ detail }) => {
  if (detail) document.querySelector('#failure[data-away]')?.remove()
  document.getElementById('connection').textContent = detail ? '' : 'The connection is lost; trying again…'
})
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') unfold(false)
  const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName)
  if (event.key === '/' && !isTyping) {
    event.preventDefault()
    document.getElementById('prompt')?.focus()
  }
})
window.addEventListener('hashchange', () => { if (list) route() })

if (takeToken()) begin().catch(failed)
else askForToken()
