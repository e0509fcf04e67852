// One session, live: what was said and done, what goes on, and what a person can do about it.
import { call, text, upload } from './api.js'
import { showAsked } from './asking.js'
import { files } from './diff.js'
import { append, ask, el, fill, money, named, say, seconds, tokens } from './dom.js'
import { follow } from './listen.js'
import { blocks, settled } from './markdown.js'

const OUTCOMES = {
  finished: 'Done', interrupted: 'Interrupted', failed: 'Failed', round_limit: 'All rounds are used up', budget: 'The budget is used up',
  repeating: 'Ended: the model repeated itself', refused: 'Ended: a call was not allowed', unproven: 'Done, but not all claims are shown',
}
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

export class SessionView {
  /** `gone` hears that the session was deleted; `open` leads to another one. */
  constructor(id, main, { gone, open, failed }) {
    Object.assign(this, { id, main, gone, open, failed })
    this.stop = new AbortController()
    this.entries = new Map()
    this.last = -1
    this.calls = new Map()
    this.sums = { usd: 0, priced: false, read: 0, written: 0 }
    this.images = []
    this.queued = []
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
    this.told = el('div', { class: 'told', role: 'log', 'aria-label': 'Conversation', 'aria-live': 'off' })
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

  recorded(event) {
    this.entries.set(event.seq, event.parent ?? (this.last < 0 ? undefined : this.last))
    this.last = event.seq
    const told = TOLD[event.type]
    if (told) told.call(this, event)
    if (event.parent !== undefined) this.mark()
  }

  /** What an undo took back looks so. */
  mark() {
    const active = new Set()
    for (let seq = this.last; seq !== undefined; seq = this.entries.get(seq)) active.add(seq)
    for (const block of this.told.children) block.classList.toggle('undone', !active.has(Number(block.dataset.seq)))
  }

  put(seq, element) {
    element.dataset.seq = seq
    this.told.append(element)
    return element
  }

  note(words, seq = this.last) {
    this.put(seq, el('p', { class: 'note' }, words))
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

  /** A call that folds open. */
  begin(id, name, given, seq) {
    const output = el('pre', { tabindex: 0, class: 'output' })
    const mark = el('span', { class: 'mark', 'aria-hidden': 'true' }, '·')
    const state = el('span', { class: 'spoken' }, 'waiting')
    const took = el('span', { class: 'quiet' })
    const inside = el('div', { class: 'inside' })
    const about = given && typeof given === 'object' ? Object.values(given).find((value) => typeof value === 'string') ?? '' : ''
    const shown = typeof given === 'string' ? given : JSON.stringify(given, null, 2)
    fill(inside, el('pre', { tabindex: 0 }, shown), output)
    const box = el('details', { class: 'call' }, el('summary', {}, mark, state, el('span', { class: 'name' }, named(name)), el('span', { class: 'about' }, named(about.split('\n')[0].slice(0, 120))), took), inside)
    this.put(seq, box)
    const made = { box, mark, state, took, inside, output }
    this.calls.set(id, made)
    return made
  }

  /** Names what changed; the lines come once it is in sight. */
  changed(seq, place, changes) {
    const kind = ({ before, after }) => (before ? (after ? 'changed' : 'deleted') : 'created')
    fill(place, el('ul', {}, changes.map((change) => el('li', {}, el('code', {}, named(change.path)), ` ${kind(change)}`))))
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

function pictures(parts) {
  return parts.filter((part) => part.type === 'image').map((part) => el('img', { src: `data:${part.mime};base64,${part.data}`, alt: 'A picture of the prompt' }))
}

function wordsOf(parts) {
  return parts.filter((part) => part.type === 'text').map((part) => part.text).join('\n')
}

/** What each kind of entry looks like; the others are not shown. */
const TOLD = {
  prompt_queued({ seq, parts }) {
    const prompt = el('div', { class: 'prompt' }, el('h2', { class: 'spoken' }, 'You'), el('p', {}, wordsOf(parts)), el('p', { class: 'dim' }, 'read with the next request'))
    this.queued.push(prompt)
    this.put(seq, prompt)
  },
  prompted({ seq, parts }) {
    const words = wordsOf(parts)
    this.queued.shift()?.remove()
    this.put(seq, el('div', { class: 'prompt' }, el('h2', { class: 'spoken' }, 'You'), el('p', {}, words), pictures(parts)))
    if (this.title.textContent === 'New session') this.titled(words.split('\n')[0].slice(0, 60))
    this.stands('working')
  },
  replied({ seq, parts, usage }) {
    this.forget()
    for (const part of parts) {
      if (part.type === 'thinking' && part.text) this.put(seq, el('details', { class: 'thinking' }, el('summary', {}, 'Thinking'), el('div', { class: 'inside' }, part.text)))
      else if (part.type === 'text') this.put(seq, el('div', { class: 'reply' }, blocks(part.text)))
      else if (part.type === 'tool_call') this.begin(part.id, part.name, part.arguments, seq)
    }
    this.context = usage.input + usage.cache_read + usage.cache_write + usage.output
    this.measure()
  },
  called({ seq, id, name, arguments: given }) {
    this.begin(id, name, given, seq)
    this.stands('working')
  },
  tool_started({ call: id }) {
    const made = this.calls.get(id)
    if (made) [made.mark.textContent, made.state.textContent, made.box.dataset.state] = ['…', 'running', 'running']
  },
  staged({ seq, call: id, changes }) {
    const made = this.calls.get(id)
    if (!made || !changes.length) return
    const place = el('div', { class: 'changes' })
    made.box.after(place)
    place.dataset.seq = made.box.dataset.seq
    this.changed(seq, place, changes)
  },
  tool_ended({ seq, call: id, name, ok, content, duration_ms: took, images }) {
    const made = this.calls.get(id) ?? this.begin(id, name, {}, seq)
    made.box.classList.add(ok ? 'well' : 'failed')
    made.box.dataset.state = 'ended'
    made.mark.textContent = ok ? '✓' : '✗'
    made.state.textContent = ok ? 'worked' : 'failed'
    made.took.textContent = seconds(took)
    made.output.textContent = content
    for (const image of images ?? []) made.inside.append(el('img', { src: `data:${image.mime};base64,${image.data}`, alt: `A picture of ${name}` }))
  },
  approval_asked() {
    this.stands('asking')
  },
  question_asked() {
    this.stands('asking')
  },
  unconfined({ seq, reason }) {
    this.put(seq, el('p', { class: 'note warning' }, `Commands run unconfined, and an undo cannot take back what they do: ${reason}`))
  },
  approval_answered({ answer }) {
    if (answer === 'no') this.note('You said no.')
    else if (answer === 'nobody') this.note('No person could be asked to allow it.')
    this.stands('working')
  },
  question_answered({ answer }) {
    this.note(answer === null ? 'No answer.' : `You answered: ${answer}`)
    this.stands('working')
  },
  turn_ended({ seq, outcome, rounds, usage, cost_usd: usd }) {
    this.forget()
    this.sums.read += usage.input + usage.cache_read + usage.cache_write
    this.sums.written += usage.output
    if (usd !== null) [this.sums.usd, this.sums.priced] = [this.sums.usd + usd, true]
    const words = `${OUTCOMES[outcome] ?? outcome} · ${rounds} ${rounds === 1 ? 'round' : 'rounds'} · ${money(usd)}`
    this.put(seq, el('p', { class: `end ${outcome}` }, words))
    say(words)
    this.stands('idle')
    this.continuing.hidden = !['interrupted', 'failed', 'round_limit'].includes(outcome)
    this.measure()
  },
  model_failed({ seq, message, hint }) {
    this.put(seq, el('p', { class: 'failure', role: 'alert' }, message, hint && ` (${hint})`))
  },
  prompt_denied({ seq, reason }) {
    this.queued.shift()?.remove()
    this.put(seq, el('p', { class: 'failure', role: 'alert' }, `A hook denied the prompt: ${reason}`))
  },
  rewound({ seq, way, changes, conflicts }) {
    this.forget()
    const paths = changes.map((change) => change.path).join(', ')
    const left = conflicts.length ? `; left alone: ${conflicts.join(', ')}` : ''
    this.note(`${way === 'undo' ? 'Undone' : 'Done again'}${paths ? `: ${paths}` : ''}${left}`, seq)
    this.stands('idle')
  },
  interrupted() {
    this.note('Stopped.')
  },
  continued() {
    this.note('Continued.')
    this.stands('working')
  },
  compacted({ before, after }) {
    this.note(`The beginning was summarized: ${tokens(before)} tokens became ${tokens(after)}.`)
  },
  mode_set({ mode }) {
    this.note(`Permission: ${mode}`)
  },
  job_started({ title }) {
    this.note(`Began in the background: ${title}`)
  },
  job_ended({ job }) {
    this.note(`Background command ${job} has ended.`)
  },
  concluded({ status, reason }) {
    this.note(`The job is ${status}: ${reason}`)
  },
}
