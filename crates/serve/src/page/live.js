// Draws the reply that is being written, and what the model thinks meanwhile.
import { append, el, fill } from './dom.js'
import { blocks, settled } from './markdown.js'

/** Drawing takes at most this fraction of the time. */
const TIME_SHARE = 1 / 10
/** Maximum milliseconds between two drawings. */
const LONGEST_REST = 1000

export class LiveReply {
  constructor() {
    this.thinking = el('details', { class: 'thinking pending', hidden: true }, el('summary', {}, 'Thinking…'), el('div', { class: 'inside' }))
    this.pending = el('div', { class: 'reply pending' })
    this.rest = 0
    this.clear()
  }

  /** Draws once per frame at most, and less often if that takes long: the longer a reply, the longer it takes. */
  draw(live) {
    this.live = live
    if (!live.text && !live.thought) return this.clear()
    this.drawing ??= setTimeout(() => requestAnimationFrame(() => {
      const begun = performance.now()
      this.drawing = undefined
      this.drawText(this.live.text)
      this.thinking.hidden = !this.live.thought
      this.thinking.lastChild.textContent = this.live.thought
      // Layout and paint come first.
      setTimeout(() => { this.rest = Math.min((performance.now() - begun) / TIME_SHARE, LONGEST_REST) })
    }), this.rest)
  }

  /** Draws anew what may still change, and leaves the rest as it is. */
  drawText(text) {
    const end = settled(text, this.drawn)
    this.growing.forEach((block) => block.remove())
    append(this.pending, blocks(text.slice(this.drawn, end)))
    this.growing = blocks(text.slice(end))
    append(this.pending, this.growing)
    this.drawn = end
  }

  clear() {
    Object.assign(this, { drawn: 0, growing: [], live: { text: '', thought: '' } })
    fill(this.pending)
    this.thinking.hidden = true
  }
}
