// The fold of the page of `haft serve`, without a browser: node --test scripts/serve_fold.mjs
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'

// As the page loads it. No package says that these files are modules.
const source = readFileSync(new URL('../crates/serve/src/page/fold.js', import.meta.url), 'utf8')
const { applyUpdate, dropLive, emptySession, isUndone } = await import(`data:text/javascript,${encodeURIComponent(source)}`)

const usage = { input: 10, output: 5, cache_read: 2, cache_write: 1 }
const call = { type: 'call', call: 'c1', name: 'write', summary: 'a.txt', arguments: { path: 'a.txt' } }
const end = { type: 'call_ended', call: 'c1', name: 'write', summary: 'a.txt', ok: true, output: 'done', images: [], took_ms: 3 }
const update = (seq, items, more = {}) => ({ seq, state: 'working', items, ...more })

/** Kinds of the blocks that each update draws, and the session after all of them. */
function folded(...updates) {
  const session = emptySession()
  return { session, drawn: updates.map((one) => applyUpdate(session, one).map((block) => (block.removed ? `-${block.kind}` : block.kind))) }
}

test('a turn is drawn in its order, each entry once', () => {
  const prompt = update(1, [{ type: 'prompt', text: 'Hello', images: [] }])
  const { session, drawn } = folded(
    prompt, update(2, [{ type: 'replied' }, { type: 'thinking', text: 'Hm' }, { type: 'reply', text: 'Hi' }], { usage }),
    prompt, update(3, [{ type: 'ended', outcome: 'finished', rounds: 1, usage, cost_usd: 0.5 }], { state: 'idle' }))
  assert.deepEqual(drawn, [['prompt'], ['thinking', 'reply'], [], ['ended']])
  assert.deepEqual([session.last, session.state, session.context], [3, 'idle', 18])
  assert.deepEqual(session.sums, { usd: 0.5, isPriced: true, read: 13, written: 5 })
})

test('a call is one block from its request to its end', () => {
  const { session, drawn } = folded(
    update(1, [{ type: 'replied' }, call]), update(2, [{ type: 'call_started', call: 'c1' }]), update(null, [{ type: 'output', call: 'c1', text: 'half' }]),
    update(3, [{ type: 'call_changed', call: 'c1', changes: [{ path: 'a.txt', kind: 'created' }] }]), update(4, [end]))
  assert.deepEqual(drawn, [['call'], ['call'], ['call'], ['file_changes'], ['call']])
  const { state, output, seq } = session.calls.get('c1')
  assert.deepEqual({ state, output, seq }, { state: 'worked', output: 'done', seq: 1 })
})

test('an end without a request is a call of its own, and output of an unknown call is nothing', () => {
  const { session, drawn } = folded(update(null, [{ type: 'output', call: 'c1', text: 'x' }]), update(4, [{ ...end, ok: false }]))
  assert.deepEqual(drawn, [[], ['call']])
  assert.equal(session.calls.get('c1').state, 'failed')
})

test('the output of a running call keeps its end', () => {
  const { session } = folded(update(1, [call]), update(null, [{ type: 'output', call: 'c1', text: 'x'.repeat(9000) }]), update(null, [{ type: 'output', call: 'c1', text: 'end' }]))
  const { output } = session.calls.get('c1')
  assert.deepEqual([output.length, output.slice(-3)], [8000, 'end'])
})

test('live text lasts until the reply is recorded, begins anew, or the turn ends', () => {
  const hears = (...items) => folded(...items.map((item) => update(null, [item]))).session.live
  const [text, thought] = [{ type: 'text', text: 'a' }, { type: 'thought', text: 'b' }]
  assert.deepEqual(hears(text, thought, text), { text: 'aa', thought: 'b' })
  for (const over of [{ type: 'replied' }, { type: 'retrying', reason: 'lost' }, { type: 'rewound', way: 'undo', paths: [], conflicts: [] }]) {
    assert.deepEqual(hears(text, thought, over), { text: '', thought: '' }, over.type)
  }
  const { session } = folded(update(null, [text]))
  dropLive(session)
  assert.equal(session.live.text, '')
})

test('a queued prompt gives way to the prompt that is read, or that a hook denied', () => {
  const queued = (seq) => update(seq, [{ type: 'queued_prompt', text: 'wait' }])
  const { drawn } = folded(queued(1), queued(2), update(3, [{ type: 'prompt', text: 'wait', images: [] }]), update(4, [{ type: 'denied', reason: 'no' }]), update(5, [{ type: 'denied', reason: 'no' }]))
  assert.deepEqual(drawn.slice(2), [['-queued_prompt', 'prompt'], ['-queued_prompt', 'denied'], ['denied']])
  const withdrawn = folded(queued(1), queued(2), update(3, [{ type: 'prompt_withdrawn' }]), update(4, [{ type: 'prompt', text: 'wait', images: [] }]))
  assert.deepEqual(withdrawn.drawn.slice(2), [['-queued_prompt'], ['-queued_prompt', 'prompt']])
  assert.deepEqual(withdrawn.session.queued, [])
})

test('the last ranges say what is undone', () => {
  const undone = (session) => [1, 2, 3, 4, 5].filter((seq) => isUndone(session, seq))
  const { session } = folded(update(5, [], { undone: [{ first: 2, last: 4 }] }))
  assert.deepEqual(undone(session), [2, 3, 4])
  applyUpdate(session, update(6, [], { undone: [{ first: 5, last: 5 }] }))
  assert.deepEqual(undone(session), [5])
})

test('questions and notes are drawn as they are', () => {
  for (const type of ['asked', 'approval', 'note', 'failure']) assert.deepEqual(folded(update(1, [{ type }])).drawn, [[type]])
})
