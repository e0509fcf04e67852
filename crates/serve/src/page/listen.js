// What this tab hears of the server: news of all sessions, and what happens in the one that it shows.
import { Refused, token } from './api.js'
import { Streams } from './streams.js'

/** Hears `news(event)` and `stands(is)`: whether the connection does. */
let listener = {}
let followed
let send

/** Hears news from here on. */
export function listen(heard) {
  listener = heard
  send ??= connect()
  want()
}

/**
 * Follows the session `id`, until the function that is given is called. `from` gives the first entry that is wanted; `heard`
 * gets each event, `begins` hears that what is said at the moment comes anew, `stands` whether the connection does, and
 * `failed` why nothing more comes.
 */
export function follow(id, view) {
  const own = followed = { id, ...view }
  want()
  return () => {
    if (followed !== own) return
    followed = undefined
    want()
  }
}

function want() {
  send?.(token() ? { token: token(), session: followed?.id, from: followed?.from() } : null)
}

function heard({ news, stands, begins, event, refused }) {
  if (event) followed?.heard(event)
  else if (begins) followed?.begins()
  else if (news) listener.news?.(news)
  else if (refused) (followed ?? listener).failed?.(new Refused(refused.status, refused))
  else {
    listener.stands?.(stands)
    followed?.stands(stands)
  }
}

/** To the worker that all tabs share; where there is none, each tab has a stream of its own. */
function connect() {
  const alone = () => {
    const streams = new Streams()
    send = (message) => (message ? streams.want(heard, message) : streams.leave(heard))
    return send
  }
  try {
    const worker = new SharedWorker(workerScript('/worker.js'), { type: 'module', name: 'haft' })
    worker.onerror = () => {
      alone()
      want()
    }
    worker.port.onmessage = ({ data }) => heard(data)
    // A tab that is closed or put away says so; it is the only one who can.
    addEventListener('pagehide', () => send(null))
    addEventListener('pageshow', ({ persisted }) => { if (persisted) want() })
    return (message) => worker.port.postMessage(message)
  } catch {
    return alone()
  }
}

const WORKERS = ['/worker.js', '/service-worker.js']
const policy = globalThis.trustedTypes?.createPolicy('worker', { createScriptURL: (path) => (WORKERS.includes(path) ? path : '') })

/** One of the scripts that workers may run. */
export const workerScript = (path) => (policy ? policy.createScriptURL(path) : path)
