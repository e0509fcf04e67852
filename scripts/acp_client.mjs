// A small editor on the protocol's own library: starts an agent, gives it one job, and looks at all it says.
//   node acp_client.mjs plain|deny|allow|cancel|leave|tools|typed|part|because|undo|model PROGRAM ARGUMENTS...
// Ends with 1 and a line for each thing that is not as it should be.
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync, existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { PROTOCOL_VERSION, client, methods, ndJsonStream } from '@agentclientprotocol/sdk'

const [way, program, ...rest] = process.argv.slice(2)
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'haft-acp-')))
const at = (name) => join(folder, name)
writeFileSync(at('b.txt'), 'saved\n')
// What the person typed and did not save.
const buffers = new Map([[at('b.txt'), 'saved\ntyped\n']])
const heard = { updates: [], questions: [] }
const wrong = []
const expect = (what, is) => { if (!is) wrong.push(what) }

const agent = spawn(program, rest, { stdio: ['pipe', 'pipe', 'inherit'], cwd: folder })
const gone = new Promise((resolve) => agent.on('exit', resolve))
let cancel = () => {}
const editor = client({ name: 'haft-scripts' })
  .onNotification(methods.client.session.update, ({ params }) => {
    heard.updates.push(params.update)
    if (['cancel', 'leave'].includes(way) && JSON.stringify(params.update).includes('begun\\n')) cancel()
  })
  .onRequest(methods.client.session.requestPermission, ({ params }) => {
    heard.questions.push(params)
    const kind = way === 'deny' ? 'reject_once' : 'allow_once'
    const named = { part: 'Allow only d.txt', because: 'Reject and say why in the next prompt' }[way]
    const option = params.options.find((one) => (named ? one.name === named : one.kind === kind))
    return { outcome: { outcome: 'selected', optionId: option.optionId } }
  })
  .onRequest(methods.client.fs.readTextFile, ({ params }) =>
    ({ content: buffers.get(params.path) ?? readFileSync(params.path, 'utf8') }))
  .onRequest(methods.client.fs.writeTextFile, ({ params }) => {
    writeFileSync(params.path, params.content)
    buffers.delete(params.path)
    return {}
  })
const connection = editor.connect(ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout)))
const ask = (method, params) => connection.agent.request(method, params)
const text = (kind) => heard.updates.filter((one) => one.sessionUpdate === kind).map((one) => one.content.text).join('')
/** Whether it is so, if not at once: updates need not come before answers. */
const comes = async (is) => {
  for (let tries = 0; tries < 200 && !is(); tries++) await new Promise((resolve) => setTimeout(resolve, 50))
  return is()
}
const endings = () => {
  const states = new Map()
  for (const one of heard.updates) if (one.toolCallId) states.set(one.toolCallId, one.status ?? states.get(one.toolCallId))
  return [...states.values()]
}

const ways = {
  async plain(prompt, session) {
    expect('the turn ends', await prompt('Hello') === 'end_turn')
    expect('the whole reply is told', text('agent_message_chunk') === 'Hello, editor! How are you?')
    expect('what it thinks is told', text('agent_thought_chunk') === 'A greeting.')
    const listed = await ask(methods.agent.session.list, { cwd: folder })
    expect('the session is listed', listed.sessions.some((one) => one.sessionId === session))
    heard.updates.length = 0
    await ask(methods.agent.session.load, { sessionId: session, cwd: folder, mcpServers: [] })
    expect('what was said is told again', text('user_message_chunk') === 'Hello' && text('agent_message_chunk').startsWith('Hello, editor!'))
    expect('the loaded session goes on', await prompt('And now?') === 'end_turn')
  },
  async deny(prompt) {
    expect('the turn ends', await prompt('Write') === 'end_turn')
    expect('the person was asked once', heard.questions.length === 1)
    const [diff] = heard.questions[0]?.toolCall.content ?? []
    expect('the question shows the diff', diff?.type === 'diff' && diff.newText === 'x' && diff.path === at('a.txt'))
    expect('the call failed', endings().join() === 'failed')
    expect('nothing was written', !existsSync(at('a.txt')))
  },
  async allow(prompt) {
    expect('the turn ends', await prompt('Mend') === 'end_turn')
    expect('the buffer was read and edited', readFileSync(at('b.txt'), 'utf8') === 'saved\nmended\n')
    expect('the editor wrote it', buffers.size === 0)
    expect('both calls went well', endings().join() === 'completed,completed')
  },
  async cancel(prompt) {
    expect('the turn is cancelled', await prompt('Wait') === 'cancelled')
    expect('the call has ended', endings().join() === 'failed')
  },
  async leave(prompt) {
    cancel = () => agent.kill('SIGTERM')
    expect('a signal cancels the turn', await prompt('Wait') === 'cancelled')
    expect('the call has ended', endings().join() === 'failed')
  },
  async part(prompt) {
    expect('the turn ends', await prompt('Write both') === 'end_turn')
    const offered = heard.questions[0].options.map((one) => one.name).join()
    expect(`each file is an option: ${offered}`, offered === 'Allow,Always allow in this session,Allow only c.txt,Allow only d.txt,Reject,Reject and say why in the next prompt')
    expect('the one file is written, and the other is not', existsSync(at('d.txt')) && !existsSync(at('c.txt')))
    expect('the model reads what was left out', text('agent_message_chunk').endsWith('Half of it.'))
  },
  async because(prompt) {
    expect('the person can write', await prompt('Write') === 'end_turn')
    expect('it is said what to do', text('agent_message_chunk').includes('your next prompt says what to do instead'))
    expect('the turn goes on with the reason', await prompt('name it d.txt') === 'end_turn')
    expect('the model read both', text('agent_message_chunk').endsWith('As you like.') && endings().join() === 'failed')
    expect('nothing was written', !existsSync(at('c.txt')))
  },
  async undo(prompt) {
    expect('the turn ends', await prompt('Write') === 'end_turn')
    expect('the calls are listed', await prompt('/undo list') === 'end_turn' && text('agent_message_chunk').includes('2  write d.txt  + d.txt'))
    expect('one is undone', await prompt('/undo 1') === 'end_turn' && await comes(() => text('agent_message_chunk').includes('call 1 is undone; the conversation stays as it is')))
    expect('the other stays', existsSync(at('d.txt')) && !existsSync(at('c.txt')))
    expect('it is made again', await prompt('/redo') === 'end_turn' && await comes(() => existsSync(at('c.txt'))))
  },
  async model(prompt, session, [model]) {
    expect('the model is an option', model.id === 'model' && model.category === 'model' && model.currentValue.endsWith('/model'))
    const other = model.currentValue.replace(/model$/, 'typed')
    const { configOptions } = await ask(methods.agent.session.setConfigOption, { sessionId: session, configId: 'model', value: other })
    expect('another one is chosen', configOptions[0].currentValue === other)
    expect('it answers', await prompt('Hello') === 'end_turn' && text('agent_message_chunk').includes('No model is asked.'))
    await ask(methods.agent.session.close, { sessionId: session })
    const loaded = await ask(methods.agent.session.load, { sessionId: session, cwd: folder, mcpServers: [] })
    expect('the loaded session has it', loaded.configOptions[0].currentValue === other)
  },
  async typed(prompt) {
    const has = (name) => heard.updates.some((one) => one.availableCommands?.some((command) => command.name === name))
    expect('the commands are listed', await comes(() => ['plan', 'goal', 'memory'].every(has)))
    expect('the goal is shown', await prompt('/goal') === 'end_turn' && text('agent_message_chunk').includes('no goal is set'))
    expect('a line for the notes is asked about', await prompt('# use pnpm, not npm') === 'end_turn' && heard.questions.length === 1)
    expect('it is written', readFileSync(at('AGENTS.md'), 'utf8').includes('- use pnpm, not npm <!-- haft: '))
    expect('there is nothing else to propose', await prompt('/memory') === 'end_turn' && text('agent_message_chunk').includes('nothing to add'))
    expect('the mode is plan', await prompt('/plan') === 'end_turn' && await comes(() => heard.updates.some((one) => one.currentModeId === 'plan')))
    expect('no model was asked', !text('agent_message_chunk').includes('No model'))
  },
  async tools(prompt) {
    expect('the turn ends', await prompt('Look') === 'end_turn')
    expect('the tool of the server worked', endings().join() === 'completed')
    expect('it gave what the file holds', JSON.stringify(heard.updates).includes('saved'))
  },
}

try {
  const clientCapabilities = { fs: { readTextFile: true, writeTextFile: true } }
  const met = await ask(methods.agent.initialize, { protocolVersion: PROTOCOL_VERSION, clientCapabilities })
  expect('both speak one version', met.protocolVersion === PROTOCOL_VERSION)
  const own = { name: 'own', command: program, args: ['mcp', '--no-agents', '--expose', 'read', '--cwd', folder], env: [] }
  const mcpServers = way === 'tools' ? [own] : []
  const { sessionId, modes, configOptions } = await ask(methods.agent.session.new, { cwd: folder, mcpServers })
  expect('the modes are told', modes?.availableModes.some((one) => one.id === modes.currentModeId))
  cancel = () => connection.agent.notify(methods.agent.session.cancel, { sessionId })
  const prompt = async (words) =>
    (await ask(methods.agent.session.prompt, { sessionId, prompt: [{ type: 'text', text: words }] })).stopReason
  await ways[way](prompt, sessionId, configOptions)
} catch (error) {
  wrong.push(`no answer is an error: ${error?.message ?? JSON.stringify(error)}`)
}
agent.stdin.end()
expect('it ends with its input', await gone === 0)
rmSync(folder, { recursive: true, force: true })
for (const what of wrong) console.error(`not so: ${what}`)
process.exit(wrong.length === 0 ? 0 : 1)
