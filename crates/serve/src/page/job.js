// A job of a fleet, live: what is recorded of it.
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

  stands(state) {
    const words = { running: 'working', waiting: 'asking' }
    super.stands(words[state] ?? state)
    this.form.hidden = OVER.includes(state)
  }

  recorded(event) {
    super.recorded(event)
    // The database hears of the end a moment after the journal.
    if (event.type !== 'concluded') return
    clearTimeout(this.ending)
    this.ending = setTimeout(() => this.refresh().catch(this.failed), 500)
  }

  said(words) {
    return { text: words }
  }
}
