// OpenAI's JavaScript SDK talks to `haft serve`: serve_client.mjs ADDRESS TOKEN. Ends with 1 where something is not as documented.
import OpenAI from 'openai'

const [address, token] = process.argv.slice(2)
const client = new OpenAI({ baseURL: `${address}/v1`, apiKey: token, maxRetries: 0 })
const wrong = []
const expect = (what, is) => { if (!is) wrong.push(what) }
const shown = (value) => JSON.stringify(value)

const names = []
for await (const model of client.models.list()) names.push(model.id)
expect(`agents are models: ${names}`, names.includes('haft') && names.includes('reviewer'))

const messages = [{ role: 'user', content: 'write it' }]
const whole = await client.chat.completions.create({ model: 'haft', messages })
expect(`the text is whole: ${shown(whole)}`, whole.choices[0].message.content === 'I write.\n\nIt is written.' && whole.usage.total_tokens === 40)
expect(`the call is seen: ${shown(whole.haft)}`, whole.haft.calls.some((call) => call.type === 'tool_ended' && call.name === 'write'))

// The helper that puts chunks together.
const runner = client.chat.completions.stream({ model: 'haft', messages, stream_options: { include_usage: true } })
const calls = []
for await (const chunk of runner) if (chunk.haft?.event) calls.push(chunk.haft.event.type)
const final = await runner.finalChatCompletion()
expect(`it streams: ${shown(final)}`, final.choices[0].message.content === 'I write.\n\nIt is written.' && final.usage.completion_tokens === 10)
expect(`calls of a stream: ${calls}`, calls.join() === 'tool_started,tool_ended')

const response = await client.responses.create({ model: 'haft', input: 'write it', instructions: 'Be short.' })
expect(`items: ${shown(response.output)}`, response.output.map((item) => item.type).join() === 'reasoning,message,mcp_call,message')
expect(`the text: ${response.output_text}`, response.output_text === 'I write.It is written.')
const stream = client.responses.stream({ model: 'haft', input: 'and now?', previous_response_id: response.id })
const kinds = []
for await (const event of stream) kinds.push(event.type)
const last = await stream.finalResponse()
expect(`events: ${kinds}`, kinds[0] === 'response.created' && kinds.at(-1) === 'response.completed')
expect(`it goes on: ${shown(last)}`, last.output_text === 'Nothing more.' && last.haft.session === response.haft.session)

// A client that leaves stops the turn.
const leaving = await client.chat.completions.create({ model: 'haft', messages: [{ role: 'user', content: 'slowly' }], stream: true })
for await (const chunk of leaving) if (chunk.choices[0].delta.content) break
leaving.controller.abort()

const error = await client.chat.completions.create({ model: 'gpt-9', messages }).catch((error) => error)
expect(`an error has words: ${error}`, error instanceof OpenAI.NotFoundError && /gpt-9/.test(error.message))

if (wrong.length) {
  console.error(wrong.map((line) => `FAILED  javascript: ${line}`).join('\n'))
  process.exit(1)
}
