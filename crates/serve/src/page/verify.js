// Whether a session is what was recorded: its journal is checked, and its calls are made again in a copy of the workspace.
import { call } from './api.js'
import { el, fill, say, seconds } from './dom.js'

/** Milliseconds between two looks at the clock. */
const TICK = 1000

/** Verifies the session `id` where the person wants that; `told` hears the lines of a result that comes after the dialog was closed. */
export function showVerify(id, told) {
  const dialog = document.getElementById('dialog')
  const result = el('div', { class: 'result', role: 'status' })
  const acts = el('div', { class: 'actions' })
  let closed = false
  const button = (words, action, kind) => el('button', { type: 'button', class: kind, onclick: action }, words)
  const close = button('Close', () => dialog.close())
  const offer = () => fill(acts, button('Verify', () => verify({}), 'main'), button('Check the journal alone', () => verify({ chain_only: true })), close)

  async function verify(how) {
    const began = Date.now()
    const tick = () => fill(result, el('p', { class: 'quiet' }, how.chain_only ? 'Checking …' : `Making the calls again … ${seconds(Math.floor((Date.now() - began) / TICK) * TICK)}`))
    fill(acts, close)
    tick()
    const clock = setInterval(tick, TICK)
    try {
      const report = await call('POST', `/v1/sessions/${id}/verify`, how)
      const [first, ...rest] = report.lines
      say(first)
      if (closed) told(report.lines)
      fill(result, el('p', { class: report.verified ? 'end' : 'end failed' }, report.verified ? 'Verified' : 'Not verified'),
        report.verified ? el('ul', {}, rest.map((line) => el('li', {}, line))) : el('pre', { tabindex: 0 }, report.difference))
    } catch (error) {
      say(error.message)
      if (closed) told([error.message])
      fill(result, el('p', { class: 'failure', role: 'alert' }, error.message), error.suggestion && el('p', { class: 'quiet' }, error.suggestion))
    }
    clearInterval(clock)
    offer()
  }

  offer()
  dialog.classList.add('broad')
  dialog.onclose = () => { closed = true }
  fill(dialog, el('div', { class: 'panel' }, el('h2', { id: 'dialog-title' }, 'Verify'),
    el('p', {}, 'Haft checks that the journal is what was recorded, and then makes each call again in a copy of the workspace, without a model. The workspace stays as it is.'), result, acts))
  dialog.showModal()
}
