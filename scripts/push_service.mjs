// A push service for tests, with devices that decrypt and check what Haft sends with libraries of others: a browser reaches
// only the service of its vendor.
import { createECDH, randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import ece from 'http_ece'
import { importJWK, jwtVerify } from 'jose'
import { expect } from './browser.mjs'

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** A browser's subscription, with its private key. */
function device(name) {
  const key = createECDH('prime256v1')
  return { name, key, secret: randomBytes(16), public: key.generateKeys(), got: [], answers: [], wanted: undefined }
}

/** A service for devices of these names; it is closed with `close`. */
export async function pushService(names) {
  const devices = new Map(names.map((name) => [name, device(name)]))
  const subscription = (name) => {
    const { public: p256dh, secret } = devices.get(name)
    return { endpoint: `${service}/${name}`, expirationTime: null, keys: { p256dh: p256dh.toString('base64url'), auth: secret.toString('base64url') } }
  }

  /** The push service. It takes a message only as RFC 8030, 8291 and 8292 have it. */
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray())
    const to = devices.get(request.url.slice(1))
    const status = to.answers.shift() ?? 201
    response.writeHead(status, status === 503 ? { 'retry-after': '1' } : {}).end()
    to.tries = (to.tries ?? 0) + 1
    if (status !== 201) return
    try {
      const { authorization, ttl, topic, urgency, 'content-encoding': coding } = request.headers
      const [, jwt, k] = /^vapid t=([^,]+), k=(\S+)$/.exec(authorization)
      const point = Buffer.from(k, 'base64url')
      const key = await importJWK({ kty: 'EC', crv: 'P-256', x: point.subarray(1, 33).toString('base64url'), y: point.subarray(33).toString('base64url') }, 'ES256')
      const { payload } = await jwtVerify(jwt, key, { audience: service, algorithms: ['ES256'] })
      expect(`the token names the contact and holds for a day at most: ${JSON.stringify(payload)}`, payload.sub === 'mailto:push@example.org' && payload.exp - Date.now() / 1000 < 86400)
      expect(`the token is signed with the key that browsers subscribe with: ${k}`, to.wanted === undefined || to.wanted === k)
      expect(`the headers: ${ttl} ${topic} ${urgency} ${coding}`, ttl === '86400' && /^[\w-]{1,32}$/.test(topic) && coding === 'aes128gcm')
      expect(`a message has at most 4096 bytes: ${body.length}`, body.length <= 4096)
      const told = JSON.parse(ece.decrypt(body, { version: 'aes128gcm', privateKey: to.key, authSecret: to.secret.toString('base64url') }))
      expect(`questions are urgent: ${urgency} ${told.kind}`, urgency === (told.call ? 'high' : 'normal'))
      to.got.push({ ...told, topic })
    } catch (error) {
      expect(`a message to ${to.name}: ${error.stack}`, false)
    }
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.on('listening', resolve))
  const service = `http://127.0.0.1:${server.address().port}`

  /** The next message to a device that fits; none where none comes in time. */
  async function message(name, fits, ms = 15000) {
    const { got } = devices.get(name)
    for (const until = Date.now() + ms; Date.now() < until; await pause(50)) {
      const place = got.findIndex(fits)
      if (place >= 0) return got.splice(place, 1)[0]
    }
    return undefined
  }

  return { service, devices, subscription, message, close: () => server.close() }
}

/** Lets the page in `tab` subscribe to this service, as if it were its vendor's. */
export const subscribes = (tab, own) => tab.evaluateOnNewDocument((own) => {
  const subscription = () => ({ ...own, options: { applicationServerKey: Uint8Array.from(atob(localStorage.stub.replaceAll('-', '+').replaceAll('_', '/')), (sign) => sign.charCodeAt()).buffer }, toJSON: () => own, unsubscribe: async () => { delete localStorage.stub; return true } })
  PushManager.prototype.getSubscription = async () => (localStorage.stub ? subscription() : null)
  PushManager.prototype.subscribe = async ({ applicationServerKey, userVisibleOnly }) => {
    if (!userVisibleOnly) throw new Error('Chromium takes no others')
    localStorage.stub = applicationServerKey
    return subscription()
  }
}, own)
