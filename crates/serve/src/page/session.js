// One session, live: its transcript, what goes on, and what a person can do about it.
import { Refused, call, text } from './api.js'
import { clear, showAsked } from './approvals.js'
import { chooseFor, shortName } from './choose.js'
import { Composer } from './composer.js'
import { files } from './diff.js'
import { ask, el, fill, money, named, needs, plural, say, tokens } from './dom.js'
import { dropLive } from './fold.js'
import { follow } from './listen.js'
import { LiveReply } from './live.js'
import { showOutbox } from './outbox.js'
import { preview, review } from './review.js'
import { Transcript } from './transcript.js'
import { showVerify } from './verify.js'

/** Milliseconds before a question is fetched: those of earlier turns are answered by entries that follow at once. */
const ASKED_DELAY = 50
/** Milliseconds that a change must be in sight before its lines are fetched. */
const SIGHT_DELAY = 100

/** What the page does itself, in the words of the terminal. */
const COMMANDS = {
  model: ['another model or effort', (view) => view.choose('model')],
  agent: ['another agent', (view) => view.choose('agent')],
  mode: ['change the permission mode', (view) => view.choose('permission')],
  rename: ['name this session', (view) => view.rename()],
  fork: ['continue in a copy of this session', (view) => view.fork()],
  compact: ['summarize the conversation so far', (view) => view.act('compact', {})],
  continue: ['continue an interrupted turn', (view) => view.act('continue', {})],
  diff: ['show what this session changed, file by file', (view) => view.review()],
  export: ['save the conversation', (view) => view.exported()],
}

/** Whether a text is one line behind a `#` that is no number: a proposal for the notes. */
const isNote = (text) => /^#\s*[^\s\d#][^\n]*$/.test(text)
/** The name of a text that may be a command. */
const commandOf = (text) => /^\/([^\s/]+)(\s|$)/.exec(text)?.[1]

export class SessionView extends Transcript {
  /** `gone` is called when the session was deleted, with why if that was elsewhere; `open` opens another one; `failed` is told errors. */
  constructor(id, main, { gone, open, failed }, isJob = false) {
    super()
    Object.assign(this, { id, main, gone, open, failed, isJob, updates: 0 })
    this.stop = new AbortController()
    this.live = new LiveReply()
    this.composer = new Composer({
      id, isJob, failed,
      send: (text, files) => this.send(text, isJob ? undefined : files),
      complete: (typed) => this.complete(typed),
      stop: () => this.act('interrupt', {}),
      goOn: () => this.act('continue', {}),
    })
    this.build()
  }

  /** The focus goes to the prompt, or to the title, where keys of the list lead on. */
  async show(isStep = false) {
    await this.refresh()
    if (this.stop.signal.aborted) return
    this.keepAtEnd()
    const leave = follow(this.id, {
      from: () => this.session.last + 1,
      heard: (update) => this.applied(update),
      begins: () => this.forget(),
      stands: (stands) => this.connected(stands),
      failed: (error) => this.lost(error),
    })
    const { signal } = this.stop
    signal.addEventListener('abort', leave)
    document.addEventListener('news', ({ detail: { session, state } }) => {
      if (session === this.id && state === null) this.lost(new Refused(404))
    }, { signal })
    if (isStep) this.title.focus({ preventScroll: true })
    else this.composer.input.focus()
  }

  /** A session that was deleted, or was never there, is left. */
  lost(error) {
    // The deletion that was asked for here leaves it.
    if (this.isRemoving && error.status === 404) return
    if (error.status !== 404) this.failed(error)
    else this.gone(this.detail ? new Refused(404, { message: `The session “${this.title.textContent}” was deleted` }) : error)
  }

  /** The prompt that was sent last can be taken back, to be changed. */
  queued(text) {
    this.takeBack?.remove()
    this.takeBack = el('button', { type: 'button', class: 'quiet', onclick: async () => {
      try {
        await call('POST', `/v1/sessions/${this.id}/withdraw`, {})
        this.composer.put([text, this.composer.input.value].filter(Boolean).join('\n'), this.composer.files)
      } catch (error) {
        this.failed(error)
      }
      this.composer.input.focus()
    } }, 'Take back')
    return [' ', this.takeBack]
  }

  /** How the session stood before the connection was lost need not be how it stands. */
  connected(stands) {
    if (stands && this.wasLost) this.refresh().catch((error) => this.lost(error))
    this.wasLost = !stands
  }

  close() {
    clearTimeout(this.asking)
    this.growth?.disconnect()
    this.sight?.disconnect()
    clear(this.id, this.asked)
    this.composer.close()
    this.stop.abort()
  }

  build() {
    this.title = el('h1', { tabindex: -1 }, 'Session')
    this.facts = el('p', { class: 'quiet facts' })
    this.meters = el('dl', { class: 'meters', 'aria-label': 'Usage' })
    this.state = el('span', { class: 'state', role: 'status' })
    this.asked = el('div', { class: 'asked' })
    fill(this.main,
      el('header', { class: 'head' }, el('div', {}, this.title, this.facts), el('div', { class: 'actions' }, this.state, this.acts())),
      this.meters, this.told, this.live.thinking, this.live.pending, this.asked, this.composer.form)
  }

  applied(update) {
    const before = this.session.state
    this.updates++
    super.applied(update)
    this.live.draw(this.session.live)
    const { state } = this.session
    // An answer may leave other questions open.
    if (state !== before || (state === 'asking' && update.seq !== null)) this.stands(state)
    if (update.usage) this.measure()
  }

  item(words, action, kind) {
    return el('button', { type: 'button', class: kind, onclick: () => action().catch(this.failed) }, words)
  }

  /** What can be done with all of it. */
  acts() {
    const menu = el('details', { class: 'menu' }, el('summary', {}, 'More'), el('div', {},
      needs('prompt', this.item('Rename', () => this.rename())), needs('prompt', this.item('Fork', () => this.fork())), needs('prompt', this.item('Settings', () => this.choose())), needs('prompt', this.item('Undo a call', () => this.undoCall())), this.item('Outbox', () => this.showOutbox()), needs('prompt', this.item('Compact', () => this.act('compact', {}))),
      this.item('Export', () => this.exported()), needs('administer', this.item('Verify', async () => showVerify(this.id, (lines) => this.told.append(el('p', { class: 'note' }, lines.join('\n')))))), needs('administer', this.item('Delete', () => this.remove(), 'danger'))))
    this.outbox = this.item('Outbox', () => this.showOutbox(), 'main')
    this.outbox.hidden = true
    return [this.outbox, this.item('Changes', () => this.review()), needs('prompt', this.item('Undo', () => this.undoFrom())), needs('prompt', this.item('Redo', () => this.move('redo'))), menu]
  }

  async refresh() {
    const { updates } = this
    this.detail = await call('GET', `/v1/sessions/${this.id}`)
    // Another session may be shown by now.
    if (this.stop.signal.aborted) return
    const { title, state, is_unfinished: unfinished } = this.detail
    this.titled(title)
    this.describe(this.detail)
    // An update that came meanwhile is newer.
    if (updates === this.updates) {
      this.composer.offerContinue(unfinished)
      this.stands(state)
    }
    this.measure()
    await this.countOutbox()
  }

  /** Says how many items wait in the outbox; there is no button for none. */
  async countOutbox() {
    if (this.isJob) return
    const { items } = await call('GET', `/v1/sessions/${this.id}/outbox?waiting=true`)
    this.outbox.hidden = !items.length
    this.outbox.textContent = `Outbox (${items.length})`
  }

  async showOutbox() {
    await showOutbox(this.id)
    await this.countOutbox()
  }

  /** Model, agent, folder and mode; what can be changed is a button. */
  describe({ workspace, model, agent, effort, permission }) {
    const button = (what, field, value, whole = value) => el('button', { type: 'button', class: 'fact', title: named(whole), 'aria-label': `${what}: ${named(value)}. Change it`, onclick: () => this.choose(field).catch(this.failed) }, named(value))
    this.facts.classList.add('chips')
    fill(this.facts, button('Model', 'model', shortName(model), model), effort && button('Effort', 'effort', effort), button('Agent', 'agent', agent),
      el('span', { class: 'fact', title: named(workspace) }, named(shortName(workspace))), permission && button('Permission mode', 'permission', permission))
  }

  titled(title) {
    this.title.textContent = named(title) || 'New session'
    document.title = `${this.title.textContent} – Haft`
  }

  /** How the session stands: `working`, `asking`, `idle` or `elsewhere`. The next update is compared with this. */
  stands(state) {
    this.session.state = state
    const words = { working: 'Working', asking: 'Asks you', idle: 'Ready', elsewhere: 'Open elsewhere' }
    this.state.textContent = words[state] ?? state
    this.state.dataset.state = state
    const busy = state === 'working' || state === 'asking'
    this.composer.setBusy(busy)
    // Only the last state counts: what was asked before may be answered, and a history that is told again passes through all.
    clearTimeout(this.asking)
    const show = state === 'asking' ? () => showAsked(this.id, this.asked, this.failed).catch(this.failed) : () => clear(this.id, this.asked)
    this.asking = setTimeout(show, ASKED_DELAY)
  }

  prompted(words, { seq }, element) {
    if (!this.isJob) {
      element.append(el('p', { class: 'actions from-here', 'data-needs': 'prompt' }, this.item('Undo from here', () => this.undoFrom(seq), 'quiet'), this.item('Fork from here', () => this.fork(seq - 1), 'quiet')))
    }
    if (this.title.textContent === 'New session') this.titled(words.split('\n')[0].slice(0, 60))
  }

  ended(words, outcome) {
    say(words)
    this.composer.offerContinue(['interrupted', 'failed', 'round_limit'].includes(outcome))
    this.measure()
    this.countOutbox().catch(this.failed)
  }

  measure() {
    const { sums: { usd, isPriced, read, written }, context } = this.session
    const share = this.detail?.window && context > 0 ? Math.round((context / this.detail.window) * 100) : undefined
    // Nothing to total is no box.
    this.meters.hidden = !read && !written && !context
    const row = (name, value) => el('div', {}, el('dt', {}, name), el('dd', {}, value))
    const filled = share !== undefined && el('meter', { min: 0, max: 100, value: share, 'aria-label': 'Context in use' })
    fill(this.meters, row('Cost', isPriced ? money(usd) : read || written ? 'unknown' : '–'), row('Read', tokens(read)), row('Written', tokens(written)),
      context > 0 && row('Context', [tokens(context), share !== undefined && ` (${share} %) `, filled]))
  }

  /** Stays at the end while the person is there, whatever grows: replies, diffs that come later, questions. */
  keepAtEnd() {
    this.isAtEnd = true
    window.addEventListener('scroll', () => {
      // What grows moves the end away, and no person up.
      const isUp = window.scrollY < this.scrolled
      this.scrolled = window.scrollY
      if (window.innerHeight + window.scrollY >= document.documentElement.scrollHeight - 80) this.isAtEnd = true
      else if (isUp) this.isAtEnd = false
    }, { signal: this.stop.signal, passive: true })
    this.growth = new ResizeObserver(() => { if (this.isAtEnd) window.scrollTo({ top: document.documentElement.scrollHeight }) })
    this.growth.observe(this.main)
    for (const place of [this.told, this.live.pending, this.asked]) this.growth.observe(place)
  }

  /** What was sent of a reply is sent again. */
  forget() {
    dropLive(this.session)
    this.live.clear()
  }

  /** Sends a prompt, or does what a command says. */
  async send(text, files = []) {
    const name = this.composer.completer && !files.length && commandOf(text)
    if (name && COMMANDS[name]) return COMMANDS[name][1](this)
    if (this.composer.completer && !files.length && (isNote(text) || (name && await this.isCommand(name)))) return this.command(text)
    return call('POST', `/v1/sessions/${this.id}/prompt`, this.prompt(text, files))
  }

  /** Whether the server has a command or a saved prompt of this name. */
  async isCommand(name) {
    const { values } = await call('POST', `/v1/sessions/${this.id}/completions`, { typed: `/${name}` })
    return values.some(({ text, kind }) => kind === 'command' && text === `/${name}`)
  }

  /** What a text can become: what the server says, and commands of the page. */
  async complete(typed) {
    const found = await call('POST', `/v1/sessions/${this.id}/completions`, { typed })
    const name = /^\/(\S*)$/.exec(typed)?.[1]
    if (name === undefined || found.values.some(({ kind }) => kind === 'offer')) return found
    const own = Object.entries(COMMANDS).filter(([known]) => known.includes(name)).map(([known, [about]]) => ({ text: `/${known}`, about, kind: 'command' }))
    const rank = ({ text }) => (text === typed ? 0 : text.startsWith(typed) ? 1 : 2)
    return { start: 0, values: [...found.values, ...own].sort((a, b) => rank(a) - rank(b)) }
  }

  /** A prompt, as the server takes it. */
  prompt(text, files) {
    return { parts: [...(text ? [{ type: 'text', text }] : []), ...files] }
  }

  /** A command in the words of the terminal. */
  async command(text) {
    const { note } = await call('POST', `/v1/sessions/${this.id}/typed`, { text })
    if (note) {
      this.told.append(el('p', { class: 'note' }, note))
      say(note)
    }
    await this.refresh()
  }

  async act(what, body) {
    try {
      await call('POST', `/v1/sessions/${this.id}/${what}`, body)
    } catch (error) {
      this.failed(error)
    }
  }

  async review() {
    const text = await review({ id: this.id, title: this.title.textContent })
    if (text) this.told.append(el('p', { class: 'note' }, text))
  }

  /** Shows what an undo would put back before it does. */
  async undoFrom(before) {
    const body = before === undefined ? {} : { before }
    const plan = await call('POST', `/v1/sessions/${this.id}/undo`, { ...body, dry_run: true })
    if (await preview(before === undefined ? 'Undo the last turn?' : 'Undo this prompt and all behind it?', plan)) await this.move('undo', body)
  }

  async move(way, body = {}) {
    const { changes, conflicts, untracked } = await call('POST', `/v1/sessions/${this.id}/${way}`, body)
    const parts = [`${changes.length} files ${way === 'undo' ? 'restored' : 'changed again'}`]
    if (conflicts.length) parts.push(`left alone, since they were changed meanwhile: ${conflicts.join(', ')}`)
    if (untracked) parts.push(`${untracked} calls were not tracked, so what they did stands`)
    say(parts.join('; '))
    await this.refresh()
  }

  /** Undoes one call and keeps the later ones, unless they depend on it: then the server names them. */
  async undoCall() {
    const calls = (await call('GET', `/v1/sessions/${this.id}/calls`)).filter(({ undone }) => !undone).reverse()
    if (!calls.length) return say('No call changed files')
    const options = calls.map(({ call: number, name, summary, changes }) => (
      { value: String(number), label: named(`${number} ${name} ${summary}: ${changes.map(({ path }) => path).join(', ')}`.slice(0, 120)) }))
    const others = [{ value: '', label: 'Say which, and undo nothing' }, { value: 'with_dependents', label: 'Undo them, too' }, { value: 'merge', label: 'Merge the text, with conflict markers' }]
    const given = await ask('Undo a call', [
      { name: 'call', label: 'Call', options, value: options[0].value }, { name: 'others', label: 'Later calls that depend on it', options: others, value: '' }], 'Undo')
    if (!given) return
    const body = { call: Number(given.call), ...(given.others && { [given.others]: true }) }
    const { undone, changes } = await call('POST', `/v1/sessions/${this.id}/undo`, body)
    say(`Undone: call ${undone.join(', ')}; ${changes.length} files restored`)
    await this.refresh()
  }

  /** What undoes one call, one for each; nothing if its calls are not undone here. */
  undoOf(made) {
    made.parts.undo ??= this.undoPlace(made)
    return made.parts.undo
  }

  /** A quiet button that undoes one call. */
  undoPlace(made) {
    const place = el('div', { class: 'undo-call' })
    // Dimmed with the call.
    place.dataset.seq = made.seq
    this.offerUndo(made, place)
    return place
  }

  offerUndo(made, place, ...before) {
    fill(place, before, needs('prompt', this.item('Undo this call', () => this.undoThis(made, place, {}), 'quiet')))
  }

  /** Later calls may be made again meanwhile, which an interrupt ends. */
  async undoThis(made, place, how) {
    fill(place, el('span', { class: 'quiet', role: 'status' }, 'Undoing …'), this.item('Stop', () => this.act('interrupt', {}), 'quiet'))
    try {
      const calls = await call('GET', `/v1/sessions/${this.id}/calls`)
      const { call: number } = calls.find(({ id, reply }) => id === made.item.call && reply === made.seq) ?? {}
      if (number === undefined) throw new Error('this call was undone with its turn')
      const { undone, changes } = await call('POST', `/v1/sessions/${this.id}/undo`, { call: number, ...how })
      const words = `Undone: ${undone.length === 1 ? 'call' : 'calls'} ${undone.join(', ')}; ${plural(changes.length, 'file')} restored`
      this.offerUndo(made, place, el('span', { class: 'quiet' }, words))
      say(words)
    } catch (error) {
      if (error.kind === 'in_the_way') this.offerMore(made, place, error.message)
      else this.offerUndo(made, place, el('span', { class: 'quiet', role: 'alert' }, error.message))
    }
  }

  /** What is in the way of an undo, and what can be done. */
  offerMore(made, place, why) {
    fill(place, el('p', { class: 'quiet', role: 'alert' }, `${why}.`),
      why.includes('depends on it') && this.item('Undo these, too', () => this.undoThis(made, place, { with_dependents: true })),
      this.item('Merge the text', () => this.undoThis(made, place, { merge: true })),
      this.item('Leave it', async () => this.offerUndo(made, place)))
    say(why)
  }

  async rename() {
    const given = await ask('Rename the session', [{ name: 'name', label: 'Name', value: this.detail.name ?? '' }], 'Rename')
    if (!given) return
    await call('PATCH', `/v1/sessions/${this.id}`, { name: given.name })
    await this.refresh()
  }

  /** Goes on with another model, effort, agent or mode. */
  async choose(field) {
    const changed = await chooseFor(this.detail, field)
    if (!changed || !Object.keys(changed).length) return
    await call('PATCH', `/v1/sessions/${this.id}`, changed)
    say(`Changed: ${Object.values(changed).join(', ')}`)
    await this.refresh()
  }

  /** Copies the session, whole or up to the entry `at`. */
  async fork(at) {
    const { id } = await call('POST', `/v1/sessions/${this.id}/fork`, at === undefined ? {} : { at })
    this.open(id)
  }

  async remove() {
    const given = await ask('Delete the session for good?', [], 'Delete')
    if (!given) return
    this.isRemoving = true
    await call('DELETE', `/v1/sessions/${this.id}`).catch((error) => {
      this.isRemoving = false
      throw error
    })
    this.gone()
  }

  async exported() {
    const options = [{ value: 'markdown', label: 'Markdown' }, { value: 'html', label: 'A page' }, { value: 'json', label: 'The journal' }]
    const given = await ask('Export', [{ name: 'format', label: 'Format', options }], 'Save')
    if (!given) return
    const written = await text(`/v1/sessions/${this.id}/export?format=${given.format}`)
    const address = URL.createObjectURL(new Blob([written], { type: 'application/octet-stream' }))
    el('a', { href: address, download: `${this.id}.${{ markdown: 'md', html: 'html', json: 'jsonl' }[given.format]}` }).click()
    URL.revokeObjectURL(address)
  }

  /** Names what changed; the lines come once it is in sight. */
  changed(seq, place, changes, made) {
    super.changed(seq, place, changes)
    const undo = this.undoOf(made)
    if (undo) place.after(undo)
    this.sight ??= new IntersectionObserver((all) => {
      for (const { isIntersecting, target } of all) {
        // What only passes by is not fetched.
        clearTimeout(target.seen)
        if (isIntersecting) target.seen = setTimeout(() => { this.sight.unobserve(target); this.diff(target.dataset.entry, target) }, SIGHT_DELAY)
      }
    }, { rootMargin: '200px' })
    place.dataset.entry = seq
    this.sight.observe(place)
  }

  async diff(seq, place) {
    try {
      fill(place, files(await call('GET', `/v1/sessions/${this.id}/diff?seq=${seq}`)))
    } catch (error) {
      fill(place, el('p', { class: 'quiet' }, error.message))
    }
  }
}
