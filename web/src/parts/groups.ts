// SPDX-License-Identifier: MIT
// A network's graph with its layers folded into boxes: a layer opens into its neurons, a neuron into its nodes.
import type { NodeGroup, PointWalk } from '../engine/types.ts'
import type { Frame } from '../lib/replay.ts'
import { draw, type Card, type Picture, type Wire } from './picture.ts'

const layerOf = (group: NodeGroup) => (group.part === 'neuron' ? `layer ${group.layer + 1}` : group.part)
const neuronOf = (group: NodeGroup) => `${layerOf(group)}, neuron ${group.neuron + 1}`

/** The box a node is in: the outermost one that is closed; null if all around it are open. */
function boxOf(group: NodeGroup, open: ReadonlySet<string>): string | null {
  const layer = layerOf(group)
  if (!open.has(layer)) return layer
  if (group.part !== 'neuron') return null
  const neuron = neuronOf(group)
  return open.has(neuron) ? null : neuron
}

/** Inside its neuron a parameter needs no more than w.1 for a name. */
const short = (name: string) =>
  name.replace(/layers\.\d+\.neurons\.\d+\./g, '').replace(/layers\.\d+\.neurons\.\d+\b/g, 'output')

export function fold(walk: PointWalk, frame: Frame, open: ReadonlySet<string>): Picture {
  const whole = draw(walk, frame)
  const boxes = walk.groups.map((group) => boxOf(group, open))
  const place = (id: string) => boxes[Number(id)] ?? id
  const cards: Card[] = whole.cards
    .filter((card) => boxes[card.node!] === null)
    .map((card) => ({ ...card, title: short(card.title) }))
  for (const box of new Set(boxes)) if (box !== null) cards.push(boxCard(walk, whole, box, boxes))

  const wires = new Map<string, Wire>()
  for (const wire of whole.wires) {
    const [from, to] = [place(wire.from), place(wire.to)]
    if (from === to) continue
    const isPlain = from === wire.from && to === wire.to
    const id = isPlain ? wire.id : `${from}→${to}`
    const before = wires.get(id)
    const isActive = wire.state === 'active' || before?.state === 'active'
    const isPaid = wire.state === 'paid' || before?.state === 'paid'
    if (isPlain) wires.set(id, { ...wire, title: short(wire.title) })
    else
      wires.set(id, {
        ...wire,
        id,
        from,
        to,
        title: `${from} to ${to}`,
        edge: null,
        label: '',
        state: isActive ? 'active' : isPaid ? 'paid' : 'idle',
      })
  }
  return { cards, wires: [...wires.values()] }
}

function boxCard(walk: PointWalk, whole: Picture, box: string, boxes: (string | null)[]): Card {
  const inside = boxes.flatMap((one, i) => (one === box ? [i] : []))
  const neurons = new Set(inside.map((i) => walk.groups[i]!.neuron)).size
  const isNeuron = box.includes('neuron')
  // A neuron's last node is its output; of the loss it is the loss itself.
  const output = isNeuron || box === 'loss' ? whole.cards[inside.at(-1)!]! : null
  const isCurrent = inside.some((i) => whole.cards[i]!.mark === 'current')
  return {
    id: box,
    node: null,
    title: isNeuron ? box.replace(/^layer \d+, /, '') : box,
    isNamed: true,
    symbol: '⊕',
    kind: 'group',
    isRoot: box === 'loss',
    data: output?.data ?? null,
    grad: output?.grad ?? null,
    hasGrad: output !== null,
    mark: isCurrent ? 'current' : inside.some((i) => whole.cards[i]!.mark === 'paid') ? 'paid' : '',
    note:
      output?.data != null
        ? undefined
        : `${box.startsWith('layer') && !isNeuron && neurons > 1 ? `${neurons} neurons, ` : ''}${inside.length} nodes`,
  }
}
