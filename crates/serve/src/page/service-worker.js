// The worker that shows notifications, also while no page is open, and carries out what is pressed on them. It is a plain
// script: not every browser takes modules here.

/** Where the page keeps the token while this device is notified (`api.js`). */
const KEPT = ['haft', '/token']
const ACTIONS = { allow: 'Allow', deny: 'Deny' }
const ANSWERS = { allow: 'once', deny: 'no' }
/** Safari notifies no more where a message shows nothing. */
const isSafari = /AppleWebKit/.test(navigator.userAgent) && !/Chrome/.test(navigator.userAgent)

self.addEventListener('push', (event) => event.waitUntil(show(event.data.json())))
self.addEventListener('notificationclick', (event) => {
  event.notification.close()
  event.waitUntil(pressed(event.notification, event.action))
})

const windows = () => self.clients.matchAll({ type: 'window', includeUncontrolled: true })

/** A page that is in view tells it itself. */
async function show({ kind, session, call, title, text, actions }) {
  const asks = kind === 'approval' || kind === 'question'
  const seen = (await windows()).filter(({ visibilityState }) => visibilityState === 'visible')
  const isSeen = seen.length > 0
  if (asks) seen.forEach((window) => window.postMessage({ asks: { session, title } }))
  if (isSeen && !isSafari) return
  await self.registration.showNotification(asks ? `Haft asks: ${title}` : title, {
    body: text,
    icon: '/icon.png',
    tag: session,
    renotify: true,
    requireInteraction: asks,
    silent: isSeen,
    data: { session, call },
    actions: actions.map((action) => ({ action, title: ACTIONS[action] })),
  })
}

async function pressed({ title, data: { session, call } }, action) {
  if (!ANSWERS[action]) return open(session)
  const failed = await answer(session, call, ANSWERS[action])
  if (failed) await self.registration.showNotification(title, { body: failed, icon: '/icon.png', tag: session, data: { session } })
}

/** Answers an approval; gives the reason where that fails. */
async function answer(session, call, words) {
  const kept = await (await caches.open(KEPT[0])).match(KEPT[1])
  if (!kept) return 'Not answered: open the page, and log in.'
  const headers = { authorization: `Bearer ${await kept.text()}`, 'content-type': 'application/json' }
  try {
    const answered = await fetch(`/v1/sessions/${session}/approvals/${encodeURIComponent(call)}`, { method: 'POST', headers, body: JSON.stringify({ answer: words }), credentials: 'omit' })
    if (answered.ok) return undefined
    if (answered.status === 401) return 'Not answered: your login has ended. Open the page to log in again.'
    const { error } = await answered.json()
    return `Not answered: ${error.message}`
  } catch {
    return 'Not answered: the server cannot be reached.'
  }
}

/** Shows the session, in a window that there is. */
async function open(session) {
  const [first] = await windows()
  if (!first) return self.clients.openWindow(`/#s/${session}`)
  await first.focus()
  first.postMessage({ open: session })
}
