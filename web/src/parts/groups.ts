// SPDX-License-Identifier: MIT
// A graph with parts of it folded into boxes. A network folds into layers, a layer opens into its neurons, a neuron into its
// nodes; an expression of one's own folds into its names, each with all that it alone is made of.
import type { Graph, NodeGroup, PointWalk } from '../engine/types.ts'
import { neuronName } from '../lib/netshape.ts'
import { sizesOf } from '../lib/pointnames.ts'
import type { Frame } from '../lib/replay.ts'
import { words } from '../words/index.ts'
import { draw, type Card, type Picture, type Wire } from './picture.ts'
import type { Extent } from './sizes.ts'

// Boxes by name: "layer 1", "layer 1, neuron 2", "input", "loss", and "#7", what node 7 names. None of this is shown.
const layerOf = (group: NodeGroup) => (group.part === 'neuron' ? `layer ${group.layer + 1}` : group.part)
const neuronOf = (group: NodeGroup) => `${layerOf(group)}, neuron ${group.neuron + 1}`

/** A network's box in words; a neuron has the name it has in the picture. */
export function boxTitle(box: string, graph: Graph): string {
  const say = words.box
  const [layer, neuron] = (box.match(/\d+/g) ?? []).map(Number)
  if (layer === undefined) return box === 'loss' ? say.loss : say.input
  if (neuron === undefined) return say.layer(String(layer))
  return neuronName(sizesOf((graph as PointWalk).groups), layer, neuron - 1)
}

/** The box a node is in: the outermost one that is closed; null if all around it are open. */
function boxOf(group: NodeGroup, open: ReadonlySet<string>): string | null {
  const layer = layerOf(group)
  if (!open.has(layer)) return layer
  if (group.part !== 'neuron') return null
  const neuron = neuronOf(group)
  return open.has(neuron) ? null : neuron
}

export const networkBoxes = (walk: PointWalk, open: ReadonlySet<string>) => walk.groups.map((group) => boxOf(group, open))

/** A node without a name belongs to the named one it was made for. Boxes of one node are none. */
export function nameBoxes(graph: Graph): (string | null)[] {
  const owner = graph.nodes.map((_, i) => i)
  for (let i = graph.nodes.length - 1; i >= 0; i--)
    for (const operand of graph.nodes[i]!.operands) {
      const node = graph.nodes[operand]!
      if (node.label === '' && node.op !== 'leaf') owner[operand] = owner[i]!
    }
  const sizes = new Map<number, number>()
  for (const [i, one] of owner.entries()) if (graph.nodes[i]!.op !== 'constant') sizes.set(one, (sizes.get(one) ?? 0) + 1)
  return owner.map((one) => ((sizes.get(one) ?? 0) > 1 ? `#${one}` : null))
}

export function fold(graph: Graph, frame: Frame, boxes: (string | null)[], hasConstants = false): Picture {
  const whole = draw(graph, frame, { hasConstants })
  const place = (id: string) => boxes[Number(id)] ?? id
  const cards: Card[] = whole.cards.filter((card) => boxes[card.node!] === null)
  for (const box of new Set(boxes)) if (box !== null) cards.push(boxCard(graph, frame, box, boxes))

  const shownBox = (id: string) => (/^\d+$/.test(id) ? graph.nodes[Number(id)]!.name : id.startsWith('#') ? graph.nodes[Number(id.slice(1))]!.name : boxTitle(id, graph))
  const wires = new Map<string, Wire>()
  const wireOf = new Map<string, string>()
  for (const wire of whole.wires) {
    const [from, to] = [place(wire.from), place(wire.to)]
    if (from === to) continue
    const isPlain = from === wire.from && to === wire.to
    const id = isPlain ? wire.id : `${from}→${to}`
    wireOf.set(wire.id, id)
    const before = wires.get(id)
    if (isPlain) wires.set(id, wire)
    else
      wires.set(id, {
        ...wire,
        ...{ id, from, to, title: words.card.between(shownBox(from), shownBox(to)), edge: null, local: '', source: '' },
        paid: wire.paid ?? before?.paid ?? null,
        isActive: wire.isActive || before?.isActive === true,
        late: wire.late || before?.late === true,
        equation: wire.equation ?? before?.equation ?? null,
      })
  }
  return { cards, wires: [...wires.values()], wireOf, cardOf: graph.nodes.map((_, i) => place(String(i))) }
}

function boxCard(graph: Graph, frame: Frame, box: string, boxes: (string | null)[]): Card {
  const inside = boxes.flatMap((one, i) => (one === box && graph.nodes[i]!.op !== 'constant' ? [i] : []))
  const isNeuron = box.includes('neuron')
  const isName = box.startsWith('#')
  // A neuron's last node is its output; of the loss it is the loss itself, of a name what it names.
  const output = isNeuron || isName || box === 'loss' ? inside.at(-1)! : null
  const isCurrent = frame.step !== null && inside.includes(frame.step.node)
  const neurons = isNeuron || isName ? 0 : new Set((graph as PointWalk).groups?.filter((_, i) => boxes[i] === box).map((group) => group.neuron)).size
  const count = words.box.nodes(inside.length)
  const title = isName ? graph.nodes[output!]!.name : boxTitle(box, graph)
  return {
    id: box,
    node: null,
    title,
    name: title,
    formula: '',
    kind: 'group',
    isRoot: inside.includes(graph.root),
    data: output === null ? null : frame.data[output]!,
    grad: output === null ? null : frame.grad[output]!,
    hasGrad: output !== null,
    coins: [],
    door: null,
    isLate: false,
    mark: isCurrent ? 'current' : '',
    note: box.startsWith('layer') && neurons > 1 ? words.box.neurons(neurons) + count : count,
  }
}

/** Sizes for a folded drawing: a box shows the numbers of its last node. */
export function foldedExtent(graph: Graph, extent: Extent, boxes: (string | null)[]): Extent {
  const cards = new Map(extent.cards)
  const products = new Map(extent.products)
  for (const [i, box] of boxes.entries()) if (box !== null) cards.set(box, { ...extent.cards.get(String(i))!, coins: 0, door: 0 })
  const place = (i: number) => boxes[i] ?? String(i)
  for (const [from, node] of graph.nodes.entries())
    for (const [k, operand] of node.operands.entries()) {
      const id = `${place(operand)}→${place(from)}`
      products.set(id, Math.max(products.get(id) ?? 0, extent.products.get(`${from}:${k}`) ?? 0))
    }
  return { ...extent, cards, products }
}
