// SPDX-License-Identifier: MIT
// Everything on its way at a moment of a walk: tokens with their numbers and places, the ring where one has just landed. A
// function of the record, the moment and the layout, and of nothing else.
import type { Walk } from '../engine/types.ts'
import { beat, ease, forward, seed, within, type Moment } from '../lib/beats.ts'
import type { PlacedBox } from '../lib/layout.ts'
import { widthOf } from '../lib/measure.ts'
import { plain, product, signed, term, times } from '../lib/number.ts'
import { pointAt, type Point } from '../lib/path.ts'
import { edgeKey } from '../lib/replay.ts'
import { forwardNumbers } from '../lib/words.ts'
import { toneOf, type Picture, type Tone } from './picture.ts'
import { lines, pads, type Staged } from './sizes.ts'

export interface Token extends Point {
  id: string
  /** Its part of the step: copied from a card, meeting the local derivative, carrying the product; data; the seed. */
  kind: 'carry' | 'meet' | 'product' | 'arrive' | 'data' | 'result' | 'seed'
  parts: { text: string; tone: Tone | 'data' | 'ink' }[]
  tone: Tone | 'data'
  scale: number
  /** Behind the card it comes from. */
  isUnder: boolean
}
export interface Scene {
  tokens: Token[]
  /** Opening around a card something has just landed on. */
  ring: { card: string; part: number; tone: Tone | 'wrong' } | null
  /** A late coin against the closed door: how far, in pixels. */
  knock: { card: string; by: number } | null
  /** The edge whose own words are part of a token now. */
  merged: string | null
}
export const nothing: Scene = { tokens: [], ring: null, knock: null, merged: null }

export function sceneAt(walk: Walk, moment: Moment, picture: Picture, placed: Staged): Scene {
  const { step } = moment
  if (!step || moment.landed === Infinity) return nothing
  if (step.kind === 'forward') return flow(walk, moment, picture, placed)
  return 'deposits' in step ? pay(walk, moment, picture, placed) : plant(walk, moment, picture, placed)
}

const gradPlace = (card: string, box: PlacedBox, { form, columns }: Staged): Point => ({
  x: box.x + (columns.get(card)?.grad ?? box.width - pads[form]) - 18,
  y: box.y + lines[form].value - 6,
})

/** Operands' data, all at once, then the arithmetic inside the card. */
function flow(walk: Walk, moment: Moment, picture: Picture, placed: Staged): Scene {
  const step = moment.step!
  if (step.kind !== 'forward') return nothing
  const tokens: Token[] = []
  const { ms } = moment
  const part = ease(within(ms, forward.leave, forward.meet))
  const node = walk.nodes[step.node]!
  if (ms < forward.meet)
    for (const [k, operand] of node.operands.entries()) {
      const wire = picture.wireOf.get(edgeKey(step.node, k))
      const link = wire === undefined ? undefined : placed.links.get(wire)
      if (!link || walk.nodes[operand]!.op === 'constant') continue
      const at = pointAt(link.path, part)
      tokens.push({ id: `data ${k}`, kind: 'data', parts: [{ text: plain(step.operands[k]!), tone: 'data' }], tone: 'data', ...at, scale: 1, isUnder: false })
    }
  const box = placed.boxes.get(picture.cardOf[step.node]!)
  if (box && ms >= forward.meet) {
    const hasResult = ms >= forward.land
    const parts: Token['parts'] = [{ text: `${forwardNumbers(walk, step)}${hasResult ? ' = ' : ''}`, tone: 'ink' }]
    if (hasResult) parts.push({ text: plain(step.data), tone: 'data' })
    const y = box.y + lines[placed.form].value - (placed.form === 'tall' ? 15 : 5)
    tokens.push({ id: 'result', kind: 'result', parts, tone: 'data', x: box.x + box.width / 2, y, scale: 1, isUnder: false })
  }
  return { ...nothing, tokens }
}

function plant(_walk: Walk, moment: Moment, picture: Picture, placed: Staged): Scene {
  const step = moment.step!
  if (step.kind === 'forward' || 'deposits' in step) return nothing
  const card = picture.cardOf[step.node]!
  const box = placed.boxes.get(card)
  if (!box) return nothing
  const ring = { card, part: within(moment.ms, seed.land, seed.end - 200), tone: 'plus' as const }
  if (moment.ms >= seed.land) return ring.part < 1 ? { ...nothing, ring } : nothing
  if (step.kind !== 'seed') return nothing
  const place = gradPlace(card, box, placed)
  const part = ease(moment.ms / seed.land)
  const token: Token = { id: 'seed', kind: 'seed', parts: [{ text: signed(step.after), tone: 'plus' }], tone: 'plus', x: place.x, y: place.y - 26 * (1 - part), scale: 0.7 + 0.3 * part, isUnder: false }
  return { ...nothing, tokens: [token] }
}

function pay(walk: Walk, moment: Moment, picture: Picture, placed: Staged): Scene {
  const step = moment.step!
  if (!('deposits' in step) || moment.active === null) return nothing
  const deposit = step.deposits[moment.active]!
  const id = edgeKey(deposit.from, deposit.operand)
  const wire = picture.wires.find((one) => one.id === picture.wireOf.get(id))
  const link = wire && placed.links.get(wire.id)
  if (!wire || !link) return nothing
  const card = picture.cardOf[deposit.to]!
  let { time } = moment
  if (time >= beat.land) {
    const part = within(time, beat.land, beat.settle)
    const knocking = within(time, beat.knock, beat.knocked)
    return {
      ...nothing,
      ring: part < 1 ? { card, part, tone: deposit.late ? 'wrong' : toneOf(deposit.amount) } : null,
      knock: deposit.late && knocking > 0 && knocking < 1 ? { card, by: -Math.abs(Math.sin(knocking * 9)) * 10 * (1 - knocking) } : null,
    }
  }
  const token = (kind: Token['kind'], parts: Token['parts'], at: Point, tone: Tone, scale = 1, isUnder = false): Token => ({ id: `pay ${moment.active}`, kind, parts, tone, ...at, scale, isUnder })
  const up = toneOf(step.grad)
  const middle = link.words
  if (time < beat.meet) {
    const at = leaving(placed, picture.cardOf[step.node]!, link, time)
    const carried = [{ text: signed(step.grad), tone: up }]
    const touches =
      time >= beat.leave &&
      Math.abs(at.x - middle.x) < (widthOf(signed(step.grad), 'token') + widthOf(wire.local || times(deposit.local), 'pill')) / 2 + 22 &&
      Math.abs(at.y - middle.y) < 27
    if (!touches) {
      const isUnder = time >= beat.leave && ease(within(time, beat.leave, beat.meet)) < hiding
      const scale = time < beat.leave ? 0.7 + (0.3 * time) / beat.leave : 1
      return { ...nothing, tokens: [token('carry', carried, at, up, scale, isUnder)] }
    }
    time = beat.meet
  }
  const tone = toneOf(deposit.amount)
  if (time < beat.product) {
    const factors = `${term(step.grad)} × ${term(deposit.local)}`
    return { ...nothing, tokens: [token('meet', [{ text: factors, tone: 'ink' }], middle, up)], merged: wire.id }
  }
  if (time < beat.arrive) {
    const parts: Token['parts'] = [{ text: product(step.grad, deposit.local), tone: 'ink' }, { text: signed(deposit.amount), tone }]
    return { ...nothing, tokens: [token('product', parts, middle, tone)], merged: wire.id }
  }
  const at = pointAt(link.path, link.at * (1 - ease(within(time, beat.arrive, beat.land))))
  return { ...nothing, tokens: [token('arrive', [{ text: signed(deposit.amount), tone }], at, tone)] }
}

/** The part of its way a token spends behind the card it leaves. */
const hiding = 0.3

function leaving(placed: Staged, card: string, link: { path: Parameters<typeof pointAt>[0]; at: number }, time: number): Point {
  const box = placed.boxes.get(card)!
  const start = gradPlace(card, box, placed)
  const part = ease(within(time, beat.leave, beat.meet))
  const port = pointAt(link.path, 1)
  if (part < hiding) {
    const way = part / hiding
    return { x: start.x + (port.x - start.x) * way, y: start.y + (port.y - start.y) * way }
  }
  return pointAt(link.path, 1 - (1 - link.at) * ((part - hiding) / (1 - hiding)))
}
