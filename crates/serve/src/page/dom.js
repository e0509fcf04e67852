// Elements. Whatever a model, a tool or a person said becomes a text node, never markup.

/** An element with attributes, listeners (`onclick`) and children: elements, texts, or nothing. */
export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value)
    else if (key === 'value' || key === 'disabled' || key === 'open') element[key] = value
    else element.setAttribute(key, value === true ? '' : String(value))
  }
  append(element, children)
  return element
}

/** Whether the client may do `what`. */
export const may = (what) => document.body.dataset.may?.split(' ').includes(what)

/** `element`, which is offered only to those who may do `what`. */
export function needs(what, element) {
  element.dataset.needs = what
  return element
}

export function append(element, children) {
  for (const child of [children].flat(9)) {
    if (child === undefined || child === null || child === false || child === '') continue
    element.append(child instanceof Node ? child : document.createTextNode(String(child)))
  }
}

export function fill(element, ...children) {
  element.replaceChildren()
  append(element, children)
  return element
}

const HIDDEN = /(\p{Extended_Pictographic}\ufe0f?(?:\u200d\p{Extended_Pictographic}\ufe0f?)*)|[\p{Cc}\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\u2800\ufff9-\ufffb]/gu

/** A name or a title: what turns the reading direction or takes no room stands there as an escape; an emoji stays whole. */
export const named = (text) => String(text ?? '').replace(/\s+/gu, ' ').replace(HIDDEN, (sign, emoji) => emoji ?? `\\u{${sign.codePointAt(0).toString(16)}}`)

/** Told to those who hear the page. */
export function say(text) {
  document.getElementById('said').textContent = text
}

/** Asks for a few words below `body`; gives them, or nothing where the person thought better of it. */
export function ask(title, fields, action, body) {
  const dialog = document.getElementById('dialog')
  return new Promise((resolve) => {
    let given
    const inputs = fields.map((field) => {
      const id = `field-${field.name}`
      const attributes = { id, name: field.name, value: field.value ?? '', placeholder: field.placeholder, required: field.required, autocomplete: 'off' }
      const input = field.options
        ? el('select', { id, name: field.name }, field.options.map((option) => el('option', { value: option.value }, option.label)))
        : el(field.long ? 'textarea' : 'input', field.long ? { ...attributes, rows: 4 } : attributes)
      if (field.options && field.value !== undefined) input.value = field.value
      return { field, input, row: el('p', { class: 'field' }, el('label', { for: id }, field.label), input) }
    })
    const form = el('form', {
      method: 'dialog',
      onsubmit: () => { given = Object.fromEntries(inputs.map(({ field, input }) => [field.name, input.value.trim()])) },
    },
      el('h2', { id: 'dialog-title' }, title), body, inputs.map(({ row }) => row),
      el('p', { class: 'actions' }, el('button', { type: 'submit', class: 'main' }, action),
        action !== 'Close' && el('button', { type: 'button', onclick: () => dialog.close() }, 'Cancel')))
    // The fields stay until the next dialog: where the one with the cursor is removed, Chromium drops what is typed next.
    // The event of a dialog that was closed before may come when this one is open already.
    dialog.onclose = () => { if (!dialog.open) resolve(given) }
    fill(dialog, form)
    dialog.classList.toggle('broad', body !== undefined)
    dialog.showModal()
    inputs[0]?.input.focus()
  })
}

export const money = (dollars) => (dollars === null || dollars === undefined ? 'cost unknown' : `$${dollars.toFixed(dollars < 1 ? 4 : 2)}`)
export const tokens = (count) => (count < 1000 ? String(count) : count < 1e6 ? `${(count / 1000).toFixed(1)}k` : `${(count / 1e6).toFixed(2)}M`)
export const grouped = (count) => String(count).replace(/\B(?=(\d{3})+$)/g, ',')
export const plural = (count, what) => `${grouped(count)} ${what}${count === 1 ? '' : 's'}`
export const seconds = (ms) => (ms < 1000 ? `${ms} ms` : ms < 60000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.floor(ms / 60000)} min ${Math.round((ms % 60000) / 1000)} s`)

export function age(at) {
  const passed = (Date.now() - at) / 1000
  if (passed < 60) return 'now'
  if (passed < 3600) return `${Math.floor(passed / 60)} min ago`
  if (passed < 86400) return `${Math.floor(passed / 3600)} h ago`
  return new Date(at).toLocaleDateString()
}
