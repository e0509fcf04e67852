// The form for prompts, with the buttons that stop and continue a turn.
import { upload } from './api.js'
import { Completer } from './complete.js'
import { el, fill, named, plural } from './dom.js'
import { keepDraft, takeDraft } from './drafts.js'

/** Bytes of a file: what the server takes in. */
const MAX_BYTES = 24 << 20

const isPdf = (file) => file.type === 'application/pdf' || (!file.type && /\.pdf$/i.test(file.name))
const bytes = (count) => (count < 1 << 20 ? `${Math.ceil(count / 1024)} KB` : `${(count / (1 << 20)).toFixed(1)} MB`)

export class Composer {
  /**
   * `send`, `stop` and `goOn` do what they say, `complete` tells what a text can become; `failed` is told errors. A job of a
   * fleet takes neither files nor `goOn`, and completes nothing. What was not sent is kept as a draft of the session `id`.
   */
  constructor({ id, send, stop, goOn, complete, failed, isJob }) {
    Object.assign(this, { draft: `prompt ${id}`, sendParts: send, failed })
    this.input = el('textarea', { id: 'prompt', rows: 2, placeholder: 'Write a prompt', onkeydown: (event) => this.key(event), onpaste: isJob ? undefined : (event) => this.pasted(event) })
    this.completer = isJob ? undefined : new Completer(this.input, complete)
    this.sending = el('button', { type: 'submit', class: 'main' }, 'Send')
    this.stopping = el('button', { type: 'button', class: 'danger', hidden: true, onclick: stop }, 'Stop')
    this.continuing = el('button', { type: 'button', hidden: true, onclick: goOn }, 'Continue')
    this.attached = el('p', { class: 'attached chips', role: 'status' })
    const picked = el('input', { type: 'file', id: 'picture', multiple: true, accept: 'image/png,image/jpeg,image/gif,image/webp,application/pdf', class: 'spoken', onchange: async () => { await this.attach([...picked.files]); picked.value = '' } })
    const dropped = isJob ? {} : { ondragover: (event) => event.preventDefault(), ondrop: (event) => this.dropped(event) }
    this.form = el('form', { class: 'say', 'data-needs': 'prompt', ...dropped, onsubmit: (event) => { event.preventDefault(); this.send() } },
      el('label', { for: 'prompt', class: 'spoken' }, 'Prompt'), this.completer?.list, this.input,
      el('div', { class: 'actions' }, this.sending, this.stopping, !isJob && [this.continuing, picked, el('label', { for: 'picture', class: 'button' }, 'Picture or PDF')], this.attached))
    const { text, files } = takeDraft(this.draft) ?? { text: '', files: [] }
    this.put(text, files)
  }

  close() {
    this.isClosed = true
    this.keep()
  }

  keep() {
    const [text, { files }] = [this.input.value, this]
    keepDraft(this.draft, text || files.length ? { text, files } : undefined)
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
    const files = [...event.clipboardData.files].filter((file) => file.type.startsWith('image/') || isPdf(file))
    if (files.length) {
      event.preventDefault()
      this.attach(files)
    }
  }

  dropped(event) {
    event.preventDefault()
    this.attach([...event.dataTransfer.files])
  }

  /** One that cannot be attached is named, and keeps the others back no longer than that. */
  async attach(files) {
    for (const file of files) {
      this.told(`Attaching ${named(file.name)} …`)
      try {
        if (file.size > MAX_BYTES) throw new Error(`it has more than ${MAX_BYTES >> 20} MB`)
        const { id, pages } = await upload(file, isPdf(file) ? 'application/pdf' : file.type)
        this.files.push({ part: { type: 'upload', id }, about: `${named(file.name)}, ${pages ? plural(pages, 'page') : bytes(file.size)}` })
      } catch (error) {
        error.message = error.message.includes(file.name) ? error.message : `cannot attach ${named(file.name)}: ${error.message}`
        this.failed(error)
      }
    }
    this.told()
  }

  /** What is attached, each with a button that takes it away again. */
  told(words) {
    fill(this.attached, this.files.map((file) => el('button', { type: 'button', class: 'fact', 'aria-label': `Remove ${file.about}`, onclick: () => { this.put(this.input.value, this.files.filter((other) => other !== file)); this.input.focus() } }, file.about, ' ×')),
      words && el('span', { class: 'quiet' }, words))
  }

  /** What is typed while a prompt is on its way stays; a prompt that could not be sent comes back. */
  async send() {
    const text = this.input.value.trim()
    const { files } = this
    if (!text && !files.length) return
    this.completer?.close()
    this.put('', [])
    this.sending.disabled = true
    try {
      await this.sendParts(text, files.map(({ part }) => part))
    } catch (error) {
      this.put([text, this.input.value].filter(Boolean).join('\n'), [...files, ...this.files])
      this.failed(error)
    }
    this.sending.disabled = false
    this.input.focus()
  }

  put(text, files) {
    this.input.value = text
    this.files = files
    this.told()
    if (this.isClosed) this.keep()
  }
}
