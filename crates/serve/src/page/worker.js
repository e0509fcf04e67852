// The worker that the tabs of a browser share.
import { Streams } from './streams.js'

const streams = new Streams()

self.onconnect = ({ ports: [port] }) => {
  const tab = (message) => port.postMessage(message)
  port.onmessage = ({ data }) => (data ? streams.want(tab, data) : streams.leave(tab))
}
