// One session, live: what was said and done, what goes on, and what a person can do about it.
import { call, text, upload } from './api.js'
import { showAsked } from './asking.js'
import { files } from './diff.js'
import { append, ask, el, fill, money, named, say, tokens } from './dom.js'
import { follow } from './listen.js'
import { blocks, settled } from './markdown.js'
import { Transcript } from './transcript.js'

/** Characters that a running call shows of what it says. */
const TAIL = 8000
/** Milliseconds before a question is fetched: those of earlier turns are answered by entries that follow at once. */
const SOON = 50
/** Milliseconds that a change must be in sight before its lines are fetched. */
const SEEN = 100
/** Drawing takes at most one part in so many of the time. */
const SHARE = 10
/** Milliseconds between two drawings, at most. */
const LONGEST_REST = 1000

export class SessionView extends Transcript {
  /** `gone` hears that the session was deleted; `open` leads to another one. */
  constructor(id, main, { gone, open, failed }) {
    super()
    Object.assign(this, { id, main, gone, open, failed })
    this.stop = new AbortController()
    this.images = []
    Object.assign(this, { drawn: 0, growing: [] })
    this.build()
  }

  async show() {
    await this.refresh()
    this.follow()
    if (this.stop.signal.aborted) return
    const leave = follow(this.id, {
      from: () => this.last + 1,
      heard: (event) => this.heard(event),
      begins: () => this.forget(),
      stands: (stands) => this.connected(stands),
      failed: this.failed,
    })
    this.stop.signal.addEventListener('abort', leave)
    this.input.focus()
  }

  /** How the session stood before the connection was lost need not be how it stands. */
  connected(stands) {
    if (stands && this.wasLost) this.refresh().catch(this.failed)
    this.wasLost = !stands
  }

  close() {
    clearTimeout(this.asking)
    this.growth?.disconnect()
    this.sight?.disconnect()
    this.stop.abort()
  }

  build() {
    this.title = el('h1', { tabindex: -1 }, 'Session')
    this.facts = el('p', { class: 'quiet facts' })
    this.meters = el('dl', { class: 'meters', 'aria-label': 'What it took so far' })
    this.state = el('span', { class: 'state', role: 'status' })
    this.pending = el('div', { class: 'reply pending' })
    this.thinking = el('details', { class: 'thinking pending', hidden: true }, el('summary', {}, 'Thinking…'), el('div', { class: 'inside' }))
    this.asked = el('div', { class: 'asked' })
    this.input = el('textarea', { id: 'prompt', rows: 2, placeholder: 'Say what to do', onkeydown: (event) => this.key(event), onpaste: (event) => this.pasted(event) })
    this.sending = el('button', { type: 'submit', class: 'main' }, 'Send')
    this.stopping = el('button', { type: 'button', class: 'danger', hidden: true, onclick: () => this.act('interrupt', {}) }, 'Stop')
    this.continuing = el('button', { type: 'button', hidden: true, onclick: () => this.act('continue', {}) }, 'Continue')
    this.attached = el('p', { class: 'quiet attached', role: 'status' })
    const picture = el('input', { type: 'file', id: 'picture', accept: 'image/png,image/jpeg,image/gif,image/webp', class: 'spoken', onchange: () => this.attach([...picture.files]) })
    this.form = el('form', { class: 'say', onsubmit: (event) => { event.preventDefault(); this.send() } },
      el('label', { for: 'prompt', class: 'spoken' }, 'Prompt'), this.input,
      el('div', { class: 'actions' }, this.sending, this.stopping, this.continuing, picture, el('label', { for: 'picture', class: 'button' }, 'Picture'), this.attached))
    fill(this.main,
      el('header', { class: 'head' }, el('div', {}, this.title, this.facts), el('div', { class: 'actions' }, this.state, this.acts())),
      this.meters, this.told, this.thinking, this.pending, this.asked, this.form)
  }

  item(words, action, kind) {
    return el('button', { type: 'button', class: kind, onclick: () => action().catch(this.failed) }, words)
  }

  /** What can be done with all of it. */
  acts() {
    const menu = el('details', { class: 'menu' }, el('summary', {}, 'More'), el('div', {},
      this.item('Rename', () => this.rename()), this.item('Fork', () => this.fork()), this.item('Permission', () => this.permit()), this.item('Compact', () => this.act('compact', {})),
      this.item('Export', () => this.exported()), this.item('Delete', () => this.remove(), 'danger')))
    return [this.item('Undo', () => this.move('undo')), this.item('Redo', () => this.move('redo')), menu]
  }

  async refresh() {
    this.detail = await call('GET', `/v1/sessions/${this.id}`)
    const { title, workspace, model, agent, permission, state, is_unfinished: unfinished } = this.detail
    this.titled(title)
    fill(this.facts, el('code', {}, named(model)), ` · ${named(agent)} in `, el('code', {}, named(workspace)), permission && ` · ${permission}`)
    this.continuing.hidden = !unfinished
    this.stands(state)
    this.measure()
  }

  titled(title) {
    this.title.textContent = named(title) || 'New session'
    document.title = `${this.title.textContent} – Haft`
  }

  /** How the session stands: `working`, `asking`, `idle` or `elsewhere`. */
  stands(state) {
    const words = { working: 'Working', asking: 'Asks you', idle: 'Ready', elsewhere: 'Open elsewhere' }
    this.state.textContent = words[state] ?? state
    this.state.dataset.state = state
    const busy = state === 'working' || state === 'asking'
    this.stopping.hidden = !busy
    this.sending.textContent = busy ? 'Steer' : 'Send'
    if (busy) this.continuing.hidden = true
    // Of what was asked and answered before only the last word counts.
    clearTimeout(this.asking)
    if (state === 'asking') this.asking = setTimeout(() => this.showAsked(), SOON)
    else fill(this.asked)
  }

  asks() {
    this.stands('asking')
  }

  prompted(words) {
    if (this.title.textContent === 'New session') this.titled(words.split('\n')[0].slice(0, 60))
  }

  ended(words, outcome) {
    say(words)
    this.continuing.hidden = !['interrupted', 'failed', 'round_limit'].includes(outcome)
  }

  showAsked() {
    showAsked(this.id, this.asked, this.failed).catch(this.failed)
  }

  measure() {
    const { usd, priced, read, written } = this.sums
    const share = this.detail?.window && this.context > 0 ? Math.round((this.context / this.detail.window) * 100) : undefined
    const row = (name, value) => el('div', {}, el('dt', {}, name), el('dd', {}, value))
    const filled = share !== undefined && el('meter', { min: 0, max: 100, value: share, 'aria-label': 'Context in use' })
    fill(this.meters, row('Cost', priced ? money(usd) : read || written ? 'unknown' : '–'), row('Read', tokens(read)), row('Written', tokens(written)),
      this.context > 0 && row('Context', [tokens(this.context), share !== undefined && ` (${share} %) `, filled]))
  }

  heard(event) {
    if (event.seq === null) this.live(event)
    else if (!this.entries.has(event.seq)) this.recorded(event)
  }

  /** Stays at the end while the person is there, whatever grows: replies, diffs that come later, questions. */
  follow() {
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
    for (const place of [this.told, this.pending, this.asked]) this.growth.observe(place)
  }

  live({ type, text: words, call: id, chunk, reason }) {
    if (type === 'text') {
      this.heardText = (this.heardText ?? '') + words
      this.draw()
    } else if (type === 'thinking') {
      this.heardThinking = (this.heardThinking ?? '') + words
      this.draw()
    } else if (type === 'retrying') {
      this.forget()
      this.note(`${reason}; the reply begins anew`)
    } else if (type === 'tool_output') {
      const running = this.calls.get(id)
      if (running) running.output.textContent = (running.output.textContent + chunk).slice(-TAIL)
    }
  }

  /** As often as the screen is drawn, and more seldom where that takes long: the longer a reply, the longer it is drawn. */
  draw() {
    this.drawing ??= setTimeout(() => requestAnimationFrame(() => {
      const begun = performance.now()
      this.drawing = undefined
      this.drawText(this.heardText ?? '')
      this.thinking.hidden = !this.heardThinking
      this.thinking.lastChild.textContent = this.heardThinking ?? ''
      // Layout and paint come first.
      setTimeout(() => { this.rest = Math.min((performance.now() - begun) * SHARE, LONGEST_REST) })
    }), this.rest ?? 0)
  }

  /** Draws anew what may still change, and leaves the rest as it stands. */
  drawText(text) {
    const end = settled(text, this.drawn)
    this.growing.forEach((block) => block.remove())
    append(this.pending, blocks(text.slice(this.drawn, end)))
    this.growing = blocks(text.slice(end))
    append(this.pending, this.growing)
    this.drawn = end
  }

  forget() {
    this.heardText = this.heardThinking = undefined
    Object.assign(this, { drawn: 0, growing: [] })
    fill(this.pending)
    this.thinking.hidden = true
  }

  key(event) {
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
      event.preventDefault()
      this.send()
    }
  }

  pasted(event) {
    const pictures = [...event.clipboardData.files].filter((file) => file.type.startsWith('image/'))
    if (pictures.length) {
      event.preventDefault()
      this.attach(pictures)
    }
  }

  async attach(pictures) {
    try {
      for (const picture of pictures) this.images.push({ type: 'upload', id: (await upload(picture)).id })
      this.attached.textContent = `${this.images.length} attached`
    } catch (error) {
      this.failed(error)
    }
  }

  async send() {
    const words = this.input.value.trim()
    if (!words && !this.images.length) return
    this.sending.disabled = true
    try {
      await call('POST', `/v1/sessions/${this.id}/prompt`, this.said(words))
      this.input.value = ''
      this.images = []
      this.attached.textContent = ''
    } catch (error) {
      this.failed(error)
    }
    this.sending.disabled = false
    this.input.focus()
  }

  said(words) {
    return { parts: [...(words ? [{ type: 'text', text: words }] : []), ...this.images] }
  }

  async act(what, body) {
    try {
      await call('POST', `/v1/sessions/${this.id}/${what}`, body)
    } catch (error) {
      this.failed(error)
    }
  }

  async move(way) {
    const { changes, conflicts, untracked } = await call('POST', `/v1/sessions/${this.id}/${way}`, {})
    const parts = [`${changes.length} files ${way === 'undo' ? 'restored' : 'changed again'}`]
    if (conflicts.length) parts.push(`left alone, since they were changed meanwhile: ${conflicts.join(', ')}`)
    if (untracked) parts.push(`${untracked} calls were not tracked, so what they did stands`)
    say(parts.join('; '))
    await this.refresh()
  }

  async rename() {
    const given = await ask('Rename the session', [{ name: 'name', label: 'Name', value: this.detail.name ?? '' }], 'Rename')
    if (!given) return
    await call('PATCH', `/v1/sessions/${this.id}`, { name: given.name })
    await this.refresh()
  }

  async permit() {
    const options = ['read-only', 'ask', 'accept-edits', 'full'].map((value) => ({ value, label: value }))
    const given = await ask('What runs without a question', [{ name: 'permission', label: 'Permission', options, value: this.detail.permission ?? 'ask' }], 'Set')
    if (!given) return
    await call('PATCH', `/v1/sessions/${this.id}`, { permission: given.permission })
    await this.refresh()
  }

  async fork() {
    const { id } = await call('POST', `/v1/sessions/${this.id}/fork`, {})
    this.open(id)
  }

  async remove() {
    const given = await ask('Delete the session for good?', [], 'Delete')
    if (!given) return
    await call('DELETE', `/v1/sessions/${this.id}`)
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
  changed(seq, place, changes) {
    super.changed(seq, place, changes)
    this.sight ??= new IntersectionObserver((all) => {
      for (const { isIntersecting, target } of all) {
        // What only passes by is not fetched.
        clearTimeout(target.seen)
        if (isIntersecting) target.seen = setTimeout(() => { this.sight.unobserve(target); this.diff(target.dataset.entry, target) }, SEEN)
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
