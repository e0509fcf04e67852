// Code in replies: the server says what its words are, and a button copies it.
import { call } from './api.js'
import { el, fill, say } from './dom.js'

/** Characters of code that are colored: what the server takes in, if each has four bytes. */
const MAX_LENGTH = 25000

/** Colors what comes into sight in the replies of `main`, and offers to copy it. */
export function paintCode(main) {
  const sight = new IntersectionObserver((all) => {
    for (const { isIntersecting, target } of all) {
      if (!isIntersecting) continue
      sight.unobserve(target)
      paint(target)
    }
  }, { rootMargin: '200px' })
  const known = new WeakSet()
  const look = () => {
    // What is still being written is drawn again and again.
    for (const code of main.querySelectorAll('.reply:not(.pending) pre > code')) {
      if (known.has(code)) continue
      known.add(code)
      // Browsers offer the clipboard to pages of secure origins only.
      if (navigator.clipboard) offer(code)
      if (code.dataset.language && code.textContent.length <= MAX_LENGTH) sight.observe(code)
    }
  }
  new MutationObserver((changes) => { if (changes.some(({ addedNodes }) => addedNodes.length)) look() }).observe(main, { childList: true, subtree: true })
}

/** Code that cannot be colored stays as it is. */
async function paint(code) {
  const { lines } = await call('POST', '/v1/highlight', { language: code.dataset.language, code: code.textContent }).catch(() => ({ lines: [] }))
  if (!lines.some((parts) => parts.some(({ kind }) => kind))) return
  fill(code, lines.map((parts, place) => [place > 0 && '\n', parts.map(({ text, kind }) => (kind ? el('span', { class: `code-${kind}` }, text) : text))]))
}

function offer(code) {
  const pre = code.parentElement
  const copy = el('button', { type: 'button', class: 'copy', onclick: async () => {
    const words = await navigator.clipboard.writeText(code.textContent).then(() => 'Copied', () => 'Not allowed')
    copy.textContent = words
    say(words)
    setTimeout(() => { copy.textContent = 'Copy' }, 2000)
  } }, 'Copy')
  const place = el('div', { class: 'code' })
  pre.replaceWith(place)
  place.append(pre, copy)
}
