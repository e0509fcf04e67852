// The outbox of a session: what it queued since it cannot be taken back. A person ticks what may leave, sends or drops it,
// and sees in place what became of each item.
import { call } from './api.js'
import { age, el, fill, named, needs, plural, say } from './dom.js'

/** What became of an item, for a person; the rest is over. */
const STATES = { queued: 'waits', sending: 'is being sent', sent: 'sent', failed: 'failed', unknown: 'unknown whether it arrived', dropped: 'dropped' }
const OPEN = ['queued', 'failed', 'unknown']

export const waiting = (items) => items.filter(({ state }) => state !== 'sent' && state !== 'dropped')

/** Shows the outbox of the session `id` until the person closes it. */
export async function showOutbox(id) {
  const { items } = await call('GET', `/v1/sessions/${id}/outbox`)
  const dialog = document.getElementById('dialog')
  dialog.classList.add('broad')
  return new Promise((resolve) => {
    dialog.onclose = () => resolve()
    const panel = new Outbox(id, items, () => dialog.close())
    fill(dialog, panel.element)
    dialog.showModal()
  })
}

class Outbox {
  constructor(id, items, close) {
    Object.assign(this, { id, close })
    this.cards = items.map((item) => new Card(item, () => this.offer()))
    this.acts = el('div', { class: 'actions' })
    const over = this.cards.filter(({ item }) => !waiting([item]).length)
    const open = this.cards.filter((card) => !over.includes(card))
    const list = (cards) => el('ul', { class: 'outbox' }, cards.map(({ element }) => element))
    this.element = el('div', { class: 'panel' }, el('h2', { id: 'dialog-title' }, 'Outbox'),
      !items.length && el('p', {}, 'The outbox is empty.'),
      open.length > 0 && [el('p', { class: 'quiet' }, 'Each call is made once, in the workspace as it is now.'), list(open)],
      over.length > 0 && el('details', { open: !open.length }, el('summary', {}, `Sent or dropped: ${over.length}`), list(over)), this.acts)
    this.offer()
  }

  ticked() {
    return this.cards.filter(({ box }) => box?.checked)
  }

  button(words, action, kind, disabled) {
    return el('button', { type: 'button', class: kind, disabled, onclick: action }, words)
  }

  offer() {
    const count = this.ticked().length
    const items = count ? ` ${plural(count, 'item')}` : ''
    const isOpen = this.cards.some(({ box }) => box)
    fill(this.acts, isOpen && [needs('approve', this.button(`Send${items}`, () => this.confirm(), 'main', !count)), needs('approve', this.button(`Drop${items}`, () => this.each('drop', 'Dropped'), 'danger', !count))], this.button('Close', this.close))
  }

  /** What is sent cannot be taken back, so it takes a second press. */
  confirm() {
    const cards = this.ticked()
    const unknown = cards.filter(({ item }) => item.state === 'unknown').length
    const words = `Send ${plural(cards.length, 'item')}?`
    fill(this.acts, el('p', { class: 'sure', role: 'alert' }, `${words} This cannot be taken back.`, unknown > 0 && ` Of ${plural(unknown, 'item')} it is unknown whether an earlier attempt arrived: look there first.`),
      this.button(`Yes, send ${plural(cards.length, 'item')}`, () => this.each('send', 'Sent'), 'main'), this.button('Back', () => this.offer()))
    this.acts.querySelector('button').focus()
  }

  /** One after the other; one that goes wrong keeps none of the others back. */
  async each(what, done) {
    const cards = this.ticked()
    fill(this.acts, el('p', { class: 'quiet', role: 'status' }, what === 'send' ? 'Sending …' : 'Dropping …'))
    this.cards.forEach((card) => card.lock())
    for (const card of cards) await card.act(this.id, what)
    const well = cards.filter(({ isDone }) => isDone).length
    say(`${done}: ${well} of ${plural(cards.length, 'item')}`)
    this.cards.forEach((card) => card.draw())
    this.offer()
    this.acts.querySelector('button:last-child').focus()
  }
}

class Card {
  constructor(item, ticked) {
    Object.assign(this, { item, ticked })
    this.element = el('li')
    this.draw()
  }

  /** What it would do, with the evidence beside it. */
  draw() {
    const { id, kind, target, state, tool, call: words, reason, prompt, tests, evidence, queued_at: at } = this.item
    const name = `${kind} ${target}`
    this.box = OPEN.includes(state) ? el('input', { type: 'checkbox', 'aria-label': `Choose ${named(name)}, item ${id}`, onchange: this.ticked }) : undefined
    const fact = (what, value) => el('div', {}, el('dt', {}, what), el('dd', {}, value))
    this.element.dataset.state = state
    fill(this.element, el('label', { class: 'title' }, this.box, el('strong', {}, named(name)), ' ', el('span', { class: 'state', 'data-state': state === 'queued' ? 'waiting' : state === 'sent' ? 'completed' : state }, STATES[state])),
      el('pre', { tabindex: 0, role: 'group', 'aria-label': `Call of ${tool}` }, words),
      el('dl', {}, fact('Tests', [tests, evidence && [': ', el('code', {}, named(evidence.command))]]), fact('Why it waits', named(reason)), fact('Prompt', named(prompt.split('\n')[0].slice(0, 120))), fact('Queued', age(at))),
      this.became())
  }

  /** What its call gave, or why it was not made. */
  became() {
    const { result, state } = this.item
    if (this.refused) return el('p', { class: 'failure', role: 'alert' }, this.refused)
    if (!result) return undefined
    return el('details', { open: state !== 'sent' || this.isDone }, el('summary', {}, 'What the call gave'), el('pre', { tabindex: 0 }, result.slice(0, 4000)))
  }

  lock() {
    if (this.box) this.box.disabled = true
  }

  async act(session, what) {
    this.refused = undefined
    const again = what === 'send' && this.item.state === 'unknown'
    try {
      this.item = await call('POST', `/v1/sessions/${session}/outbox/${encodeURIComponent(this.item.id)}/${what}`, again ? { again } : {})
      this.isDone = ['sent', 'dropped'].includes(this.item.state)
    } catch (error) {
      this.refused = error.message
      this.isDone = false
    }
    this.draw()
    this.lock()
  }
}
