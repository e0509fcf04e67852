// @ts-check
// The state of a session as the page shows it, folded from timeline updates. Pure: it touches no document and fetches nothing.

/** Characters of output that a running call shows. */
const TAIL = 8000

/**
 * @typedef {{type: string, [key: string]: any}} Item an item of a timeline update, as `GET /openapi.json` describes it
 * @typedef {{first: number, last: number}} Range of entries
 * @typedef {{input: number, output: number, cache_read: number, cache_write: number}} Tokens
 * @typedef {{seq: number | null, state: string, usage?: Tokens, undone?: Range[], items: Item[]}} Update
 */

/**
 * A piece of the conversation. The fold changes blocks in place and reports each one it changed.
 * @typedef {object} Block
 * @property {string} kind type of the item that it began with, or `file_changes`
 * @property {number} seq entry that it comes from
 * @property {Item} item
 * @property {boolean} [removed] another block takes its place
 * @property {'waiting' | 'running' | 'worked' | 'failed'} [state] of a call
 * @property {string} [output] of a call
 * @property {Item} [result] of a call that is over
 * @property {Block} [call] call of file changes
 */

/**
 * @typedef {object} Session
 * @property {number} last last recorded entry, -1 for none
 * @property {string | undefined} state `working`, `asking` or `idle`
 * @property {number} context tokens of the last request and its reply
 * @property {{usd: number, isPriced: boolean, read: number, written: number}} sums of all turns
 * @property {Range[]} undone ranges of undone entries
 * @property {{text: string, thought: string}} live parts of the reply that is being written
 * @property {Map<string, Block>} calls
 * @property {Block[]} queued prompts that no request has read
 */

/** @returns {Session} */
export function emptySession() {
  return {
    last: -1, state: undefined, context: 0, sums: { usd: 0, isPriced: false, read: 0, written: 0 }, undone: [],
    live: { text: '', thought: '' }, calls: new Map(), queued: [],
  }
}

/**
 * Applies an update and returns the blocks that are new or changed. A recorded update that was applied before changes nothing.
 * @param {Session} session
 * @param {Update} update
 * @returns {Block[]}
 */
export function applyUpdate(session, update) {
  const { seq, state, usage, undone, items } = update
  if (seq !== null && seq <= session.last) return []
  if (seq !== null) session.last = seq
  session.state = state
  if (undone) session.undone = undone
  if (usage) session.context = usage.input + usage.cache_read + usage.cache_write + usage.output
  return items.flatMap((item) => applyItem(session, item))
}

/** Drops the parts of a reply that is being written, before they are sent anew. @param {Session} session */
export function dropLive(session) {
  session.live = { text: '', thought: '' }
}

/** @param {Session} session @param {number} seq */
export const isUndone = (session, seq) => session.undone.some(({ first, last }) => first <= seq && seq <= last)

/** @param {Session} session @param {Item} item @returns {Block[]} */
function applyItem(session, item) {
  const block = { kind: item.type, seq: session.last, item }
  switch (item.type) {
    case 'text':
      session.live.text += item.text
      return []
    case 'thought':
      session.live.thought += item.text
      return []
    case 'retrying':
      dropLive(session)
      return [block]
    case 'replied':
      dropLive(session)
      return []
    case 'queued_prompt':
      session.queued.push(block)
      return [block]
    case 'prompt_withdrawn':
      return gone(session.queued.pop())
    case 'prompt':
    case 'denied':
      return [...gone(session.queued.shift()), block]
    case 'call':
    case 'call_started':
    case 'output':
    case 'call_changed':
    case 'call_ended':
      return applyCall(session, item)
    case 'ended':
      dropLive(session)
      addTurn(session, item)
      return [block]
    case 'rewound':
      dropLive(session)
      return [block]
    default:
      return [block]
  }
}

/** A queued prompt was read or taken back. @param {Block | undefined} queued @returns {Block[]} */
function gone(queued) {
  return queued ? [Object.assign(queued, { removed: true })] : []
}

/** @param {Session} session @param {Item} item @returns {Block[]} */
function applyCall(session, item) {
  const known = session.calls.get(item.call)
  if (!known && item.type !== 'call' && item.type !== 'call_ended') return []
  const call = (item.type !== 'call' && known) || addCall(session, item)
  if (item.type === 'call_started') call.state = 'running'
  if (item.type === 'output') call.output = (call.output + item.text).slice(-TAIL)
  if (item.type === 'call_ended') Object.assign(call, { state: item.ok ? 'worked' : 'failed', output: item.output, result: item })
  return item.type === 'call_changed' ? addChanges(session, call, item) : [call]
}

/** @param {Session} session @param {Item} item @returns {Block} */
function addCall(session, item) {
  /** @type {Block} */
  const call = { kind: 'call', seq: session.last, item, state: 'waiting', output: '' }
  session.calls.set(item.call, call)
  return call
}

/** @param {Session} session @param {Block} call @param {Item} item @returns {Block[]} */
function addChanges(session, call, item) {
  return item.changes.length ? [{ kind: 'file_changes', seq: session.last, item, call }] : []
}

/** @param {Session} session @param {Item} ended */
function addTurn({ sums }, { usage, cost_usd: usd }) {
  sums.read += usage.input + usage.cache_read + usage.cache_write
  sums.written += usage.output
  if (usd !== null) Object.assign(sums, { usd: sums.usd + usd, isPriced: true })
}
