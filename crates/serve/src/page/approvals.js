// What a session asks a person: an approval with the diff in view, or a question.
import { call } from './api.js'
import { el, fill, say } from './dom.js'
import { files } from './diff.js'
import { keepDraft, takeDraft } from './drafts.js'

/** Milliseconds without a key before a key answers: who goes on typing when a question comes does not mean it. */
const PAUSE = 1000
let lastKey = 0
let before = 0
document.addEventListener('keydown', () => { [before, lastKey] = [lastKey, performance.now()] }, { capture: true })

/** Shows what `session` asks now in `place`; `failed` hears what goes wrong. */
export async function showAsked(session, place, failed) {
  const asked = await call('GET', `/v1/sessions/${session}/asked`)
  // The view may have been closed meanwhile.
  if (place.isConnected) put(session, place, asked, failed)
}

/** Shows these, unless they are shown already. What was typed into the card of a question stays. */
export function put(session, place, asked, failed) {
  if (asked.length === place.children.length && asked.every((one, index) => isShown(one, place.children[index]))) return
  clear(session, place)
  const cards = asked.map((one) => {
    const send = (what, body) => answer(card, session, what, body, failed)
    const card = one.approval ? approval(one, send) : question(one, send)
    return Object.assign(card, { question: questionOf(one), seq: one.seq })
  })
  fill(place, cards)
  restore(session, cards)
  if (asked.length) inSight(place.firstChild)
  if (asked.length) say(asked[0].approval ? `Approval needed: ${asked[0].approval.sentence}` : 'A question waits for you')
}

/** What tells a question from others: it is asked again, by a later entry, where a turn goes on after a crash. */
const questionOf = (asked) => JSON.stringify(asked, (key, value) => (key === 'seq' || key === 'diagnostics' ? undefined : value))

/** Of a card whose answer was lost with a worker, another one is needed. */
function isShown(asked, card) {
  if (card.question !== questionOf(asked) || (card.isSent && card.seq !== asked.seq)) return false
  card.seq = asked.seq
  return true
}

/** Takes the cards out of `place`, and keeps what was typed into them and not sent. */
export function clear(session, place) {
  const typed = [...place.children].filter((card) => !card.isSent).map((card) => [card.question, fieldsOf(card).map(valueOf)])
    .filter(([, values]) => values.some((value) => value !== null))
  if (typed.length) keepDraft(`asked ${session}`, typed)
  fill(place)
}

const fieldsOf = (card) => [...card.querySelectorAll('input, textarea')]

/** What a person made of a field: a text, or that a box is not ticked; null for nothing. */
function valueOf(field) {
  if (field.type === 'checkbox') return field.checked ? null : false
  return field.value === field.defaultValue ? null : field.value
}

function restore(session, cards) {
  const typed = new Map(takeDraft(`asked ${session}`))
  for (const card of cards) {
    const values = typed.get(card.question) ?? []
    values.forEach((value, index) => {
      if (value === null) return
      const field = fieldsOf(card)[index]
      if (value === false) field.checked = false
      else field.value = value
      field.closest('details')?.setAttribute('open', '')
      field.dispatchEvent(new Event(value === false ? 'change' : 'input'))
    })
  }
}

/** Sends an answer. Where that fails the card can be answered still, and says why. */
async function answer(card, session, what, body, failed) {
  const held = document.activeElement
  const controls = [...card.querySelectorAll('button, input, textarea')].filter((one) => !one.disabled)
  controls.forEach((one) => { one.disabled = true })
  card.querySelector('.failure')?.remove()
  try {
    await call('POST', `/v1/sessions/${session}/${what}`, body)
    card.isSent = true
  } catch (error) {
    controls.forEach((one) => { one.disabled = false })
    if (error.status === 401) return failed(error)
    card.append(el('p', { class: 'failure', role: 'alert' }, `The answer was not sent: ${error.message}`, ` (${error.suggestion ?? 'try again'})`))
    if (card.contains(held) && [held, document.body].includes(document.activeElement)) held.focus()
  }
}

/** The card takes the focus, and none of its buttons: who is typing must not answer with the next key. */
function inSight(card) {
  const prompt = document.getElementById('prompt')
  if (document.activeElement !== prompt || !prompt.value) card.focus({ preventScroll: true })
  card.scrollIntoView({ block: 'end' })
}

function approval({ call: id, approval }, answer) {
  const reason = el('input', { id: `because-${id}`, placeholder: 'say what to do instead', autocomplete: 'off' })
  const no = () => answer(`approvals/${encodeURIComponent(id)}`, { answer: 'no', because: reason.value.trim() || null })
  const yes = (what, accepted) => answer(`approvals/${encodeURIComponent(id)}`, { answer: what, ...(accepted && { accepted }) })
  const parts = new Parts(approval.files)
  const drafts = new Drafts(approval.texts, approval.files.map(({ path }) => path))
  const once = el('button', { type: 'button', class: 'main', onclick: () => yes('once', drafts.over(parts.accepted())) }, 'Allow once')
  const always = el('button', { type: 'button', 'aria-describedby': `always-${id}`, onclick: () => yes('always') }, 'Always in this session')
  const ticked = () => {
    const [count, all, edited] = [parts.ticked(), parts.boxes.length, drafts.edited().length]
    const some = count < all ? `Allow ${count} of ${all} parts` : 'Allow once'
    fill(once, edited ? 'Apply edited' : some)
    once.disabled = count === 0 && all > 0 && !edited
    always.disabled = count < all || edited > 0
  }
  const refuse = el('button', { type: 'button', class: 'danger', onclick: no }, 'No')
  const shown = performance.now()
  const keys = { y: once, a: always, n: refuse }
  const key = (event) => {
    const button = !event.ctrlKey && !event.metaKey && !event.altKey && !event.target.closest('input, textarea') && keys[event.key]
    if (!button) return
    // The same letters mean something else outside of the card.
    event.stopPropagation()
    event.preventDefault()
    const isOffered = button.offsetParent !== null
    if (isOffered && !event.repeat && performance.now() - Math.max(shown, before) >= PAUSE) button.click()
  }
  return el('section', { class: 'asking', tabindex: -1, 'data-call': id, 'aria-label': 'Approval', onkeydown: key },
    el('h2', {}, approval.sentence),
    approval.why && el('p', { class: 'quiet' }, approval.why),
    files(approval.files, parts.areSeveral && ((file, hunk) => parts.box(file, hunk, ticked))),
    drafts.fields(id, ticked),
    approval.diagnostics.length > 0 && el('div', { class: 'bulk' }, el('p', {}, approval.diagnostics[0]), el('ul', {}, approval.diagnostics.slice(1).map((line) => el('li', {}, el('code', {}, line))))),
    approval.bulk.length > 0 && el('div', { class: 'bulk' }, el('p', {}, 'Ignored by Git, and not taken back by an undo:'), el('ul', {}, approval.bulk.map((line) => el('li', {}, el('code', {}, line))))),
    approval.files.length ? el('details', {}, el('summary', {}, 'All that the call says'), el('pre', { tabindex: 0 }, approval.whole)) : el('pre', { tabindex: 0 }, approval.whole),
    el('p', { class: 'actions', 'data-needs': 'approve' },
      once,
      always,
      refuse),
    el('p', { class: 'quiet', id: `always-${id}` }, `“Always” allows ${approval.always}.`),
    el('form', { class: 'because', 'data-needs': 'approve', onsubmit: (event) => { event.preventDefault(); no() } },
      el('label', { for: `because-${id}` }, 'No, because…'), reason, el('button', { type: 'submit' }, 'Refuse and say so')))
}

/** The parts of a proposal: hunks of files with several, and whole files. All are ticked at first. */
class Parts {
  constructor(files) {
    this.boxes = []
    this.areSeveral = files.reduce((count, { hunks }) => count + Math.max(hunks.length, 1), 0) > 1
  }

  box({ path, hunks }, hunk, changed) {
    const name = hunk === null ? path : `hunk ${hunk + 1} of ${hunks.length} of ${path}`
    const box = el('input', { type: 'checkbox', 'aria-label': `Accept ${name}`, onchange: changed })
    box.checked = true
    this.boxes.push({ box, path, hunk })
    return box
  }

  ticked() {
    return this.boxes.filter(({ box }) => box.checked).length
  }

  /** What is ticked, by file; nothing if that is all. */
  accepted() {
    if (this.ticked() === this.boxes.length) return undefined
    const files = new Map()
    for (const { box, path, hunk } of this.boxes) {
      if (!box.checked) continue
      const file = files.get(path) ?? { path, ...(hunk !== null && { hunks: [] }) }
      file.hunks?.push(hunk)
      files.set(path, file)
    }
    return [...files.values()]
  }
}

/** Proposed texts that a person can change before they are written. */
class Drafts {
  constructor(texts, paths) {
    this.paths = paths
    // A field for text has one kind of line end.
    this.all = texts.map(({ path, text }) => ({ path, text: text.replaceAll('\r\n', '\n'), end: text.includes('\r\n') ? '\r\n' : '\n' }))
  }

  fields(id, changed) {
    return this.all.map((draft, place) => {
      const name = `draft-${id}-${place}`
      draft.field = el('textarea', { id: name, rows: Math.min(20, Math.max(4, draft.text.split('\n').length)), spellcheck: 'false', oninput: changed }, draft.text)
      return el('details', {}, el('summary', {}, 'Edit ', el('code', {}, draft.path), ' first'), el('label', { for: name, class: 'quiet' }, `Text of ${draft.path}`), draft.field)
    })
  }

  edited() {
    return this.all.filter(({ text, field }) => field.value !== text)
  }

  /** What is `accepted`, all if it names nothing, with the texts of the files that were edited. */
  over(accepted) {
    const edited = this.edited().map(({ path, field, end }) => ({ path, text: field.value.replaceAll('\n', end) }))
    if (!edited.length) return accepted
    const isEdited = ({ path }) => edited.some((draft) => draft.path === path)
    const others = accepted ?? this.paths.map((path) => ({ path }))
    return [...others.filter((file) => !isEdited(file)), ...edited]
  }
}

function question({ call: id, question }, answer) {
  const words = el('input', { id: `reply-${id}`, autocomplete: 'off' })
  const reply = (text) => answer(`questions/${encodeURIComponent(id)}`, { answer: text })
  const draft = question.draft === undefined ? null : el('textarea', { id: `draft-${id}`, rows: 8 }, question.draft)
  // A choice, an empty line, and the text as it was edited.
  const choose = (option) => reply(draft && draft.value.trim() !== question.draft.trim() ? `${option}\n\n${draft.value.trim()}` : option)
  return el('section', { class: 'asking', tabindex: -1, 'data-call': id, 'aria-label': 'Question' },
    el('h2', {}, question.text),
    el('p', { class: 'actions' }, (question.choices ?? []).map((option) => el('button', { type: 'button', onclick: () => choose(option) }, option))),
    draft && el('details', {}, el('summary', {}, 'Edit it first'), el('label', { for: `draft-${id}` }, 'Text'), draft),
    el('form', { class: 'because', 'data-needs': 'approve', onsubmit: (event) => { event.preventDefault(); if (words.value.trim()) reply(words.value.trim()) } },
      el('label', { for: `reply-${id}` }, 'Your answer'), words, el('button', { type: 'submit' }, 'Answer')))
}
