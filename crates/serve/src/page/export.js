// A session that was exported: the journal stands in the same file, and nothing is fetched.
import { files, linesOf } from './diff.js'
import { append, el, fill, grouped, money, named, plural, seconds } from './dom.js'
import { plot } from './plot.js'
import { ANSWERS, Transcript } from './transcript.js'

const { entries, diffs, changes, price } = JSON.parse(document.getElementById('journal').textContent)

const ZERO = { input: 0, output: 0, cache_read: 0, cache_write: 0 }
const sum = (one, other) => Object.fromEntries(Object.keys(ZERO).map((key) => [key, one[key] + (other[key] ?? 0)]))
const cost = (usage) => price && (usage.input * price.input + usage.output * price.output + usage.cache_read * (price.cache_read ?? price.input)
  + usage.cache_write * (price.cache_write ?? price.input)) / 1e6
const moment = (at) => `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`

class Export extends Transcript {
  answers = { ...ANSWERS, no: 'A person said no.', once: 'Allowed, this time.', always: 'Allowed, from here on.' }
  prompts = []

  asks(words) {
    this.note(`Asked: ${words}`)
  }

  prompted(words) {
    const prompt = this.told.lastChild
    prompt.id = `turn-${this.last}`
    this.prompts.push([prompt, words])
  }

  changed(seq, place) {
    fill(place, files(diffs[seq] ?? []))
  }

  show(main) {
    entries.forEach((entry) => this.recorded(entry))
    append(main.querySelector('.head'), this.facts())
    append(main, [this.totals(), this.contents(), plot(rounds(), price && cost), this.told, this.footer()])
  }

  facts() {
    const opened = entries.find((entry) => entry.type === 'session_opened') ?? {}
    const ats = entries.map((entry) => entry.at)
    const [first, last] = [Math.min(...ats), Math.max(...ats)]
    const { model, workspace, profile, session, forked_from: from } = opened
    const row = (name, value) => value && el('div', {}, el('dt', {}, name), el('dd', {}, value))
    return el('dl', { class: 'facts' }, row('Model', named(model)), row('Directory', el('code', {}, named(workspace))), row('Profile', named(profile)),
      entries.length && row('Begun', `${moment(first)}, over ${seconds(last - first)}`), row('Session', el('code', {}, named(session))),
      from && row('Forked from', [el('code', {}, named(from.session)), ` at entry ${from.seq}`]))
  }

  totals() {
    const usage = entries.filter((entry) => ['replied', 'retried', 'compacted'].includes(entry.type)).reduce((all, { usage }) => sum(all, usage ?? ZERO), ZERO)
    const calls = [...this.told.querySelectorAll('.call')]
    const failed = calls.filter((call) => call.classList.contains('failed')).length
    const read = usage.input + usage.cache_read + usage.cache_write
    const [more, less] = linesOf(changes)
    const cell = (count, what, note) => el('div', {}, el('dt', {}, what), el('dd', {}, el('strong', {}, count), el('span', { class: 'quiet' }, note)))
    return el('dl', { class: 'meters totals', 'aria-label': 'Totals' },
      cell(grouped(this.prompts.length), 'Prompts', plural(rounds().length, 'round')),
      cell(grouped(calls.length), 'Calls', failed ? `${grouped(failed)} failed` : 'none failed'),
      cell(grouped(changes.length), 'Files changed', `+${more} −${less} lines`),
      cell(grouped(read + usage.output), 'Tokens', `${grouped(read)} read, ${grouped(usage.output)} written`),
      cell(price ? money(cost(usage)) : '–', 'Cost', price ? 'at the model’s list price' : 'no price is known'))
  }

  /** Leads to each prompt, where there are several. */
  contents() {
    const item = ([prompt, words]) => {
      const undone = prompt.classList.contains('undone') && [' ', el('span', { class: 'tag' }, 'undone')]
      return el('li', {}, el('a', { href: `#${prompt.id}` }, named(words.trim().split('\n')[0].slice(0, 80)) || '(a picture)'), undone)
    }
    return this.prompts.length > 1 && el('nav', { 'aria-label': 'Prompts' }, el('ol', {}, this.prompts.map(item)))
  }

  footer() {
    return el('footer', {}, el('p', { class: 'quiet' }, 'Written by ', el('code', {}, 'haft sessions export --format html'), '. This page fetches nothing.'))
  }
}

/** What the rounds took, in order. */
function rounds() {
  return entries.filter((entry) => entry.type === 'replied').map(({ usage }) => sum(ZERO, usage ?? ZERO))
}

new Export().show(document.getElementById('main'))
