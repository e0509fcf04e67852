// What the word at the cursor of the prompt can become: a list above it that is driven from the keyboard.
import { el, fill, say } from './dom.js'

/** Milliseconds without a key before the server is asked. */
const PAUSE = 120

export class Completer {
  /** `ask(typed)` gives the server's answer for the text up to the cursor. */
  constructor(input, ask) {
    Object.assign(this, { input, ask, rows: [], chosen: 0 })
    this.list = el('ul', { id: 'completions', class: 'completions', role: 'listbox', 'aria-label': 'Completions', hidden: true })
    for (const [name, value] of [['aria-autocomplete', 'list'], ['aria-controls', this.list.id], ['autocomplete', 'off']]) input.setAttribute(name, value)
    input.addEventListener('input', () => this.typed())
    input.addEventListener('blur', () => this.close())
  }

  typed() {
    clearTimeout(this.waiting)
    const typed = this.before()
    if (!/^\/\S*$/.test(typed) && !/(^|\s)[("]*@\S*$/.test(typed) && !/^\/\S+:/.test(typed)) return this.close()
    this.waiting = setTimeout(() => this.look(typed), PAUSE)
  }

  before() {
    return this.input.value.slice(0, this.input.selectionStart)
  }

  /** An answer that comes late is for another text. A server that does not answer offers nothing. */
  async look(typed) {
    const { start, values } = await this.ask(typed).catch(() => ({ start: 0, values: [] }))
    if (this.before() !== typed || document.activeElement !== this.input) return
    // What is written whole has nothing to become.
    const isWhole = values.length === 1 && values[0].text === typed.slice(start)
    if (!values.length || isWhole) return this.close()
    this.start = start
    this.rows = values.map(({ text, about }, place) => ({
      text,
      row: el('li', { id: `completion-${place}`, role: 'option', 'aria-selected': 'false', onmousedown: (event) => { event.preventDefault(); this.take(place) } },
        el('span', { class: 'value' }, text), about && el('span', { class: 'quiet' }, about)),
    }))
    fill(this.list, this.rows.map(({ row }) => row))
    this.list.hidden = false
    this.choose(0)
    say(`${values.length} completions; ${values[0].text}`)
  }

  choose(place) {
    this.rows[this.chosen]?.row.setAttribute('aria-selected', 'false')
    this.chosen = (place + this.rows.length) % this.rows.length
    const { row } = this.rows[this.chosen]
    row.setAttribute('aria-selected', 'true')
    row.scrollIntoView({ block: 'nearest' })
    this.input.setAttribute('aria-activedescendant', row.id)
  }

  /** Whether the key was for the list. */
  key(event) {
    if (this.list.hidden || event.isComposing) return false
    const act = { ArrowDown: () => this.choose(this.chosen + 1), ArrowUp: () => this.choose(this.chosen - 1), Tab: () => this.take(this.chosen), Enter: () => this.take(this.chosen), Escape: () => this.close() }[event.key]
    if (!act || event.shiftKey) return false
    event.preventDefault()
    event.stopPropagation()
    act()
    return true
  }

  take(place) {
    const { text } = this.rows[place]
    const end = this.input.selectionStart
    // A folder is not the end of a name.
    const words = text.endsWith('/') ? text : `${text} `
    this.input.setRangeText(words, this.start, end, 'end')
    this.close()
    this.input.focus()
    if (text.endsWith('/')) this.typed()
  }

  close() {
    clearTimeout(this.waiting)
    this.list.hidden = true
    this.rows = []
    fill(this.list)
    this.input.removeAttribute('aria-activedescendant')
  }
}
