// A Bot API emulator of other people (npm, telegram-test-api) behind a server that keeps the offsets which updates were
// asked from: GET /offsets. Its first line of output is its port.
const http = require('http')
const net = require('net')
const TelegramServer = require('telegram-test-api')

const host = '127.0.0.1'
const emulator = { host }
const offsets = []

function passOn(request, response, body) {
  const { method, url, headers } = request
  const further = http.request({ ...emulator, method, path: url, headers }, (answer) => {
    response.writeHead(answer.statusCode, answer.headers)
    answer.pipe(response)
  })
  further.on('error', () => response.writeHead(502).end())
  further.end(body)
}

const front = http.createServer((request, response) => {
  if (request.url === '/offsets') return response.end(JSON.stringify(offsets))
  const chunks = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    const body = Buffer.concat(chunks)
    if (/^\/bot[^/]+\/getUpdates$/.test(request.url)) offsets.push(JSON.parse(body).offset)
    passOn(request, response, body)
  })
})

function freePort() {
  return new Promise((found) => {
    const server = net.createServer().listen(0, host, () => {
      const { port } = server.address()
      server.close(() => found(port))
    })
  })
}

// The emulator takes no port 0, so that another program may be quicker with the one that was free.
async function emulate(attempts) {
  emulator.port = await freePort()
  try {
    await new TelegramServer({ ...emulator, storage: 'RAM', storeTimeout: 600 }).start()
  } catch (error) {
    if (attempts === 1) throw error
    await emulate(attempts - 1)
  }
}

emulate(3).then(() => front.listen(0, host, () => console.log(front.address().port)))
