// Markdown as elements. What is no mark of it stays text; markup in it is text, pictures are their names, and links lead to
// web pages only, in a tab of their own.
import { el } from './dom.js'

/** Quotes and lists in one another, after which the rest is text. */
const DEEPEST = 20

/** The blocks of `source`. */
export function blocks(source, depth = 0) {
  if (depth > DEEPEST) return [el('p', {}, source)]
  const lines = source.replace(/\r\n?/g, '\n').split('\n')
  const found = []
  let at = 0
  while (at < lines.length) {
    const line = lines[at]
    const fence = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line)
    if (fence) {
      const inside = []
      at++
      while (at < lines.length && !lines[at].trim().startsWith(fence[1])) inside.push(lines[at++])
      at++
      const [language] = fence[2].trim().split(/[\s,{]/)
      found.push(el('pre', { tabindex: 0 }, el('code', { 'data-language': language || undefined }, inside.join('\n'))))
    } else if (/^ {0,3}#{1,6}\s/.test(line)) {
      const [, marks, words] = /^ {0,3}(#{1,6})\s+(.*)$/.exec(line)
      found.push(el(`h${Math.min(marks.length + 2, 6)}`, {}, inline(unclosed(words))))
      at++
    } else if (/^ {0,3}([-*_])( *\1){2,} *$/.test(line)) {
      found.push(el('hr'))
      at++
    } else if (/^ {0,3}>/.test(line)) {
      const inside = []
      while (at < lines.length && /^ {0,3}>/.test(lines[at])) inside.push(lines[at++].replace(/^ {0,3}> ?/, ''))
      found.push(el('blockquote', {}, blocks(inside.join('\n'), depth + 1)))
    } else if (item(line)) {
      const [list, next] = listAt(lines, at, depth)
      found.push(list)
      at = next
    } else if (isTable(lines, at)) {
      const rows = [cells(line)]
      at += 2
      while (at < lines.length && lines[at].includes('|')) rows.push(cells(lines[at++]))
      found.push(el('div', { class: 'wide', tabindex: 0 }, table(rows)))
    } else if (line.trim() === '') {
      at++
    } else {
      const words = []
      while (at < lines.length && lines[at].trim() !== '' && !(words.length && begins(lines, at))) words.push(lines[at++])
      found.push(el('p', {}, inline(words.join('\n'))))
    }
  }
  return found
}

/** The place behind `from` up to which nothing that follows changes the blocks of `source`: before a line that begins anew. */
export function settled(source, from) {
  let [at, end, fence] = [from, from]
  for (let next; (next = source.indexOf('\n', at)) >= 0; at = next + 1) {
    const line = source.slice(at, next)
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1]
    if (fence) fence = line.trim().startsWith(fence) ? undefined : fence
    else if (mark) fence = mark
    // A line that may belong to a list does not begin anew.
    else if (line.trim() === '' && /[^\s\-*+\d]/.test(source[next + 1] ?? '')) end = next + 1
  }
  return end
}

const item = (line) => /^( *)([-*+]|\d{1,9}[.)])\s+(.*)$/.exec(line)
const begins = (lines, at) => /^ {0,3}(#{1,6}\s|>|`{3,}|~{3,})/.test(lines[at]) || item(lines[at]) || isTable(lines, at)
const isTable = (lines, at) => lines[at].includes('|') && /^ *\|?( *:?-+:? *\|)+( *:?-+:? *)?$/.test(lines[at + 1] ?? '')
const cells = (line) => line.trim().replace(/^\||\|$/g, '').split('|').map((cell) => cell.trim())

function table([head, ...rows]) {
  return el('table', {}, el('thead', {}, el('tr', {}, head.map((cell) => el('th', { scope: 'col' }, inline(cell))))),
    el('tbody', {}, rows.map((row) => el('tr', {}, row.map((cell) => el('td', {}, inline(cell)))))))
}

function listAt(lines, at, depth) {
  const [, indent, mark] = item(lines[at])
  const ordered = /\d/.test(mark)
  const list = el(ordered ? 'ol' : 'ul', ordered ? { start: parseInt(mark, 10) } : {})
  while (at < lines.length) {
    const own = item(lines[at])
    if (!own || own[1].length < indent.length || /\d/.test(own[2]) !== ordered) break
    const inside = [own[3]]
    at++
    while (at < lines.length && (/^\s+\S/.test(lines[at]) || lines[at].trim() === '')) {
      const deeper = item(lines[at])
      if (deeper && deeper[1].length <= indent.length) break
      if (lines[at].trim() === '' && !/^\s+\S/.test(lines[at + 1] ?? '')) break
      inside.push(lines[at++].replace(new RegExp(`^ {0,${indent.length + mark.length + 1}}`), ''))
    }
    const task = /^\[([ xX])\]\s+/.exec(inside[0])
    if (task) inside[0] = (task[1] === ' ' ? '☐ ' : '☑ ') + inside[0].slice(task[0].length)
    const parts = blocks(inside.join('\n'), depth + 1)
    const isPlain = parts.length > 0 && parts[0].tagName === 'P'
    list.append(el('li', {}, isPlain ? [[...parts[0].childNodes], parts.slice(1)] : parts))
  }
  return [list, at]
}

/** A heading without the marks that may close it. */
function unclosed(heading) {
  const words = heading.trimEnd()
  let end = words.length
  while (words[end - 1] === '#') end--
  return end === 0 || words[end - 1].trim() === '' ? words.slice(0, end).trimEnd() : words
}

// What is marked has a bound: a mark that nothing ends is looked for so far, and not to the end of a long text each time. No
// part can be divided in two ways, so that a text that looks like a mark is given up after one reading.
const MARKS = /(?<!`)(`{1,99})(?!`)([\s\S]{0,2000}?[^`])\1(?!`)|\*\*([^\s*](?:[\s\S]{0,2000}?[^\s*])?)\*\*|__([^\s_](?:[\s\S]{0,2000}?[^\s_])?)__|\*([^\s*](?:[^*]{0,2000}?[^\s*])?)\*|~~([^~]{1,2000})~~|!\[([^\]]{0,500})\]\(([^)\s]{0,2000})(?:\s[^)]{0,500})?\)|\[([^\]]{1,500})\]\(([^)\s]{0,2000})(?:\s[^)]{0,500})?\)/

/** Words with their marks. */
function inline(words) {
  const found = []
  let rest = words
  for (;;) {
    const match = MARKS.exec(rest)
    if (!match) break
    found.push(rest.slice(0, match.index))
    const [whole, , code, strong, strongToo, weak, struck, picture, , link, target] = match
    if (code !== undefined) found.push(el('code', {}, code.trim()))
    else if (strong ?? strongToo) found.push(el('strong', {}, inline(strong ?? strongToo)))
    else if (weak) found.push(el('em', {}, inline(weak)))
    else if (struck) found.push(el('del', {}, inline(struck)))
    else if (picture !== undefined) found.push(el('span', { class: 'picture' }, `picture: ${picture}`))
    else found.push(anchor(link, target))
    rest = rest.slice(match.index + whole.length)
  }
  found.push(rest)
  return found
}

function anchor(words, target) {
  if (!/^https?:\/\//i.test(target)) return `${words} (${target})`
  return el('a', { href: target, target: '_blank', rel: 'noopener noreferrer nofollow' }, words)
}
