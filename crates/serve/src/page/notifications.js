// Notifications of this device: switched on and off, and what is told when. `service-worker.js` shows them.
import { call, forgetOnDevice, keepOnDevice } from './api.js'
import { el, fill, named, say } from './dom.js'
import { workerScript } from './listen.js'

/** What a device can be told. */
const WISHES = { questions: 'A question or an approval waits', jobs: 'A job has ended', turns: 'Any turn has ended' }
/** Jobs of a fleet have no turns that a person waits for. */
const FLEET_WISHES = { questions: WISHES.questions, jobs: WISHES.jobs }
const QUIET = { from: '22:00', to: '07:00' }

let isOn = false
let offered = WISHES

const canPush = () => 'serviceWorker' in navigator && 'PushManager' in globalThis && 'Notification' in globalThis
const service = async () => (canPush() ? navigator.serviceWorker.getRegistration('/') : undefined)
const subscribed = async () => (await service())?.pushManager.getSubscription()

/** Finds out whether this device is notified. The token that it keeps is the one that the page has now. */
export async function begin(isFleet) {
  if (isFleet) offered = FLEET_WISHES
  navigator.serviceWorker?.addEventListener('message', ({ data: { open, asks } }) => {
    if (open) location.hash = `s/${open}`
    else if (location.hash !== `#s/${asks.session}`) announce(asks)
  })
  isOn = Boolean(await known(await subscribed()))
  if (isOn) await keepOnDevice()
}

/** Tells a person who looks at another session that this one asks: on a phone, the list is folded. */
function announce({ session, title }) {
  document.getElementById('asks')?.remove()
  const close = () => box.remove()
  const words = `Haft asks: ${named(title)}`
  const box = el('div', { id: 'asks', class: 'toast' },
    el('a', { href: `#s/${session}`, onclick: close }, words), el('button', { type: 'button', class: 'plain', onclick: close }, 'Close'))
  document.body.append(box)
  say(words)
}

/** What the server has of this device. */
async function known(subscription) {
  if (!subscription) return undefined
  const { devices } = await call('GET', '/v1/push')
  return devices.find(({ endpoint }) => endpoint === subscription.endpoint)
}

/** Tells a person who looks elsewhere that a session asks, where the page is open but the device is not notified. */
export function notify(title, id) {
  if (isOn || !document.hidden || globalThis.Notification?.permission !== 'granted') return
  try {
    const shown = new Notification('Haft asks you', { body: title, tag: id })
    shown.onclick = () => { window.focus(); location.hash = `s/${id}`; shown.close() }
  } catch { /* Chrome on Android shows none but those of a service worker */ }
}

/** The button that shows the settings. */
export function notifying(failed) {
  const words = () => (isOn ? 'Notifications: on' : 'Notify this device…')
  const button = el('button', { type: 'button', onclick: () => showNotifications(() => { button.textContent = words() }).catch(failed) }, words())
  return button
}

/** Notifies this device no more. */
export async function stop() {
  const subscription = await subscribed()
  const row = await known(subscription)
  if (row) await call('DELETE', `/v1/push?id=${row.id}`)
  await subscription?.unsubscribe()
  await forgetOnDevice()
  isOn = false
}

/** Why this device cannot be notified while the page is closed; nothing if it can. */
function hindrance() {
  if (!globalThis.isSecureContext) return 'Browsers allow notifications only for pages that come over HTTPS, or from this machine.'
  if (navigator.standalone === false) return 'On an iPhone or iPad: choose Share, then Add to Home Screen. Open Haft from there, and notify this device.'
  return canPush() ? undefined : 'This browser shows no notifications.'
}

async function showNotifications(changed) {
  const dialog = document.getElementById('dialog')
  const why = hindrance()
  if (why) return inform(dialog, why)
  const row = await known(await subscribed())
  const wishes = row?.wishes ?? { questions: true, jobs: true, turns: false, quiet: null }
  const form = new Settings(wishes, Boolean(row), () => { changed(); dialog.close() })
  show(dialog, form.element)
}

function inform(dialog, words) {
  show(dialog, el('form', { method: 'dialog' }, el('h2', { id: 'dialog-title' }, 'Notifications'), el('p', {}, words), el('p', { class: 'actions' }, el('button', { type: 'submit', class: 'main' }, 'Close'))))
}

function show(dialog, content) {
  dialog.classList.remove('broad')
  dialog.onclose = null
  fill(dialog, content)
  dialog.showModal()
}

class Settings {
  constructor(wishes, isKnown, done) {
    Object.assign(this, { done, boxes: {} })
    const box = (name, words, checked) => {
      this.boxes[name] = el('input', { type: 'checkbox', id: `tell-${name}`, checked, onchange: () => this.offer() })
      return el('label', { class: 'choice', for: `tell-${name}` }, this.boxes[name], words)
    }
    const time = (name) => {
      this[name] = el('input', { type: 'time', id: `quiet-${name}`, required: true, value: wishes.quiet?.[name] ?? QUIET[name] })
      return el('p', { class: 'field' }, el('label', { for: `quiet-${name}` }, name === 'from' ? 'From' : 'To'), this[name])
    }
    this.zone = Intl.DateTimeFormat().resolvedOptions().timeZone
    this.hours = el('div', { class: 'hours' }, time('from'), time('to'))
    this.failure = el('p', { class: 'failure', role: 'alert', hidden: true })
    this.buttons = el('p', { class: 'actions' },
      el('button', { type: 'submit', class: 'main' }, isKnown ? 'Save' : 'Notify this device'),
      isKnown && el('button', { type: 'button', class: 'danger', onclick: () => this.act(stop, 'This device is notified no more') }, 'Stop notifications'),
      el('button', { type: 'button', onclick: () => document.getElementById('dialog').close() }, 'Cancel'))
    this.element = el('form', { class: 'notify', onsubmit: (event) => { event.preventDefault(); this.act(() => this.save(), 'This device is notified') } },
      el('h2', { id: 'dialog-title' }, 'Notifications on this device'),
      el('fieldset', {}, el('legend', {}, 'Tell me when'), Object.entries(offered).map(([name, words]) => box(name, words, wishes[name]))),
      el('fieldset', {}, el('legend', {}, 'Quiet hours'), box('quiet', `Tell me nothing in these hours (${this.zone})`, wishes.quiet !== null), this.hours,
        el('p', { class: 'quiet' }, 'A question that still waits at their end is told then.')),
      el('p', { class: 'quiet' }, 'Until you stop notifications or log out, this browser keeps your login, so that you can answer from a notification.'),
      this.failure, this.buttons)
    this.offer()
  }

  offer() {
    const isQuiet = this.boxes.quiet.checked
    this.hours.hidden = !isQuiet
    this.from.disabled = this.to.disabled = !isQuiet
  }

  wishes() {
    const told = Object.fromEntries(Object.keys(offered).map((name) => [name, this.boxes[name].checked]))
    return { ...told, quiet: this.boxes.quiet.checked ? { from: this.from.value, to: this.to.value, zone: this.zone } : null }
  }

  async act(action, words) {
    const buttons = [...this.buttons.children]
    buttons.forEach((button) => { button.disabled = true })
    this.failure.hidden = true
    try {
      await action()
      say(words)
      this.done()
    } catch (error) {
      this.failure.textContent = [error.message, error.suggestion].filter(Boolean).join(': ')
      this.failure.hidden = false
    }
    buttons.forEach((button) => { button.disabled = false })
  }

  async save() {
    // Browsers ask only right after a press.
    if (await Notification.requestPermission() !== 'granted') throw new Error('This browser does not allow notifications of this page: change that in its settings')
    const subscription = await subscribe((await call('GET', '/v1/push')).key)
    await call('PUT', '/v1/push', { subscription: subscription.toJSON(), wishes: this.wishes() })
    await keepOnDevice()
    isOn = true
  }
}

/** A subscription that takes messages of this server. */
async function subscribe(key) {
  await navigator.serviceWorker.register(workerScript('/service-worker.js'))
  const { pushManager } = await navigator.serviceWorker.ready
  const before = await pushManager.getSubscription()
  if (before && keyOf(before) !== key) await before.unsubscribe()
  try {
    return await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key })
  } catch (error) {
    throw new Error(`The push service of this browser cannot be used (${error.message}). While this page is open in the background, it still tells you of questions`)
  }
}

/** The key of the server that the subscription was made for, in base64url. */
function keyOf({ options }) {
  const bytes = new Uint8Array(options?.applicationServerKey ?? [])
  return btoa(String.fromCharCode(...bytes)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}
