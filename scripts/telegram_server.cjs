// A Bot API emulator of other people (npm, telegram-test-api) behind a server that keeps the offsets which updates were
// asked from: GET /offsets. PORT is the server's, BEHIND the emulator's.
const http = require('http')
const TelegramServer = require('telegram-test-api')

const port = Number(process.env.PORT)
const emulator = { host: '127.0.0.1', port: Number(process.env.BEHIND) }
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

new TelegramServer({ ...emulator, storage: 'RAM', storeTimeout: 600 }).start().then(() => front.listen(port, '127.0.0.1'))
