// @ts-check
// The page of a fleet while no job is shown. For administrators: what waits for a person, workers, queues and limits. For
// owners: their jobs.
import { call } from './api.js'
import { el, fill, money, named, plural, say } from './dom.js'
import { notifying } from './notifications.js'

/** Milliseconds between two looks at the fleet. */
const LOOK = 3000
/** Jobs that are listed of those that wait for a person. */
const ROWS = 8
const STATUSES = ['pending', 'running', 'waiting', 'completed', 'failed', 'cancelled', 'dead']
const OPEN = STATUSES.slice(0, 3)
/** Seconds, from the largest unit on. */
const UNITS = /** @type {[number, string][]} */ ([[86400, 'd'], [3600, 'h'], [60, 'min'], [1, 's']])

export class Overview {
  /** `begin` gives a job; `failed` is told errors. */
  constructor(main, { begin, failed }) {
    this.main = main
    this.begin = begin
    this.failed = failed
    this.title = el('h1', { tabindex: -1 }, 'Fleet')
    const onclick = ({ target }) => this.pressed(target.closest('[data-post]'))
    this.body = el('div', { class: 'fleet', onclick })
    /** What can be done with the whole fleet. */
    this.whole = el('span', { onclick })
    this.seen = () => this.look()
  }

  close() {
    this.isClosed = true
    clearTimeout(this.timer)
    document.removeEventListener('visibilitychange', this.seen)
  }

  async show() {
    document.title = `${this.title.textContent} – Haft`
    const begin = el('button', { type: 'button', class: 'main', onclick: () => this.begin().catch(this.failed) }, 'New job')
    fill(this.main, el('div', { class: 'row' }, this.title, el('span', { class: 'actions' }, begin, this.whole, notifying(this.failed))), this.body)
    document.addEventListener('visibilitychange', this.seen)
    await this.look(true)
  }

  /** Again and again while a person looks. That the server does not answer is told at the top of the page. */
  async look(isFirst = false) {
    if (!document.hidden) {
      await this.draw().catch((error) => {
        const isRefused = [401, 403].includes(error.status)
        if (isRefused) this.close()
        if (isRefused || isFirst) this.failed(error)
      })
    }
    clearTimeout(this.timer)
    if (!this.isClosed) this.timer = setTimeout(() => this.look(), LOOK)
  }

  async draw() {
    const [fleet, { jobs }] = await Promise.all([call('GET', '/v1/fleet'), call('GET', `/v1/jobs?status=waiting&limit=${ROWS}`)])
    if (this.isClosed) return
    updateChildren(this.whole, el('span', {}, pausing(fleet.paused.fleet, '', 'the fleet', ' the fleet')))
    updateChildren(this.body, el('div', {}, summary(fleet), notes(fleet), jobSection('Waits for a person', jobs, ({ owner, queue, worker }) => [owner, queue, worker]), dead(fleet), workers(fleet), queues(fleet), owners(fleet), limits(fleet)))
  }

  /** Sends what a button stands for. It may go away with its row, and the focus with it. */
  async pressed(button) {
    if (!button) return
    button.disabled = true
    try {
      await call('POST', button.dataset.post, {})
      say(button.dataset.done)
      await this.draw()
    } catch (error) {
      button.disabled = false
      this.failed(error)
    }
    if (document.activeElement === document.body) (button.isConnected ? button : this.title).focus()
  }
}

/** What an owner sees: the own jobs, by what is to do about them. */
export class OwnJobs extends Overview {
  constructor(main, heard) {
    super(main, heard)
    this.title.textContent = 'Jobs'
  }

  async draw() {
    const list = (status) => call('GET', `/v1/jobs?status=${status}&limit=${ROWS}`).then(({ jobs }) => jobs)
    const [waiting, running, pending, completed, failed] = await Promise.all(['waiting', 'running', 'pending', 'completed', 'failed'].map(list))
    if (this.isClosed) return
    // An ID begins with the time at which the job was added.
    const over = [...completed, ...failed].sort((one, other) => (one.job < other.job ? 1 : -1)).slice(0, ROWS)
    const section = (title, jobs) => jobSection(title, jobs, ({ kind, queue, status }) => [kind, queue !== 'default' && queue, status])
    const sections = [section('Waits for you', waiting), section('Runs', running), section('Pending', pending), section('Ended', over)].filter(Boolean)
    updateChildren(this.body, el('div', {}, sections.length ? sections : el('p', {}, 'There is no job yet.')))
  }
}

const total = (counts) => counts.reduce((sum, { count }) => sum + count, 0)
const countOf = (jobs, status) => total(jobs.filter((job) => job.status === status))
const living = ({ workers }) => workers.filter(({ gone }) => !gone)

/** A message whose names stand in backticks. */
const coded = (words) => String(words ?? '').split('`').map((part, place) => (place % 2 ? el('code', {}, named(part)) : named(part)))

/** Time in the largest unit that fits. */
function lasting(seconds) {
  const [size, unit] = UNITS.find(([size]) => seconds >= size) ?? [1, 's']
  return `${Math.floor(seconds / size)} ${unit}`
}

function summary(fleet) {
  const { jobs, costs, oldest_waits_seconds: oldest } = fleet
  const spent = costs.reduce((sum, { usd }) => sum + usd, 0)
  const row = (name, value) => el('div', {}, el('dt', {}, name), el('dd', {}, value))
  return el('dl', { class: 'meters', 'aria-label': 'Summary' }, row('Workers', living(fleet).length), row('Pending', countOf(jobs, 'pending')), row('Running', countOf(jobs, 'running')),
    row('Waiting', countOf(jobs, 'waiting')), row('Oldest pending', oldest === null ? '–' : lasting(oldest)), row('Cost', spent ? money(spent) : '–'))
}

/** A button that posts to `path` and then says `done`; `about` says what it is for. */
const posting = (words, path, done, about) => el('button', { type: 'button', 'data-post': path, 'data-done': done, 'data-needs': 'administer', 'aria-label': about }, words)

/** A button that begins or ends a pause of `what`; `place` is its path below `/v1/fleet`. */
function pausing(isPaused, place, what, more = '') {
  const [words, path, done] = isPaused ? ['Resume', 'resume', 'Resumed'] : ['Pause', 'pause', 'Paused']
  return posting(words + more, `/v1/fleet${place}/${path}`, `${done}: ${what}`, `${words} ${what}`)
}
const placeOf = (group, name) => `/${group}/${encodeURIComponent(name)}`

/** Why pending jobs do not begin. */
function notes(fleet) {
  const { paused, limits, jobs } = fleet
  const pause = (what, place) => [coded(what), ' is paused: no worker begins its jobs. ', pausing(true, place, named(what.replaceAll('`', '')))]
  const all = [
    paused.fleet && pause('The fleet', ''),
    ...paused.owners.map((name) => pause(`The owner \`${name}\``, placeOf('owners', name))),
    ...paused.queues.map((name) => pause(`The queue \`${name}\``, placeOf('queues', name))),
    ...limits.filter(({ reached, pending }) => reached && pending > 0).map(({ reached }) => ['Pending jobs wait: ', coded(reached), '.']),
    !living(fleet).length && countOf(jobs, 'pending') > 0 && 'Pending jobs wait: no worker is running.',
  ].filter(Boolean)
  return all.length > 0 && el('div', { 'data-key': 'notes' }, all.map((words) => el('p', { class: 'note warning' }, words)))
}

function jobItem(job, title, about, reason = undefined, action = undefined) {
  return el('li', { 'data-key': job }, el('div', {}, el('a', { href: `#s/${job}` }, named(title) || job), el('p', { class: 'quiet' }, named(about.filter(Boolean).join(' · '))), reason), action)
}

/** Jobs under a title; `about` says what stands below each. */
function jobSection(title, jobs, about) {
  // Of the others, a reason is one of an attempt before.
  const reason = ({ status, progress }) => ['pending', 'failed'].includes(status) && progress && el('p', { class: 'quiet' }, coded(progress))
  return jobs.length > 0 && el('section', { 'data-key': title }, el('h2', {}, title), el('ul', {}, jobs.map((job) => (
    jobItem(job.job, job.description.split('\n')[0].slice(0, 80), about(job), reason(job))))))
}

/** Jobs that are out of attempts. */
function dead({ dead: jobs, jobs: counts }) {
  if (!jobs.length) return undefined
  const more = countOf(counts, 'dead') - jobs.length
  return el('section', { 'data-key': 'dead' }, el('h2', {}, 'Dead jobs'), el('p', { class: 'quiet' }, 'These jobs are out of attempts. Retry makes a job pending again.'),
    el('ul', {}, jobs.map(({ job, title, owner, queue, attempts, reason }) => (
      jobItem(job, title, [owner, queue, plural(attempts, 'attempt')], el('p', { class: 'quiet' }, coded(reason)),
        posting('Retry', `/v1/jobs/${job}/retry`, 'The job is pending again', `Retry the job: ${named(title)}`))))),
    more > 0 && el('p', { class: 'quiet' }, `${plural(more, 'older dead job')} more.`))
}

/** A table with the heading `caption`. A row is its key, its head and its cells; a count of 0 is dimmed. */
function table(kind, caption, heads, rows) {
  const cell = (content, column) => el('td', { 'data-label': heads[column + 1], class: content === 0 && 'zero' }, content)
  return el('table', { class: kind, 'data-key': caption }, el('caption', {}, el('h2', {}, caption)),
    el('thead', {}, el('tr', {}, heads.map((head) => el('th', { scope: 'col' }, head)))),
    el('tbody', {}, rows.map(([key, head, ...cells]) => el('tr', { 'data-key': key }, el('th', { scope: 'row' }, head), cells.map(cell)))))
}

const mark = (state) => state && [' ', el('span', { class: 'tag state', 'data-state': state }, state)]

function workers({ workers: all }) {
  if (!all.length) return el('section', { 'data-key': 'workers' }, el('h2', {}, 'Workers'), el('p', { class: 'quiet' }, 'No worker was heard of in the last day.'))
  return table('workers', 'Workers', ['Worker', 'Queues', 'Jobs', 'Seen', 'Version'], all.map(({ instance, name, version, seen_seconds_ago: seen, draining, gone, running, queues }) => [
    instance, [named(name), mark(gone ? 'gone' : draining && 'draining'), el('span', { class: 'quiet' }, named(instance))], queues.length ? named(queues.join(', ')) : 'all', running, `${lasting(seen)} ago`, named(version)]))
}

/** Counts of the jobs of each `name` by status, and more cells of it. */
function counts(caption, field, names, jobs, heads, more) {
  return table('counts', caption, [field, ...STATUSES.map((status) => status[0].toUpperCase() + status.slice(1)), ...heads], names.map((name) => {
    const own = jobs.filter((job) => job[field.toLowerCase()] === name)
    const { marks, cells } = more(name, own)
    return [name, [named(name), marks], ...STATUSES.map((status) => countOf(own, status)), ...cells]
  }))
}

function queues(fleet) {
  const { jobs, costs, paused } = fleet
  const takers = living(fleet).filter(({ draining }) => !draining)
  const names = [...new Set([...jobs, ...costs].map(({ queue }) => queue).concat(takers.flatMap((worker) => worker.queues)))].sort()
  if (!names.length) return undefined
  return counts('Queues', 'Queue', names, jobs, ['Cost', 'Pause'], (name, own) => {
    const isTaken = takers.some((worker) => !worker.queues.length || worker.queues.includes(name))
    const usd = costs.find(({ queue }) => queue === name)?.usd
    return { marks: [mark(paused.queues.includes(name) && 'paused'), mark(!isTaken && countOf(own, 'pending') > 0 && 'no worker')], cells: [usd === undefined ? 0 : money(usd), pausing(paused.queues.includes(name), placeOf('queues', name), `the queue ${named(name)}`)] }
  })
}

/** Owners with jobs that are not over. */
function owners({ jobs, paused }) {
  const names = [...new Set(jobs.filter(({ status }) => OPEN.includes(status)).map(({ owner }) => owner))].sort()
  if (!names.length) return undefined
  return counts('Owners with open jobs', 'Owner', names, jobs, ['Pause'], (name) => {
    const isPaused = paused.owners.includes(name)
    return { marks: mark(isPaused && 'paused'), cells: [pausing(isPaused, placeOf('owners', name), `the owner ${named(name)}`)] }
  })
}

function limits({ limits: all }) {
  if (!all.length) return undefined
  const used = (what, value, most, words = `${value} of ${most}`) => (most === null ? 'no limit' : [words, most > 0 && [' ', el('meter', { min: 0, max: most, value, 'aria-label': what })]])
  const dollars = (usd) => `$${usd.toFixed(2)}`
  return table('limits', 'Limits', ['Limit of', 'Running', 'Pending', 'Budget'], all.map(({ owner, queue, max_running: running, max_pending: pending, budget_usd: budget, period, reached, ...usage }) => [
    JSON.stringify([owner, queue]), [owner === null ? `Queue ${named(queue)}` : `Owner ${named(owner)}`, mark(reached && 'reached')], used('Running jobs', usage.running, running), used('Pending jobs', usage.pending, pending),
    used('Budget', usage.spent_usd, budget, budget !== null && `${dollars(usage.spent_usd)} of ${dollars(budget)} a ${period}`)]))
}

const isAlike = (old, next) => old.nodeName === next.nodeName && old.dataset?.key === next.dataset?.key

/** Makes the children of `old` like those of `next`. Elements of the same key stay, with their focus and what is selected in them. */
function updateChildren(old, next) {
  const keys = new Set([...next.children].map(({ dataset }) => dataset.key))
  for (const child of [...old.children]) if (child.dataset.key && !keys.has(child.dataset.key)) child.remove()
  let at = old.firstChild
  for (const child of [...next.childNodes]) {
    if (!at || !isAlike(at, child)) {
      old.insertBefore(child, at)
      continue
    }
    const following = at.nextSibling
    update(at, child)
    at = following
  }
  while (at) {
    const following = at.nextSibling
    at.remove()
    at = following
  }
}

function update(old, next) {
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== next.data) old.data = next.data
    return
  }
  for (const { name } of [...old.attributes]) if (!next.hasAttribute(name)) old.removeAttribute(name)
  for (const { name, value } of next.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value)
  updateChildren(old, next)
}
