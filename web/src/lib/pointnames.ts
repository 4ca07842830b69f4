// SPDX-License-Identifier: MIT
// The walk of a training point in the names of the network's picture: x₁, h₄, k₁ and s for neurons, and inside one of them w₁, b,
// and z for the sum. The engine names parameters as the library does, layers.0.neurons.3.w.1, and most other nodes t1, t2, ….
import type { GraphNode, NodeGroup, PointWalk } from '../engine/types.ts'
import { figureWords } from '../words/index.ts'
import { neuronName, subscript } from './netshape.ts'
import { applied, shortened } from './words.ts'

/** Neurons per layer, the inputs first. */
export function sizesOf(groups: NodeGroup[]): number[] {
  const sizes: number[] = [0]
  for (const { part, layer, neuron } of groups) {
    if (part === 'loss') continue
    const at = part === 'input' ? 0 : layer + 1
    sizes[at] = Math.max(sizes[at] ?? 0, neuron + 1)
  }
  return sizes
}

export function pictured(walk: PointWalk): PointWalk {
  const sizes = sizesOf(walk.groups)
  const shorts: string[] = []
  /** Terms of a sum, so that a long one is named by its first and its last. */
  const terms: string[][] = []
  const renamed = new Map<string, string>()
  const ownerOf = ({ part, layer, neuron }: NodeGroup) => (part === 'neuron' ? neuronName(sizes, layer + 1, neuron) : '')
  const sums = new Set(walk.nodes.flatMap((node) => (/^layers\.\d+\.neurons\.\d+$/.test(node.label) && node.operands.length === 1 ? node.operands : [])))

  const shortOf = (node: GraphNode, i: number): string => {
    const group = walk.groups[i]!
    const [, input] = /^x(\d+)$/.exec(node.label) ?? []
    const [, weight] = /\.w\.(\d+)$/.exec(node.label) ?? []
    if (node.op === 'constant') return node.name
    if (input !== undefined) return `x${subscript(Number(input))}`
    if (weight !== undefined) return `w${subscript(Number(weight) + 1)}`
    if (node.label.endsWith('.b')) return 'b'
    if (/^layers\.\d+\.neurons\.\d+$/.test(node.label)) return ownerOf(group)
    if (node.label !== '') return node.label
    if (sums.has(i)) return 'z'
    const operands = node.operands.map((one) => shorts[one]!)
    if (node.op === 'mul') return operands.join('·')
    if (node.op !== 'add') return shortened(applied(node, operands), 24)
    const all = terms[i]!
    return all.length > 2 ? `${all[0]} + … + ${all.at(-1)}` : all.join(' + ')
  }
  const nodes = walk.nodes.map((node, i): GraphNode => {
    terms[i] = node.op === 'add' && node.label === '' ? node.operands.flatMap((one) => (terms[one]!.length > 1 ? terms[one]! : [shorts[one]!])) : ['']
    shorts[i] = shortOf(node, i)
    renamed.set(node.name, shorts[i]!)
    const owner = ownerOf(walk.groups[i]!)
    const isNamed = node.label !== '' || sums.has(i)
    const name = owner === '' || owner === shorts[i] || node.op === 'constant' ? shorts[i]! : figureWords.train.within(shorts[i]!, owner)
    return { ...node, name, short: shorts[i]!, label: isNamed ? shorts[i]! : '' }
  })
  const rename = (formula: string) => formula.replace(/[A-Za-z_][\w.#]*/g, (name) => renamed.get(name) ?? name)
  for (const node of nodes) node.locals = node.locals.map((local) => ({ ...local, with_names: rename(local.with_names) }))
  return { ...walk, nodes }
}
