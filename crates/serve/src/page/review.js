// The changes of a session as a whole, with a commit and a pull request; and what an undo would put back, before it does.
import { call } from './api.js'
import { files, linesOf } from './diff.js'
import { ask, el, plural, say } from './dom.js'

/** Shows what became of each file since the session began, and commits or publishes it where the person wants that. */
export async function review({ id, title }) {
  const changes = await call('GET', `/v1/sessions/${id}/changes`)
  if (!changes.length) return ask('Changes', [], 'Close', el('p', {}, 'No file was changed in this session.'))
  const [added, removed] = linesOf(changes)
  const summary = el('p', { class: 'quiet' }, `${plural(changes.length, 'file')}, +${added} −${removed}`)
  const message = { name: 'message', label: 'Commit message', long: true, required: true, value: title === 'New session' ? '' : title.slice(0, 72) }
  const then = { name: 'then', label: 'What to do', options: [{ value: 'commit', label: 'Commit' }, { value: 'pull-request', label: 'Commit, push and open a pull request' }] }
  const branch = { name: 'branch', label: 'New branch of the pull request', placeholder: 'the current branch' }
  const given = await ask('Changes', [message, then, branch], 'Commit', [summary, byFile(changes)])
  if (!given) return undefined
  const [, subject, description] = /^(.*)\n*([^]*)$/.exec(given.message)
  const body = given.then === 'commit' ? { message: given.message } : { title: subject, description, branch: given.branch }
  const { text } = await call('POST', `/v1/sessions/${id}/${given.then}`, body)
  say(text)
  return text
}

/** Whether the person wants an undo that would put these files back. */
export function preview(title, { files: changes = [], untracked }) {
  const words = changes.length ? 'These files are put back:' : 'No file is put back; the conversation goes back.'
  const left = untracked && `${plural(untracked, 'call')} could not be tracked: what ${untracked === 1 ? 'it' : 'they'} did stands.`
  return ask(title, [], 'Undo', [el('p', {}, words), left && el('p', { class: 'warning' }, left), byFile(changes)])
}

/** Each file folds. */
function byFile(changes) {
  return el('div', { class: 'review', tabindex: 0, role: 'group', 'aria-label': 'Changed files' }, changes.map((change) => {
    const [added, removed] = linesOf([change])
    return el('details', { open: changes.length <= 20 }, el('summary', {}, el('code', {}, change.path), ' ', el('span', { class: 'quiet' }, `${change.kind} +${added} −${removed}`)), files([change]))
  }))
}
