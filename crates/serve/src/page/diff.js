// What becomes of files, line by line, as the server tells it.
import { el } from './dom.js'

const WORDS = { created: 'created', modified: 'changed', deleted: 'deleted' }

/** `box(file, hunk)` makes what stands at a part: at each hunk of a file that has several, at the name of another (hunk null). */
export function files(all, box) {
  return all.map((file) => el('figure', { class: 'diff' },
    el('figcaption', {}, box && file.hunks.length < 2 && box(file, null), el('code', {}, file.path), ' ', el('span', { class: 'quiet' }, [WORDS[file.kind] ?? file.kind, count(file), file.mode].filter(Boolean).join(', '))),
    file.note ? el('p', { class: 'quiet' }, file.note) : el('div', { class: 'wide', tabindex: 0, role: 'group', 'aria-label': `Lines of ${file.path}` }, lines(file.hunks, box && file.hunks.length > 1 && ((hunk) => box(file, hunk))))))
}

/** How many lines came and went in these files. */
export function linesOf(all) {
  const lines = all.flatMap(({ hunks }) => hunks.flat())
  return [lines.filter((line) => line.old === null && line.new !== null).length, lines.filter((line) => line.new === null && line.old !== null).length]
}

function count(file) {
  const [added, removed] = linesOf([file])
  return added || removed ? `+${added} −${removed}` : ''
}

function lines(hunks, box) {
  const body = el('tbody')
  hunks.forEach((hunk, place) => {
    if (box) body.append(el('tr', { class: 'choice' }, el('td', { colspan: 4 }, box(place), ` hunk ${place + 1} of ${hunks.length}`)))
    else if (place > 0) body.append(el('tr', { class: 'gap' }, el('td', { colspan: 4 }, '⋯')))
    hunk.forEach((line) => body.append(row(line)))
  })
  return el('table', {}, body)
}

function row({ old, new: fresh, parts }) {
  const kind = old === null && fresh !== null ? 'more' : fresh === null && old !== null ? 'less' : 'same'
  const sign = { more: '+', less: '−', same: '' }[kind]
  const spoken = { more: 'added', less: 'removed' }[kind]
  const marked = { more: 'ins', less: 'del' }[kind]
  return el('tr', { class: kind }, el('td', { class: 'number' }, old), el('td', { class: 'number' }, fresh),
    el('td', { class: 'sign' }, spoken && el('span', { class: 'spoken' }, spoken), el('span', { 'aria-hidden': 'true' }, sign)),
    el('td', { class: 'line' }, parts.map(([other, text]) => (other && marked ? el(marked, {}, text) : text))))
}
