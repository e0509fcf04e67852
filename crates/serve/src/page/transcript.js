// Draws a session: prompts, replies, thoughts, calls with their changes, notes, ends of turns. `session.js` shows one live,
// `export.js` one that was exported. It fetches nothing.
import { el, fill, money, named, seconds } from './dom.js'
import { applyUpdate, emptySession, isUndone } from './fold.js'
import { blocks } from './markdown.js'

const OUTCOMES = {
  finished: 'Done', interrupted: 'Interrupted', failed: 'Failed', round_limit: 'Maximum of rounds reached', budget: 'Budget used up',
  repeating: 'Ended: the model repeated itself', refused: 'Ended: a call was not allowed', unproven: 'Done, but some claims are unproven',
  invalid_answer: 'Ended: the answer does not match the schema',
  stuck: 'Ended: the goal is not reached, and the model gets no further',
}
/** What a call shows of its state: a mark and a word for screen readers. */
const STATES = { waiting: ['·', 'waiting'], running: ['…', 'running'], worked: ['✓', 'worked'], failed: ['✗', 'failed'] }
/** Notes about answers to approvals, where the answer says more than the call itself. */
export const ANSWERS = { no: 'You said no.', unanswered: 'No person could be asked to allow it.' }

/** The same, where the server knows which user answered. */
const GIVEN = { no: 'said no.', once: 'allowed it, this time.', always: 'allowed it, from here on.' }

export class Transcript {
  answers = ANSWERS

  constructor() {
    this.session = emptySession()
    /** Elements of blocks. */
    this.drawn = new Map()
    this.told = el('div', { class: 'told', role: 'log', 'aria-label': 'Conversation', 'aria-live': 'off' })
  }

  /** Draws an update. */
  applied(update) {
    for (const block of applyUpdate(this.session, update)) this.draw(block)
    if (update.undone) this.mark()
  }

  /** Dims what was undone. */
  mark() {
    for (const element of this.told.children) element.classList.toggle('undone', isUndone(this.session, Number(element.dataset.seq)))
  }

  draw(block) {
    const element = this.drawn.get(block)
    if (block.removed) element?.remove()
    else if (block.kind === 'call') this.drawCall(block)
    else DRAWN[block.kind]?.call(this, block.item, block)
  }

  put(block, element) {
    element.dataset.seq = block.seq
    this.drawn.set(block, element)
    this.told.append(element)
    return element
  }

  note(words, block) {
    this.put(block, el('p', { class: 'note' }, words))
  }

  /** What can be done about a prompt that waits. Nothing in a transcript that is not live. */
  queued() {}

  /** A call that folds open: drawn once, then changed. */
  drawCall(block) {
    const call = block.parts ??= this.beginCall(block)
    const [mark, state] = STATES[block.state]
    call.mark.textContent = mark
    call.state.textContent = state
    call.output.textContent = block.output
    if (block.state === 'running') call.box.dataset.state = 'running'
    if (block.result && call.box.dataset.state !== 'ended') this.endCall(call, block.result)
  }

  beginCall(block) {
    const { name, summary, arguments: given = {} } = block.item
    const output = el('pre', { tabindex: 0, class: 'output' })
    const [mark, state, about, took] = [el('span', { class: 'mark', 'aria-hidden': 'true' }), el('span', { class: 'spoken' }), el('span', { class: 'about' }, named(summary)), el('span', { class: 'quiet' })]
    const inside = el('div', { class: 'inside' }, el('pre', { tabindex: 0 }, typeof given === 'string' ? given : JSON.stringify(given, null, 2)), output)
    const box = el('details', { class: 'call' }, el('summary', {}, mark, state, el('span', { class: 'name' }, named(name)), about, took), inside)
    this.put(block, box)
    return { box, mark, state, about, took, inside, output, last: box }
  }

  endCall({ box, about, took, inside }, { name, summary, ok, took_ms: ms, images }) {
    box.classList.add(ok ? 'well' : 'failed')
    box.dataset.state = 'ended'
    about.textContent = named(summary)
    took.textContent = seconds(ms)
    for (const image of pictures(images, `A picture of ${name}`)) inside.append(image)
  }

  /** Names changed files. */
  changed(seq, place, changes) {
    const kinds = { created: 'created', modified: 'changed', deleted: 'deleted' }
    fill(place, el('ul', {}, changes.map(({ path, kind }) => el('li', {}, el('code', {}, named(path)), ` ${kinds[kind]}`))))
  }

  /** A call, or a tool, asks a person. */
  asks() {}

  /** A person said `words`, which `block` and its element show. */
  prompted() {}

  /** A turn ended, in these words. */
  ended() {}

  /** A job ended. */
  concluded() {}
}

const pictures = (images, alt) => images.map(({ mime, data }) => el('img', { src: `data:${mime};base64,${data}`, alt }))
const you = () => el('h2', { class: 'spoken' }, 'You')
const user = (name) => el('h2', { class: 'by' }, name)

/** How each kind of block is drawn, but for calls. */
const DRAWN = {
  queued_prompt({ text }, block) {
    this.put(block, el('div', { class: 'prompt' }, you(), el('p', {}, text), el('p', { class: 'dim' }, 'read with the next request', this.queued(text))))
  },
  prompt({ text, images, by }, block) {
    const element = this.put(block, el('div', { class: 'prompt' }, by ? user(by) : you(), el('p', {}, text), pictures(images, 'A picture of the prompt')))
    this.prompted(text, block, element)
  },
  denied({ reason }, block) {
    this.put(block, el('p', { class: 'failure', role: 'alert' }, `A hook denied the prompt: ${reason}`))
  },
  thinking({ text }, block) {
    this.put(block, el('details', { class: 'thinking' }, el('summary', {}, 'Thinking'), el('div', { class: 'inside' }, blocks(text))))
  },
  reply({ text }, block) {
    this.put(block, el('div', { class: 'reply' }, blocks(text)))
  },
  file_changes({ changes }, { seq, call }) {
    const place = el('div', { class: 'changes' })
    // Undone with the call.
    place.dataset.seq = call.seq
    call.parts.last.after(place)
    call.parts.last = place
    this.changed(seq, place, changes, call)
  },
  asked({ text }, block) {
    this.asks(text, block)
  },
  approval({ answer, by }, block) {
    const words = by ? `${by} ${GIVEN[answer]}` : this.answers[answer]
    if (words) this.note(words, block)
  },
  note({ about, text }, block) {
    this.put(block, el('p', { class: about === 'unconfined' ? 'note warning' : 'note' }, text))
    if (about === 'concluded') this.concluded()
  },
  retrying({ reason }, block) {
    this.note(`${reason}; the reply begins anew`, block)
  },
  failure({ message, hint }, block) {
    this.put(block, el('p', { class: 'failure', role: 'alert' }, message, hint && ` (${hint})`))
  },
  rewound({ way, paths, conflicts }, block) {
    const left = conflicts.length ? `; left alone: ${conflicts.join(', ')}` : ''
    this.note(`${way === 'undo' ? 'Undone' : 'Done again'}${paths.length ? `: ${paths.join(', ')}` : ''}${left}`, block)
  },
  ended({ outcome, rounds, cost_usd: usd }, block) {
    const words = `${OUTCOMES[outcome]} · ${rounds} ${rounds === 1 ? 'round' : 'rounds'} · ${money(usd)}`
    this.put(block, el('p', { class: `end ${outcome}` }, words))
    this.ended(words, outcome)
  },
}
