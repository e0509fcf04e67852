// What a person sees of a session's entries: prompts, replies, thoughts, calls with their changes, notes, ends of turns. It
// fetches nothing: `session.js` shows one live, `export.js` one that was exported.
import { el, fill, money, named, seconds, tokens } from './dom.js'
import { blocks } from './markdown.js'

const OUTCOMES = {
  finished: 'Done', interrupted: 'Interrupted', failed: 'Failed', round_limit: 'All rounds are used up', budget: 'The budget is used up',
  repeating: 'Ended: the model repeated itself', refused: 'Ended: a call was not allowed', unproven: 'Done, but not all claims are shown',
}
/** What was answered to a call that asked, where that says more than the call itself. */
export const ANSWERS = { no: 'You said no.', nobody: 'No person could be asked to allow it.' }

export class Transcript {
  answers = ANSWERS

  constructor() {
    this.entries = new Map()
    this.last = -1
    this.calls = new Map()
    this.sums = { usd: 0, priced: false, read: 0, written: 0 }
    this.queued = []
    this.told = el('div', { class: 'told', role: 'log', 'aria-label': 'Conversation', 'aria-live': 'off' })
  }

  /** How the session stands. */
  stands() {}

  /** What is heard of a reply at this moment is over. */
  forget() {}

  /** The sums are others. */
  measure() {}

  /** A person said `words`. */
  prompted() {}

  /** A call, or a tool, asks a person. */
  asks() {}

  /** A turn came to its end, in these words. */
  ended() {}

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

  /** What a call did to files stands behind it. */
  changes(seq, id, changes) {
    const made = this.calls.get(id)
    if (!made || !changes.length) return
    const place = el('div', { class: 'changes' })
    const last = made.last ?? made.box
    last.after(place)
    made.last = place
    place.dataset.seq = made.box.dataset.seq
    this.changed(seq, place, changes)
  }

  /** Names what changed. */
  changed(seq, place, changes) {
    const kind = ({ before, after }) => (before ? (after ? 'changed' : 'deleted') : 'created')
    fill(place, el('ul', {}, changes.map((change) => el('li', {}, el('code', {}, named(change.path)), ` ${kind(change)}`))))
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
    this.prompted(words)
    this.stands('working')
  },
  replied({ seq, parts, usage }) {
    this.forget()
    for (const part of parts) {
      if (part.type === 'thinking' && part.text) this.put(seq, el('details', { class: 'thinking' }, el('summary', {}, 'Thinking'), el('div', { class: 'inside' }, blocks(part.text))))
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
  staged({ seq, call, changes }) {
    this.changes(seq, call, changes)
  },
  changed_below({ seq, call, changes }) {
    this.changes(seq, call, changes)
  },
  unsettled({ paths }) {
    this.note(`Left as it was: ${paths.join(', ')}`)
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
  approval_asked({ reason }) {
    this.asks(reason)
  },
  question_asked({ text }) {
    this.asks(text)
  },
  unconfined({ seq, reason }) {
    this.put(seq, el('p', { class: 'note warning' }, `Commands run unconfined, and an undo cannot take back what they do: ${reason}`))
  },
  approval_answered({ answer }) {
    if (this.answers[answer]) this.note(this.answers[answer])
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
    this.stands('idle')
    this.ended(words, outcome)
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
  retried({ reason }) {
    this.note(`The model was asked again: ${reason}`)
  },
  reminded({ claims }) {
    this.note(`Nothing shows what it claims: ${claims.join('; ')}`)
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
