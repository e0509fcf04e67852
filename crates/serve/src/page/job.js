// A job of a fleet, live: what is recorded of it. Its files are with its worker.
import { put } from './asking.js'
import { call } from './api.js'
import { el, fill, named } from './dom.js'
import { SessionView } from './session.js'

const OVER = ['completed', 'failed', 'cancelled']

export class JobView extends SessionView {
  build() {
    super.build()
    this.continuing.remove()
    this.main.querySelectorAll('#picture, [for=picture]').forEach((one) => one.remove())
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

  async refresh() {
    const { description, kind, owner, worker, branch, attempts, status } = await call('GET', `/v1/jobs/${this.id}`)
    this.detail = {}
    this.title.textContent = named(description.split('\n')[0])
    document.title = `${this.title.textContent} – Haft`
    fill(this.facts, el('code', {}, named(kind)), ` for ${named(owner)}`, worker && ` · on ${named(worker)}`, attempts > 1 && ` · attempt ${attempts}`, branch && [' · ', el('code', {}, branch)])
    this.stands(status)
    this.cancelling.hidden = OVER.includes(status)
    this.retrying.hidden = !OVER.includes(status) || status === 'completed'
    this.measure()
  }

  stands(state, asks) {
    super.stands(state === 'running' ? 'working' : state, asks)
  }

  recorded(event) {
    super.recorded(event)
    // The database hears of the end a moment after the journal.
    if (event.type !== 'concluded') return
    clearTimeout(this.ending)
    this.ending = setTimeout(() => this.refresh().catch(this.failed), 500)
  }

  showAsked(asks) {
    if (!asks) return
    if (asks.type === 'question_asked') return put(this.id, this.asked, [asks], this.failed)
    const about = this.calls.get(asks.call)
    const approval = { sentence: 'May the job do this?', always: 'what is asked here, in this job', whole: about?.inside.firstChild.textContent ?? '', files: [] }
    put(this.id, this.asked, [{ call: asks.call, approval }], this.failed)
  }

  said(words) {
    return { text: words }
  }

  async diff(seq, place, changes) {
    const kind = ({ before, after }) => (before ? (after ? 'changed' : 'deleted') : 'created')
    fill(place, el('ul', {}, changes.map((change) => el('li', {}, el('code', {}, named(change.path)), ` ${kind(change)}`))))
  }
}
