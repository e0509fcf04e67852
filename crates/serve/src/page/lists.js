// Sessions and jobs, with how they stand.
import { call } from './api.js'
import { chooseNew, shortName } from './choose.js'
import { age, ask, el, fill, may, named } from './dom.js'
import { listen } from './listen.js'
import { notify } from './notifications.js'

/** Milliseconds between two looks at the jobs of a fleet. */
const LOOK = 3000
/** Jobs that are listed at first, and so many more each time. */
const JOBS = 20
const STATES = { working: 'working', asking: 'asks you', idle: '', elsewhere: 'open elsewhere' }

export class Lists {
  /** `isFleet`: there are only jobs, and no event says when they change. */
  constructor(place, { open, failed, isFleet, account }) {
    Object.assign(this, { open, failed, isFleet, rows: new Map() })
    this.sessions = el('ul')
    this.jobs = el('ul')
    this.more = el('button', { type: 'button', hidden: true, onclick: () => this.load(true).catch(failed) }, 'Older sessions')
    this.moreJobs = el('button', { type: 'button', hidden: true, onclick: () => this.loadJobs(true).catch(failed) }, 'Older jobs')
    this.search = el('input', { id: 'search', type: 'search', placeholder: 'Find a session', oninput: () => this.find() })
    const button = (words, needs, action) => el('button', { type: 'button', class: 'main', 'data-needs': needs, onclick: () => action().catch(failed) }, words)
    const choosing = el('button', { type: 'button', 'data-needs': 'prompt', 'aria-label': 'Choose… model, agent or folder of a new session', onclick: () => this.beginWith().catch(failed) }, 'Choose…')
    this.overview = el('a', { href: '#' }, 'Overview')
    fill(place,
      isFleet && this.overview,
      !isFleet && el('section', { 'aria-labelledby': 'sessions-title' }, el('div', { class: 'row' }, el('h2', { id: 'sessions-title' }, 'Sessions'), el('span', { class: 'actions' }, choosing, button('New', 'prompt', () => this.begin()))),
        el('label', { for: 'search', class: 'spoken' }, 'Find a session'), this.search, this.sessions, this.more),
      el('section', { 'aria-labelledby': 'jobs-title' }, el('div', { class: 'row' }, el('h2', { id: 'jobs-title' }, 'Jobs'), button('New job', 'prompt', () => this.job())), this.jobs, this.moreJobs),
      account)
  }

  async show() {
    if (this.isFleet) {
      listen({ stands: (stands) => this.stands(stands), failed: this.failed })
      return this.look()
    }
    await Promise.all([this.load(), this.loadJobs()])
    listen({ news: (news) => this.heard(news), stands: (stands) => this.stands(stands), failed: this.failed })
  }

  /** Again and again while people look; that the server does not answer is said beside the lists. */
  async look() {
    if (!document.hidden) {
      const answers = await this.loadJobs().then(() => true, (error) => { if (error.status === 401) throw error; return false })
      document.dispatchEvent(new CustomEvent('connection', { detail: answers && !this.wasLost }))
    }
    setTimeout(() => this.look().catch(this.failed), LOOK)
  }

  /** Where the connection was lost, all that was heard before may be out of date. */
  stands(stands) {
    if (stands && this.wasLost && !this.isFleet) Promise.all([this.load(), this.loadJobs()]).catch(this.failed)
    this.wasLost = !stands
    document.dispatchEvent(new CustomEvent('connection', { detail: stands }))
  }

  find() {
    clearTimeout(this.finding)
    this.finding = setTimeout(() => this.load().catch(this.failed), 200)
  }

  async load(more = false) {
    const after = more && this.next ? `&after=${this.next}` : ''
    if (!more) this.asked = Symbol()
    const { asked } = this
    const found = await call('GET', `/v1/sessions?limit=40${after}&search=${encodeURIComponent(this.search.value)}`)
    // The list was asked for anew meanwhile.
    if (asked !== this.asked) return
    if (!more) {
      this.rows.clear()
      fill(this.sessions)
    }
    this.next = found.next
    this.more.hidden = !found.next
    found.sessions.forEach((session) => this.sessions.append(this.row(session)))
    if (!this.sessions.children.length) fill(this.sessions, el('li', { class: 'quiet' }, this.search.value ? 'No session has such a title.' : 'There is no session yet.'))
    this.choose(this.chosen)
  }

  row({ id, title, state, last_at: at, model }) {
    const mark = el('span', { class: 'state', 'data-state': state }, STATES[state])
    const link = el('a', { href: `#s/${id}` }, el('span', { class: 'title' }, named(title) || 'New session'), el('span', { class: 'quiet' }, `${age(at)} · ${named(shortName(model))}`), mark)
    this.rows.set(id, { mark, link, isNew: !title })
    return el('li', {}, link)
  }

  heard({ session, state }) {
    document.dispatchEvent(new CustomEvent('news', { detail: { session, state } }))
    if (state === 'asking') notify(this.rows.get(session)?.link.firstChild.textContent ?? '', session)
    // A title is what was said first.
    if (session === null || state === null || (this.rows.get(session)?.isNew ?? true)) {
      clearTimeout(this.loading)
      this.loading = setTimeout(() => Promise.all([this.load(), this.loadJobs()]).catch(this.failed), 150)
      return
    }
    const { mark } = this.rows.get(session)
    mark.dataset.state = state
    mark.textContent = STATES[state]
    clearTimeout(this.jobsLoading)
    if (state === 'idle') this.jobsLoading = setTimeout(() => this.loadJobs().catch(this.failed), 500)
  }

  /** The session that is so many rows below the one that is shown. */
  below(rows) {
    const ids = [...this.rows.keys()]
    return ids[ids.indexOf(this.chosen) + (this.chosen ? rows : Math.max(rows, 0))]
  }

  /** The session that is shown. */
  choose(id) {
    this.chosen = id
    for (const [row, { link }] of [...this.rows, [undefined, { link: this.overview }]]) {
      if (row === id) link.setAttribute('aria-current', 'page')
      else link.removeAttribute('aria-current')
    }
  }

  /** The newest, as many as are shown, or those behind them. */
  async loadJobs(more = false) {
    const [from, limit] = more ? [`&after=${this.nextJob}`, JOBS] : ['', Math.min(500, Math.max(JOBS, this.jobs.children.length))]
    const { jobs, next } = await call('GET', `/v1/jobs?limit=${limit}${from}`)
    if (!more) fill(this.jobs)
    this.nextJob = next
    this.moreJobs.hidden = !next
    this.jobs.append(...jobs.map((job) => this.jobRow(job)))
    if (!this.jobs.children.length) fill(this.jobs, el('li', { class: 'quiet' }, 'There is no job yet.'))
  }

  jobRow({ job, kind, owner, queue, status, description, progress }) {
    const act = (what) => call('POST', `/v1/jobs/${job}/${what}`, {}).then(() => this.loadJobs()).catch(this.failed)
    const over = ['completed', 'failed', 'cancelled'].includes(status)
    const about = named(description.split('\n')[0].slice(0, 60))
    return el('li', {}, el('a', { href: `#s/${job}` }, el('span', { class: 'title' }, about), el('span', { class: 'quiet' }, named([kind, may('administer') && owner, queue !== 'default' && queue, progress.slice(0, 80)].filter(Boolean).join(' · '))), el('span', { class: 'state', 'data-state': status }, status)),
      !over && el('button', { type: 'button', 'data-needs': 'prompt', 'aria-label': `Cancel the job: ${about}`, onclick: () => act('cancel') }, 'Cancel'),
      (status === 'failed' || status === 'cancelled') && el('button', { type: 'button', 'data-needs': 'prompt', 'aria-label': `Retry the job: ${about}`, onclick: () => act('retry') }, 'Retry'))
  }

  /** Begins a session, made of what is chosen. */
  async begin(chosen = {}) {
    const { id } = await call('POST', '/v1/sessions', chosen)
    this.open(id)
  }

  async beginWith() {
    const chosen = await chooseNew()
    if (chosen) await this.begin(chosen)
  }

  async job() {
    if (this.isFleet) return this.fleetJob()
    const { agents } = await call('GET', '/v1/agents')
    const options = agents.filter((agent) => agent.takes_jobs).map((agent) => ({ value: agent.name, label: `${agent.name}: ${agent.description}` }))
    const given = await ask('New job', [{ name: 'kind', label: 'Agent', options }, { name: 'description', label: 'What to do', long: true, required: true }], 'Start')
    if (!given) return
    const { job } = await call('POST', '/v1/jobs', given)
    await this.loadJobs()
    this.open(job)
  }

  async fleetJob() {
    const given = await ask('New job', [{ name: 'description', label: 'What to do', long: true, required: true }, { name: 'repository', label: 'Repository', placeholder: 'https://git.example.org/parser.git' },
      { name: 'base', label: 'Commit or branch to begin with' }, { name: 'kind', label: 'Agent', value: 'builder' }, { name: 'queue', label: 'Queue', value: 'default' }], 'Start')
    if (!given) return
    const { job } = await call('POST', '/v1/jobs', Object.fromEntries(Object.entries(given).filter(([, words]) => words)))
    await this.loadJobs()
    this.open(job)
  }
}
