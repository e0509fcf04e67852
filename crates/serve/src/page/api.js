// The API. The token stands behind `#` in the address that `haft serve` prints, which no browser sends anywhere; it is kept
// for this tab, and taken out of the address. A device that is notified keeps it for all tabs.
const KEY = 'haft-token'
/** Where the page was when its token was refused: a login at a provider leads away from it. */
const PLACE = 'haft-place'
/** The cache of a device that is notified, and the name in it: a service worker reads no other store so simply. */
const KEPT = ['haft', '/token']

export async function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get('token')
  if (given) {
    const place = sessionStorage.getItem(PLACE) ?? ''
    keepToken(given)
    history.replaceState(null, '', location.pathname + place)
  }
  const kept = sessionStorage.getItem(KEY) ? undefined : await onDevice()
  if (kept) sessionStorage.setItem(KEY, kept)
  return sessionStorage.getItem(KEY)
}

async function onDevice() {
  try {
    return await (await caches.match(KEPT[1], { cacheName: KEPT[0] }))?.text()
  } catch {
    // Pages without HTTPS have no caches, and some private windows.
    return undefined
  }
}

/** Keeps the token for the service worker, and for the page as an app. */
export async function keepOnDevice() {
  await (await caches.open(KEPT[0])).put(KEPT[1], new Response(token()))
}

export async function forgetOnDevice() {
  await caches.delete(KEPT[0])
}

export function keepToken(token) {
  sessionStorage.setItem(KEY, token)
  sessionStorage.removeItem(PLACE)
}

/** Another person may log in next. */
export const forgetPlace = () => sessionStorage.removeItem(PLACE)

export const token = () => sessionStorage.getItem(KEY) ?? ''

/** A token that is refused: another one that the device keeps stays. */
export async function forgetToken() {
  const refused = token()
  sessionStorage.removeItem(KEY)
  sessionStorage.setItem(PLACE, location.hash)
  if (await onDevice() === refused) await forgetOnDevice()
}

/** What the server answered in place of what was asked for. */
export class Refused extends Error {
  constructor(status, error) {
    super(error?.message ?? `the server answered ${status}`)
    this.status = status
    this.kind = error?.type
    this.suggestion = error?.suggestion
  }
}

function asked(path, options = {}) {
  return fetch(path, {
    ...options,
    headers: { authorization: `Bearer ${token()}`, ...options.headers },
    credentials: 'omit',
    cache: 'no-store',
  })
}

export async function call(method, path, body) {
  const options = body === undefined ? { method } : { method, body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }
  return read(await asked(path, options))
}

/** Sends a file of this media type, which is seen from its bytes if it is empty. */
export async function upload(file, type) {
  return read(await asked(`/v1/uploads?name=${encodeURIComponent(file.name)}`, { method: 'POST', body: file, headers: { 'content-type': type || 'application/octet-stream' } }))
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
