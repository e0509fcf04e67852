// An exported session: the file holds its timeline, and nothing is fetched.
import { files, linesOf } from './diff.js'
import { append, el, fill, grouped, money, named, plural, seconds } from './dom.js'
import { plot } from './plot.js'
import { ANSWERS, Transcript } from './transcript.js'

const { about, updates, diffs, changes, rounds, usage, cost_usd: cost } = JSON.parse(document.getElementById('journal').textContent)

const moment = (at) => `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`

class Export extends Transcript {
  answers = { ...ANSWERS, no: 'A person said no.', once: 'Allowed, this time.', always: 'Allowed, from here on.' }
  prompts = []

  asks(words, block) {
    this.note(`Asked: ${words}`, block)
  }

  prompted(words) {
    const prompt = this.told.lastChild
    prompt.id = `turn-${this.session.last}`
    this.prompts.push([prompt, words])
  }

  changed(seq, place) {
    fill(place, files(diffs[seq] ?? []))
  }

  show(main) {
    updates.forEach((update) => this.applied(update))
    append(main.querySelector('.head'), this.facts())
    append(main, [this.totals(), this.contents(), plot(rounds, cost !== null && ((round) => round.cost_usd)), this.told, this.footer()])
  }

  facts() {
    const { model, workspace, profile, session, forked_from: from, first_at: first, last_at: last } = about
    const row = (name, value) => value && el('div', {}, el('dt', {}, name), el('dd', {}, value))
    return el('dl', { class: 'facts' }, row('Model', named(model)), row('Directory', el('code', {}, named(workspace))), row('Profile', named(profile)),
      first !== null && row('Begun', `${moment(first)}, over ${seconds(last - first)}`), row('Session', el('code', {}, named(session))),
      from && row('Forked from', [el('code', {}, named(from.session)), ` at entry ${from.seq}`]))
  }

  totals() {
    const calls = [...this.session.calls.values()]
    const failed = calls.filter((call) => call.state === 'failed').length
    const read = usage.input + usage.cache_read + usage.cache_write
    const [more, less] = linesOf(changes)
    const cell = (count, what, note) => el('div', {}, el('dt', {}, what), el('dd', {}, el('strong', {}, count), el('span', { class: 'quiet' }, note)))
    return el('dl', { class: 'meters totals', 'aria-label': 'Totals' },
      cell(grouped(this.prompts.length), 'Prompts', plural(rounds.length, 'round')),
      cell(grouped(calls.length), 'Calls', failed ? `${grouped(failed)} failed` : 'none failed'),
      cell(grouped(changes.length), 'Files changed', `+${more} −${less} lines`),
      cell(grouped(read + usage.output), 'Tokens', `${grouped(read)} read, ${grouped(usage.output)} written`),
      cell(cost === null ? '–' : money(cost), 'Cost', cost === null ? 'no price is known' : 'at the model’s list price'))
  }

  /** Links to the prompts, if there are several. */
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

new Export().show(document.getElementById('main'))
