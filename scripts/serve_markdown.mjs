// The Markdown of the page of `haft serve`, without a browser: node --test scripts/serve_markdown.mjs
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'

// As the page loads it, with elements that are written as text. No package says that these files are modules.
const source = readFileSync(new URL('../crates/serve/src/page/markdown.js', import.meta.url), 'utf8')
const plain = `const el = (tag, _, ...inside) => ({ tagName: tag.toUpperCase(), childNodes: inside.flat(9), append(...more) { this.childNodes.push(...more.flat(9)) } })`
const module = source.replace(/^import .*$/m, plain)
const { blocks } = await import(`data:text/javascript,${encodeURIComponent(module)}`)

const shown = (node) => (typeof node === 'string' ? node : `<${node.tagName.toLowerCase()}>${node.childNodes.map(shown).join('')}</>`)
const drawn = (text) => blocks(text).map(shown).join('')

test('marks become elements, and what is no mark stays text', () => {
  const table = [
    ['# C#', '<h3>C#</>'],
    ['## a ##', '<h4>a</>'],
    ['# #', '<h3></>'],
    ['use `a` and ``b ` c``', '<p>use <code>a</> and <code>b ` c</></>'],
    ['[x](https://a.b "t") [y](z)', '<p><a>x</> y (z)</>'],
    ['**a** __b__ *c* ~~d~~', '<p><strong>a</> <strong>b</> <em>c</> <del>d</></>'],
    ['[a](b c', '<p>[a](b c</>'],
    ['```', '<pre><code></></>'],
  ]
  for (const [text, expected] of table) assert.equal(drawn(text), expected, text)
})

// The time that each takes grows with its length, not with the square of it: otherwise this ends by the time limit.
test('a text that looks like marks is read once', () => {
  const hostile = ['[a](', '![a](', '`', '` `` ', '**a', '__a', '~~a', '[', '>', '- ', '|', ' ', '*a ']
  for (const part of hostile) drawn(part.repeat(400_000 / part.length))
  drawn(`# a${' '.repeat(400_000)}b`)
  drawn(`# ${'#'.repeat(400_000)}x`)
})
