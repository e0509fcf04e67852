// The form for prompts, with the buttons that stop and continue a turn.
import { upload } from './api.js'
import { Completer } from './complete.js'
import { el } from './dom.js'

export class Composer {
  /**
   * `send`, `stop` and `goOn` do what they say, `complete` tells what a text can become; `failed` is told errors. A job of a
   * fleet takes neither pictures nor `goOn`, and completes nothing.
   */
  constructor({ send, stop, goOn, complete, failed, isJob }) {
    Object.assign(this, { sendParts: send, failed, images: [] })
    this.input = el('textarea', { id: 'prompt', rows: 2, placeholder: 'Write a prompt', onkeydown: (event) => this.key(event), onpaste: isJob ? undefined : (event) => this.pasted(event) })
    this.completer = isJob ? undefined : new Completer(this.input, complete)
    this.sending = el('button', { type: 'submit', class: 'main' }, 'Send')
    this.stopping = el('button', { type: 'button', class: 'danger', hidden: true, onclick: stop }, 'Stop')
    this.continuing = el('button', { type: 'button', hidden: true, onclick: goOn }, 'Continue')
    this.attached = el('p', { class: 'quiet attached', role: 'status' })
    const picture = el('input', { type: 'file', id: 'picture', accept: 'image/png,image/jpeg,image/gif,image/webp', class: 'spoken', onchange: () => this.attach([...picture.files]) })
    const dropped = isJob ? {} : { ondragover: (event) => event.preventDefault(), ondrop: (event) => this.dropped(event) }
    this.form = el('form', { class: 'say', 'data-needs': 'prompt', ...dropped, onsubmit: (event) => { event.preventDefault(); this.send() } },
      el('label', { for: 'prompt', class: 'spoken' }, 'Prompt'), this.completer?.list, this.input,
      el('div', { class: 'actions' }, this.sending, this.stopping, !isJob && [this.continuing, picture, el('label', { for: 'picture', class: 'button' }, 'Picture')], this.attached))
  }

  /** During a turn a prompt steers it. */
  setBusy(isBusy) {
    this.stopping.hidden = !isBusy
    this.sending.textContent = isBusy ? 'Steer' : 'Send'
    if (isBusy) this.offerContinue(false)
  }

  offerContinue(is) {
    this.continuing.hidden = !is
  }

  key(event) {
    if (this.completer?.key(event)) return
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
      event.preventDefault()
      this.send()
    }
  }

  pasted(event) {
    const pictures = [...event.clipboardData.files].filter((file) => file.type.startsWith('image/'))
    if (pictures.length) {
      event.preventDefault()
      this.attach(pictures)
    }
  }

  dropped(event) {
    event.preventDefault()
    this.attach([...event.dataTransfer.files])
  }

  async attach(pictures) {
    try {
      for (const picture of pictures) this.images.push({ type: 'upload', id: (await upload(picture)).id })
      this.attached.textContent = `${this.images.length} attached`
    } catch (error) {
      this.failed(error)
    }
  }

  /** What is typed while a prompt is on its way stays; a prompt that could not be sent comes back. */
  async send() {
    const text = this.input.value.trim()
    const { images } = this
    if (!text && !images.length) return
    this.completer?.close()
    this.put('', [])
    this.sending.disabled = true
    try {
      await this.sendParts(text, images)
    } catch (error) {
      this.put([text, this.input.value].filter(Boolean).join('\n'), [...images, ...this.images])
      this.failed(error)
    }
    this.sending.disabled = false
    this.input.focus()
  }

  put(text, images) {
    this.input.value = text
    this.images = images
    this.attached.textContent = images.length ? `${images.length} attached` : ''
  }
}
