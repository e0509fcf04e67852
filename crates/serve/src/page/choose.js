// What a session is made of: folder, model, effort, agent and permission mode, chosen in a dialog.
import { call } from './api.js'
import { ask, el, named } from './dom.js'

/** What each permission mode allows. */
const MODES = {
  'read-only': 'only read files in the workspace',
  plan: 'change nothing until you accept a plan',
  ask: 'ask before every effect',
  'accept-edits': 'edit files in the workspace without asking',
  full: 'run everything without asking',
}

/** The last part of a path; of a model that is a file, too. */
export const shortName = (path) => String(path).replace(/^(script|local)\/.*\//, '$1/').replace(/^\/.*\/(?=[^/]+$)/, '')

/** Asks what a new session is to be made of; nothing if the person thought better of it. */
export async function chooseNew() {
  const choices = await call('GET', '/v1/choices')
  const { workspace, model, agent, permission } = choices.defaults
  const folders = [{ name: 'workspace', label: 'Folder', value: workspace, options: choices.folders.map((value) => ({ value, label: value })) }, { name: 'inside', label: 'Folder inside it, if not the whole', placeholder: 'crates/parser' }]
  const outbox = { name: 'outbox', label: 'What needs an answer of yours', value: '', options: [{ value: '', label: 'is a question' }, { value: 'yes', label: 'waits in an outbox, if it cannot be taken back, or is denied' }] }
  const given = await asked('New session', [...folders, ...fields(choices, { model, agent, permission }), outbox], 'Begin', workspace)
  if (!given) return undefined
  const { inside, outbox: queues, ...rest } = given
  if (inside) rest.workspace = `${rest.workspace}/${inside}`
  return { ...changed(rest, { workspace, model, agent, permission }), ...(queues && { outbox: true }) }
}

/** Asks what the session of `detail` goes on with, `field` first; gives what is to be changed. */
export async function chooseFor(detail, field) {
  const choices = await call('GET', `/v1/choices?workspace=${encodeURIComponent(detail.workspace)}`)
  const { model, agent, effort } = detail
  const permission = detail.permission ?? choices.defaults.permission
  const given = await asked('Session settings', fields(choices, { model, agent, permission, effort }), 'Set', detail.workspace, field)
  return given && changed(given, { model, agent, permission, effort: effort ?? '' })
}

function fields({ models, agents, permissions }, { model, agent, permission, effort }) {
  const efforts = [...new Set(models.flatMap((one) => one.efforts))]
  return [
    { name: 'model', label: 'Model', value: model, options: modelOptions(models, model) },
    { name: 'other', label: 'Another model', placeholder: 'PROVIDER/MODEL' },
    efforts.length > 0 && { name: 'effort', label: 'Reasoning effort, if the model takes one', value: effort ?? '', options: [{ value: '', label: 'as configured' }, ...efforts.map((value) => ({ value, label: value }))] },
    { name: 'agent', label: 'Agent', value: agent, options: agents.map(({ name, description }) => ({ value: name, label: named(description ? `${name}: ${description}` : name).slice(0, 90) })) },
    { name: 'permission', label: 'What runs without a question', value: permission, options: permissions.map((value) => ({ value, label: `${value}: ${MODES[value]}` })) },
  ].filter(Boolean)
}

/** The present model comes first, also where the list does not have it. */
function modelOptions(models, own) {
  const rest = models.filter(({ id }) => id !== own)
  const present = models.find(({ id }) => id === own) ?? { id: own, about: '' }
  return [present, ...rest].map(({ id, about }) => ({ value: id, label: named(about ? `${shortName(id)} – ${about}` : shortName(id)) }))
}

/** Providers are asked for their models while the dialog is open. */
async function asked(title, all, action, workspace, focus) {
  const answer = ask(title, all, action)
  if (focus) document.getElementById(`field-${focus}`)?.focus()
  call('GET', `/v1/choices?live=true&workspace=${encodeURIComponent(workspace)}`)
    .then(({ models }) => {
      const list = document.getElementById('field-model')
      const known = new Set([...(list?.options ?? [])].map(({ value }) => value))
      list?.append(...modelOptions(models, models[0].id).filter(({ value }) => !known.has(value)).map(({ value, label }) => el('option', { value }, label)))
    })
    .catch(() => { /* those that are known without asking stay */ })
  const given = await answer
  if (!given) return undefined
  const { other, ...rest } = given
  return other ? { ...rest, model: other } : rest
}

/** What differs from `before`. */
function changed(given, before) {
  return Object.fromEntries(Object.entries(given).filter(([name, value]) => value && value !== before[name]))
}
