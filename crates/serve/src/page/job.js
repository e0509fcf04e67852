// A job of a fleet, live: what is recorded of it.
import { call } from './api.js'
import { el, fill, named } from './dom.js'
import { SessionView } from './session.js'

const OVER = ['completed', 'failed', 'cancelled']

export class JobView extends SessionView {
  constructor(id, main, heard) {
    super(id, main, heard, true)
    this.reason = el('p', { class: 'note' })
    this.facts.after(this.reason)
  }

  acts() {
    const act = (what) => async () => {
      await call('POST', `/v1/jobs/${this.id}/${what}`, {})
      await this.refresh()
    }
    this.cancelling = this.item('Cancel', act('cancel'))
    this.retrying = this.item('Retry', act('retry'))
    return [this.cancelling, this.retrying]
  }

  /** Workers undo no single calls. */
  undoOf() {}

  async refresh() {
    const { updates } = this
    const { description, kind, owner, queue, worker, branch, attempts, status, progress } = await call('GET', `/v1/jobs/${this.id}`)
    // Another job may be shown by now.
    if (this.stop.signal.aborted) return
    this.detail = {}
    this.title.textContent = named(description.split('\n')[0])
    document.title = `${this.title.textContent} – Haft`
    fill(this.facts, el('code', {}, named(kind)), ` for ${named(owner)}`, queue !== 'default' && ` · queue ${named(queue)}`, worker && ` · on ${named(worker)}`, attempts > 1 && ` · attempt ${attempts}`, branch && [' · ', el('code', {}, branch)])
    // Of the others, the transcript says it.
    this.reason.hidden = !progress || !['pending', 'failed'].includes(status)
    this.reason.textContent = named(progress)
    // An update that came meanwhile is newer; only the database knows the end.
    if (updates === this.updates || OVER.includes(status)) this.stands(status)
    this.cancelling.hidden = OVER.includes(status)
    this.retrying.hidden = !OVER.includes(status) || status === 'completed'
    this.measure()
  }

  stands(state) {
    const words = { running: 'working', waiting: 'asking' }
    super.stands(words[state] ?? state)
    this.composer.form.hidden = OVER.includes(state)
    // What is recorded of the end changes nothing any more.
    if (OVER.includes(state)) this.session.state = 'idle'
  }

  concluded() {
    // The database has the end a moment after the journal.
    clearTimeout(this.ending)
    this.ending = setTimeout(() => this.refresh().catch(this.failed), 500)
  }

  prompt(text) {
    return { text }
  }
}
