// The API. The token stands behind `#` in the address that `haft serve` prints, which no browser sends anywhere; it is kept
// for this tab, and taken out of the address.
const KEY = 'haft-token'

export function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get('token')
  if (given) {
    sessionStorage.setItem(KEY, given)
    history.replaceState(null, '', location.pathname)
  }
  return sessionStorage.getItem(KEY)
}

export function keepToken(token) {
  sessionStorage.setItem(KEY, token)
}

export function forgetToken() {
  sessionStorage.removeItem(KEY)
}

/** What the server answered in place of what was asked for. */
export class Refused extends Error {
  constructor(status, error) {
    super(error?.message ?? `the server answered ${status}`)
    this.status = status
    this.suggestion = error?.suggestion
  }
}

function asked(path, options = {}) {
  return fetch(path, {
    ...options,
    headers: { authorization: `Bearer ${sessionStorage.getItem(KEY) ?? ''}`, ...options.headers },
    credentials: 'omit',
    cache: 'no-store',
  })
}

export async function call(method, path, body) {
  const options = body === undefined ? { method } : { method, body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }
  return read(await asked(path, options))
}

export async function upload(file) {
  return read(await asked('/v1/uploads', { method: 'POST', body: file, headers: { 'content-type': file.type } }))
}

export async function text(path) {
  const answer = await asked(path)
  if (!answer.ok) throw new Refused(answer.status, (await answer.json().catch(() => ({}))).error)
  return answer.text()
}

async function read(answer) {
  const value = await answer.json().catch(() => ({}))
  if (!answer.ok) throw new Refused(answer.status, value.error)
  return value
}

/**
 * Follows server-sent events until `stop` is aborted. Where the connection breaks, it goes on behind the last event that had
 * an ID. `heard` gets each event, `state` hears whether the connection stands.
 */
export async function follow(path, { stop, heard, state }) {
  let last
  let wait = 250
  while (!stop.aborted) {
    try {
      const headers = { accept: 'text/event-stream', ...(last === undefined ? {} : { 'last-event-id': last }) }
      const answer = await asked(path, { headers, signal: stop })
      if (!answer.ok) throw new Refused(answer.status, (await answer.json().catch(() => ({}))).error)
      state?.(true)
      wait = 250
      for await (const event of events(answer.body)) {
        if (event.id !== undefined) last = event.id
        heard(JSON.parse(event.data))
      }
    } catch (error) {
      if (stop.aborted) return
      if (error instanceof Refused && error.status < 500 && error.status !== 429) throw error
    }
    state?.(false)
    await new Promise((resolve) => setTimeout(resolve, wait))
    wait = Math.min(wait * 2, 5000)
  }
}

async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    text += value
    const whole = text.split('\n\n')
    text = whole.pop()
    for (const one of whole) {
      const event = {}
      for (const line of one.split('\n')) {
        if (line.startsWith('id: ')) event.id = line.slice(4)
        else if (line.startsWith('data: ')) event.data = (event.data ?? '') + line.slice(6)
      }
      if (event.data !== undefined) yield event
    }
  }
}
