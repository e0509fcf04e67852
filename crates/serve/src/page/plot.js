// Tokens and money over the rounds of a session, drawn, and as a table with the same numbers for people who cannot see it.
import { el, grouped, money } from './dom.js'

/** In the drawing's own units; the page stretches it. */
const [WIDTH, HEIGHT] = [1000, 200]
const KINDS = [['cached', (usage) => usage.cache_read], ['input', (usage) => usage.input + usage.cache_write], ['output', (usage) => usage.output]]

function svg(name, attributes, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name)
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value)
  element.append(...children)
  return element
}

const total = (usage) => KINDS.reduce((sum, [, count]) => sum + count(usage), 0)

/** A figure of what the rounds took; nothing where no server counted. `cost` gives the price of a round, if it is known. */
export function plot(rounds, cost) {
  const most = Math.max(0, ...rounds.map(total))
  if (most === 0) return undefined
  const priced = cost ? rounds.map(cost) : []
  const costs = priced.some((usd) => usd > 0) ? priced : undefined
  const key = (kind, words) => el('span', { class: `key ${kind}` }, words)
  const bars = rounds.flatMap((usage, place) => bar(usage, place, rounds.length, most))
  return el('figure', { class: 'plot' },
    el('figcaption', {}, el('h2', {}, `Tokens${costs ? ' and money' : ''} by round`), el('p', { class: 'keys' }, key('cached', 'read from cache'), key('input', 'read'), key('output', 'written'),
      costs && key('money', `cost so far, to ${money(costs.reduce((sum, usd) => sum + usd, 0))}`))),
    el('div', { class: 'field' }, el('span', { class: 'top', 'aria-hidden': 'true' }, `${grouped(most)} tokens`),
      svg('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', 'aria-hidden': 'true', focusable: 'false' }, ...bars, ...(costs ? [line(costs)] : []))),
    el('p', { class: 'axis', 'aria-hidden': 'true' }, el('span', {}, 'round 1'), el('span', {}, rounds.length)),
    el('details', {}, el('summary', {}, 'The same in numbers'), table(rounds, costs)))
}

function bar(usage, place, count, most) {
  const slot = WIDTH / count
  const width = Math.min(slot * 0.8, 80)
  const left = slot * place + (slot - width) / 2
  let bottom = HEIGHT
  return KINDS.filter(([, tokens]) => tokens(usage) > 0).map(([kind, tokens]) => {
    const height = (tokens(usage) * HEIGHT) / most
    bottom -= height
    return svg('rect', { class: kind, x: left.toFixed(1), y: bottom.toFixed(1), width: width.toFixed(1), height: height.toFixed(1) })
  })
}

/** The sum so far, from nothing at the beginning to all at the end. */
function line(costs) {
  const all = costs.reduce((sum, usd) => sum + usd, 0)
  const slot = WIDTH / costs.length
  let soFar = 0
  const points = costs.map((usd, place) => `${(slot * (place + 0.5)).toFixed(1)},${(HEIGHT - ((soFar += usd) / all) * HEIGHT).toFixed(1)}`)
  return svg('polyline', { class: 'money', points: [`0,${HEIGHT}`, ...points].join(' ') })
}

function table(rounds, costs) {
  let soFar = 0
  const names = ['round', 'from cache', 'read', 'written', ...(costs ? ['cost', 'so far'] : [])]
  const row = (usage, place) => el('tr', {}, el('th', { scope: 'row' }, place + 1), KINDS.map(([, count]) => el('td', {}, grouped(count(usage)))),
    costs && [el('td', {}, money(costs[place])), el('td', {}, money((soFar += costs[place])))])
  return el('div', { class: 'wide', tabindex: 0 }, el('table', { class: 'numbers' }, el('thead', {}, el('tr', {}, names.map((name) => el('th', { scope: 'col' }, name)))), el('tbody', {}, rounds.map(row))))
}
