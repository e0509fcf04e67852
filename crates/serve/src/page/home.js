// The page while no session is shown: what waits for the person, what runs, what ended since they were here, what comes next.
import { call } from './api.js'
import { age, el, fill, named, plural } from './dom.js'
import { shortName } from './choose.js'
import { notifying } from './notifications.js'

/** Where this browser keeps when the person was here last. */
const KEY = 'haft-seen'
/** Rows of a section. */
const ROWS = 8
/** Milliseconds without news before the sections are drawn again. */
const PAUSE = 300

export class Home {
  /** `begin` begins a session, `choose` one that is made of what is chosen; `failed` is told errors. */
  constructor(main, { begin, choose, failed }) {
    Object.assign(this, { main, begin, choose, failed })
    this.seen = Number(localStorage.getItem(KEY) ?? 0)
    this.heard = () => {
      clearTimeout(this.drawing)
      this.drawing = setTimeout(() => this.draw().catch(failed), PAUSE)
    }
    document.addEventListener('news', this.heard)
  }

  close() {
    this.isClosed = true
    clearTimeout(this.drawing)
    document.removeEventListener('news', this.heard)
    localStorage.setItem(KEY, String(Date.now()))
  }

  async show() {
    document.title = 'Haft'
    const button = (words, action, kind) => el('button', { type: 'button', class: kind, onclick: () => action().catch(this.failed) }, words)
    this.sections = el('div', { class: 'home' })
    fill(this.main, el('h1', {}, 'Haft'), el('p', {}, 'Choose a session, or begin one.'),
      el('p', { class: 'actions' }, button('New session', this.begin, 'main'), button('Choose model, agent and folder…', this.choose), notifying(this.failed)), this.sections)
    await this.draw()
  }

  async draw() {
    const list = (status) => call('GET', `/v1/sessions?limit=${ROWS}&status=${status}`).then(({ sessions }) => sessions)
    const [asking, working, idle, { schedules }, { items }] = await Promise.all([list('asking'), list('working'), list('idle'), call('GET', '/v1/schedules'), call('GET', '/v1/outbox?waiting=true')])
    if (this.isClosed) return
    const ended = idle.filter(({ last_at: at, title }) => title && at > this.seen)
    fill(this.sections, section('Waits for you', asking), outboxes(items), section('Runs', working), section(this.seen ? 'Ended since you were here' : 'Ended', ended),
      schedules.length > 0 && el('section', {}, el('h2', {}, 'Schedules'), el('ul', {}, schedules.map(scheduled))))
  }
}

function section(title, sessions) {
  if (!sessions.length) return undefined
  return el('section', {}, el('h2', {}, title), el('ul', {}, sessions.map(({ id, title: name, workspace, last_at: at }) => el('li', {},
    el('a', { href: `#s/${id}` }, named(name) || 'New session'), ' ', el('span', { class: 'quiet' }, `${named(shortName(workspace))} · ${age(at)}`)))))
}

/** What waits in outboxes, by session. */
function outboxes(items) {
  if (!items.length) return undefined
  const bySession = Map.groupBy(items, ({ session }) => session)
  return el('section', {}, el('h2', {}, 'Waits in outboxes'), el('ul', {}, [...bySession].map(([id, own]) => el('li', {},
    el('a', { href: `#s/${id}` }, named(own[0].title) || 'New session'), ' ', el('span', { class: 'quiet' }, `${plural(own.length, 'item')}: ${named(own.map(({ kind, target }) => `${kind} ${target}`).join(', ')).slice(0, 120)}`)))))
}

function scheduled({ kind, description, recurrence, next }) {
  return el('li', {}, named(description.split('\n')[0].slice(0, 80)), ' ', el('span', { class: 'quiet' }, `${named(kind)} · ${recurrence} · next ${new Date(next).toLocaleString()}`))
}
