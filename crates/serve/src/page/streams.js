// One stream of events for all tabs of a browser: it lets no server have more than six connections, and each stream is one.
// This runs in a worker that the tabs share (`worker.js`), or in a tab where there are no such workers.

/** Milliseconds before a lost connection is tried again, at first and at most. */
const PAUSES = [250, 5000]
/** Milliseconds that a stream is still read for news after another one took its place. */
const NEWS_DELAY = 1000

export class Streams {
  constructor() {
    this.connections = new Map()
  }

  /** The function `tab` is to hear what comes with `token`: news, and what happens in `session` from the entry `from` on. */
  want(tab, { token, session, from }) {
    for (const [known, connection] of this.connections) if (known !== token) connection.leave(tab)
    if (!this.connections.has(token)) this.connections.set(token, new Connection(token))
    this.connections.get(token).want(tab, { session, from })
  }

  leave(tab) {
    for (const connection of this.connections.values()) connection.leave(tab)
  }
}

class Connection {
  constructor(token) {
    Object.assign(this, { token, tabs: new Map(), pause: PAUSES[0] })
  }

  want(tab, wanted) {
    const before = this.tabs.get(tab)
    this.tabs.set(tab, wanted)
    if (!this.isOpen || wanted.session || before?.session) this.open()
    else tab({ stands: true })
  }

  leave(tab) {
    if (!this.tabs.delete(tab) || this.tabs.size) return
    clearTimeout(this.again)
    this.opening?.abort()
    this.stream?.abort()
    this.replaced?.abort()
    this.isOpen = false
  }

  /** News may still arrive on the stream before this one, which is closed a moment after this one stands. */
  async open() {
    clearTimeout(this.again)
    this.opening?.abort()
    const stop = this.opening = new AbortController()
    const followed = [...this.tabs].filter(([, { session }]) => session)
    const list = followed.map(([, { session, from }]) => `${session}:${from}`).join(',')
    try {
      const headers = { accept: 'text/event-stream', authorization: `Bearer ${this.token}` }
      const answer = await fetch(list ? `/v1/events?view=timeline&follow=${list}` : '/v1/events', { headers, signal: stop.signal, credentials: 'omit', cache: 'no-store' })
      if (!answer.ok && answer.status < 500 && answer.status !== 429) {
        const refused = { status: answer.status, ...(await answer.json().catch(() => ({}))).error }
        return this.tell({ refused })
      }
      if (!answer.ok) throw new Error(`the server answered ${answer.status}`)
      this.replaced?.abort()
      const replaced = this.replaced = this.stream
      setTimeout(() => replaced?.abort(), NEWS_DELAY)
      Object.assign(this, { stream: stop, opening: undefined, isOpen: true, pause: PAUSES[0] })
      this.tell({ stands: true })
      // What was said so far of a reply comes again.
      for (const [tab] of followed) tab({ begins: true })
      for await (const data of events(answer.body)) this.heard(followed, JSON.parse(data), stop)
    } catch { /* the connection is lost, or replaced */ }
    if (stop.signal.aborted || this.replaced === stop) return
    this.isOpen = false
    this.tell({ stands: false })
    clearTimeout(this.again)
    this.again = setTimeout(() => this.open(), this.pause)
    this.pause = Math.min(this.pause * 2, PAUSES[1])
  }

  heard(followed, data, from) {
    if (data.follow === undefined) return this.tell({ news: data })
    if (from !== this.stream) return
    const [tab, wanted] = followed[data.follow]
    // It may follow another one by now.
    if (this.tabs.get(tab) !== wanted) return
    if (data.error) return tab({ refused: { status: 404, ...data.error } })
    if (data.event.seq !== null) wanted.from = data.event.seq + 1
    tab({ event: data.event })
  }

  tell(message) {
    for (const tab of this.tabs.keys()) tab(message)
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
      const data = one.split('\n').filter((line) => line.startsWith('data: ')).map((line) => line.slice(6)).join('\n')
      if (data) yield data
    }
  }
}
