// SPDX-License-Identifier: MIT
// The work of the learner's program, as a walk that the page can draw, and the first thing that went wrong in it, by name. Gradients
// are the program's own; data, local derivatives and the right gradients are the engine's.
import type { Engine } from '../engine/engine.ts'
import type { Deposit, Outcome, Walk } from '../engine/types.ts'
import type { Step } from '../lib/replay.ts'
import { graphOf, type ProgramGraph } from './graph.ts'
import type { Trace, TraceEvent } from './python.ts'

/** Every mistake that has a name. The words for each are in words/en.write.ts. */
export const mistakes = [
  ...['overwrite', 'no-visited', 'double-visit', 'recursion', 'preorder', 'forward-order', 'order', 'no-seed', 'seed-value'],
  ...['swapped', 'missing-operand', 'pays-nobody', 'paid-again', 'zeroing', 'no-upstream', 'no-local', 'own-grad', 'data-for-grad'],
  ...['tanh-input', 'tanh-square', 'sign', 'amount', 'unvisited', 'forward-data', 'written', 'gradient'],
] as const
export type MistakeName = (typeof mistakes)[number]

export interface Finding {
  name: MistakeName
  /** The node that is wrong first, and the one whose visit made it wrong; null where no visit did. */
  node: number
  by: number | null
  /** The number that is there, and the one that should be. */
  got: number
  right: number
  /** The step of the walk; its length where only the end shows it. */
  step: number
  /** The lines of the learner's class that did it. */
  lines: number[]
}

export interface CodeWalk {
  walk: Walk
  text: string
  finding: Finding | null
  /** By step: the lines of the learner's class that it comes from. */
  lines: number[][]
}

/** Programs may add deposits up in another order than the engine. */
export const isClose = (x: number, y: number) => x === y || Math.abs(x - y) <= 1e-9 * Math.max(1, Math.abs(x), Math.abs(y)) || (Number.isNaN(x) && Number.isNaN(y))

interface Visit {
  node: number
  grad: number
  /** Operands that have been paid, by their place. */
  used: number[]
  /** Where its next deposit goes: an index of the steps; null where another step has come between. */
  step: number | null
  lines: number[]
}

export function codeWalk(engine: Engine, trace: Trace, refuse: Parameters<typeof graphOf>[3]): CodeWalk | null {
  const begin = trace.events.findIndex((event) => event.kind === 'begin')
  if (begin < 0) return null
  return new Follower(graphOf(engine, trace, trace.events[begin]!.value, refuse), trace, begin).result
}

class Follower {
  readonly #graph: ProgramGraph
  readonly #trace: Trace
  readonly #steps: Step[]
  readonly #lines: number[][] = []
  readonly #grad: number[]
  readonly #visits: number[]
  /** By node: the nodes that it is an operand of. */
  readonly #users: number[][]
  readonly #first: (number | null)[]
  readonly #order: number[] = []
  readonly #open: Visit[] = []
  #isNested = false
  #finding: Finding | null = null
  readonly result: CodeWalk

  constructor(graph: ProgramGraph, trace: Trace, begin: number) {
    this.#graph = graph
    this.#trace = trace
    const { nodes, steps, outcomes } = graph.walk
    this.#grad = nodes.map(() => 0)
    this.#visits = nodes.map(() => 0)
    this.#users = nodes.map(() => [])
    for (const [i, { operands }] of nodes.entries()) for (const operand of new Set(operands)) this.#users[operand]!.push(i)
    this.#first = nodes.map(() => null)
    this.#steps = steps.filter((step): step is Step => step.kind === 'forward')
    this.#lines = this.#steps.map(() => [])
    this.#compareData()
    const events = trace.events.slice(begin + 1)
    const end = events.findIndex((event) => event.kind === 'end')
    for (const event of end < 0 ? events : events.slice(0, end)) this.#follow(event)
    this.#nameOrder()
    this.#compareEnd()
    const found = this.#finding
    const ended = nodes.map((_, i): Outcome => ({
      visits: this.#visits[i]!,
      when_visited: this.#first[i]!,
      grad: this.#grad[i]!,
      right_grad: outcomes[i]!.grad,
      data: nodes[i]!.data,
      right_data: outcomes[i]!.data,
    }))
    const walk: Walk = {
      ...graph.walk,
      rule: 'code',
      visits: this.#order.length,
      visits_needed: String(this.#order.length),
      late: [],
      outcomes: ended,
      parting: found && { step: Math.min(found.step, this.#steps.length - 1), node: found.node, wrong: found.got, right: found.right, reason: '' },
      steps: [...this.#steps, { kind: 'end', nodes: ended.map(({ data, grad }, i) => ({ name: nodes[i]!.name, data, grad })) }],
    }
    this.result = { walk, text: graph.text, finding: found, lines: this.#lines }
  }

  get #walk(): Walk {
    return this.#graph.walk
  }
  #isConstant = (node: number) => this.#walk.nodes[node]!.op === 'constant'
  #isLeaf = (node: number) => this.#walk.nodes[node]!.operands.length === 0

  #find(name: MistakeName, node: number, by: number | null, got: number, right: number, lines: number[], step = this.#steps.length - 1) {
    this.#finding ??= { name, node, by, got, right, step, lines: [...new Set(lines)].filter((line) => line > 0) }
  }

  /** The forward pass is the program's too. */
  #compareData() {
    for (const [index, node] of this.#graph.nodeOf) {
      const { data } = this.#trace.values[index]!
      const right = this.#walk.nodes[node]!.data
      if (!isClose(data, right)) return this.#find('forward-data', node, null, data, right, [], this.#steps.findIndex((step) => step.node === node))
    }
  }

  #push(step: Step, lines: number[]) {
    this.#steps.push(step)
    this.#lines.push(lines)
  }

  #follow(event: TraceEvent) {
    const node = this.#graph.nodeOf.get(event.value)
    const line = event.file === 'value.py' ? event.line : 0
    if (node === undefined || this.#isConstant(node)) {
      if (event.kind === 'write') this.#countConstant(node)
      return
    }
    if (event.kind === 'visit') this.#enter(node, line)
    else if (event.kind === 'leave') this.#leave(node)
    else if (event.kind === 'write') this.#write(node, event, line)
  }

  /** A deposit on a constant is not drawn, but that operand has been paid. */
  #countConstant(node: number | undefined) {
    const visit = this.#open.at(-1)
    if (!visit || node === undefined) return
    const { operands } = this.#walk.nodes[visit.node]!
    const k = operands.findIndex((operand, i) => operand === node && !visit.used.includes(i))
    if (k >= 0) visit.used.push(k)
  }

  #enter(node: number, line: number) {
    const { root } = this.#walk
    const grad = this.#grad[node]!
    if (this.#order.length === 0 && this.#open.length === 0) {
      const seeded = this.#grad[root]!
      if (seeded === 0) this.#find('no-seed', root, null, 0, 1, [])
      else if (!isClose(seeded, 1)) this.#find('seed-value', root, null, seeded, 1, this.#lines.at(-1) ?? [])
    }
    if (this.#open.length) this.#isNested = true
    const users = this.#users[node]!
    this.#push({ kind: 'visit', pass: 1, node, grad, deposits: [] }, line ? [line] : [])
    // Its name is known when all visits are.
    if (!this.#isLeaf(node) && (this.#visits[node]! > 0 || users.some((user) => this.#visits[user] === 0 || this.#open.some((visit) => visit.node === user))))
      this.#find('order', node, null, grad, this.#walk.outcomes[node]!.grad, line ? [line] : [])
    this.#visits[node]! += 1
    this.#first[node] ??= grad
    this.#order.push(node)
    this.#open.push({ node, grad, used: [], step: this.#steps.length - 1, lines: [] })
  }

  #leave(node: number) {
    const visit = this.#open.pop()
    if (!visit || visit.node !== node) return
    const { operands, locals } = this.#walk.nodes[node]!
    const unpaid = operands.findIndex((operand, k) => !visit.used.includes(k) && !this.#isConstant(operand) && !isClose(visit.grad * locals[k]!.value, 0))
    if (unpaid >= 0) {
      const isAnyone = visit.used.length > 0
      this.#find(isAnyone ? 'missing-operand' : 'pays-nobody', operands[unpaid]!, node, 0, visit.grad * locals[unpaid]!.value, visit.lines)
    }
    const outer = this.#open.at(-1)
    if (outer) outer.step = null
  }

  #write(node: number, { before, after, hasRead }: TraceEvent, line: number) {
    const visit = this.#open.at(-1)
    const { operands, locals } = this.#walk.nodes[visit?.node ?? node]!
    if (!visit || !operands.includes(node)) {
      this.#set(node, before, after, line, visit?.node ?? null)
      return
    }
    const places = operands.flatMap((operand, k) => (operand === node ? [k] : []))
    const free = places.find((k) => !visit.used.includes(k))
    const k = free ?? places.at(-1)!
    if (after === 0 && before !== 0 && !hasRead) return this.#set(node, before, after, line, visit.node)
    const local = locals[k]!.value
    // Nobody sets itself to zero on purpose, but 0 is also what a deposit of 0 leaves.
    if (after === 0 && before === 0 && !hasRead && !isClose(visit.grad * local, 0)) return
    visit.used.push(k)
    if (line) visit.lines.push(line)
    const isReplacing = !hasRead && before !== 0
    const right = visit.grad * local
    const raw = hasRead ? after - before : after
    const amount = isClose(raw, right) ? right : raw
    const late = this.#visits[node]! > 0 && !this.#isLeaf(node)
    const formula = locals[k]!.formula
    const deposit: Deposit = { from: visit.node, to: node, operand: k, formula, local, amount, before, after, late, replaces: !hasRead, line }
    if (visit.step === null) {
      this.#push({ kind: 'deposit', pass: 1, node: visit.node, grad: visit.grad, deposits: [] }, [])
      visit.step = this.#steps.length - 1
    }
    const step = this.#steps[visit.step]!
    if ('deposits' in step) step.deposits.push(deposit)
    if (line) this.#lines[visit.step]!.push(line)
    this.#grad[node] = after
    const lines = line ? [line] : []
    if (isReplacing) this.#find('overwrite', node, visit.node, after, before + right, lines)
    else if (free === undefined) this.#find('paid-again', node, visit.node, after, before, lines)
    else if (!isClose(amount, right)) this.#find(this.#nameAmount(visit, k, amount, before), node, visit.node, amount, right, lines)
  }

  #set(node: number, before: number, after: number, line: number, by: number | null) {
    const lines = line ? [line] : []
    const isSeed = node === this.#walk.root && by === null && this.#order.length === 0 && after !== 0
    if (before === after) return
    this.#push(isSeed ? { kind: 'seed', pass: 1, node, before, after } : { kind: 'set', pass: 1, node, before, after }, lines)
    this.#grad[node] = after
    const visit = this.#open.at(-1)
    if (visit) visit.step = null
    if (isSeed) return
    this.#find(after === 0 ? 'zeroing' : 'written', node, by, after, before, lines)
  }

  #nameAmount(visit: Visit, k: number, amount: number, before: number): MistakeName {
    const { nodes } = this.#walk
    const { op, operands, locals, data } = nodes[visit.node]!
    const own = nodes[operands[k]!]!.data
    const local = locals[k]!.value
    const { grad } = visit
    if (op === 'mul' && isClose(amount, grad * own)) return 'swapped'
    if (op === 'tanh' && isClose(amount, grad * (1 - own * own))) return 'tanh-input'
    if (op === 'tanh' && (isClose(amount, grad * (1 - data)) || isClose(amount, grad * data * data))) return 'tanh-square'
    if (isClose(amount, -grad * local)) return 'sign'
    if (isClose(amount, local)) return 'no-upstream'
    if (isClose(amount, grad)) return 'no-local'
    if (isClose(amount, before * local)) return 'own-grad'
    if (isClose(amount, data * local)) return 'data-for-grad'
    return 'amount'
  }

  /** A visit came too early, or again: which mistake it was follows from all visits. */
  #nameOrder() {
    const found = this.#finding
    if (found?.name !== 'order') return
    if (this.#isNested) found.name = 'recursion'
    else if (this.#visits.some((n, i) => n > 1 && !this.#isLeaf(i))) found.name = this.#isByPaths() ? 'no-visited' : 'double-visit'
    else if (this.#order[0] === this.#walk.root) found.name = 'preorder'
    else if (this.#order.at(-1) === this.#walk.root) found.name = 'forward-order'
  }

  /** Whether every operation was visited once for every path to it, as by a search that forgets where it has been. */
  #isByPaths(): boolean {
    const { nodes, root } = this.#walk
    const count = (unique: boolean) => {
      const paths = nodes.map((_, i) => (i === root ? 1 : 0))
      for (let i = root; i >= 0; i--) for (const operand of unique ? new Set(nodes[i]!.operands) : nodes[i]!.operands) paths[operand]! += paths[i]!
      return paths
    }
    return [true, false].some((unique) => count(unique).every((n, i) => this.#isLeaf(i) || n === this.#visits[i]))
  }

  #compareEnd() {
    const { nodes, outcomes } = this.#walk
    const end = this.#steps.length
    const left = nodes.findIndex((_, i) => !this.#isLeaf(i) && this.#visits[i] === 0)
    for (let i = nodes.length - 1; i >= 0; i--) {
      if (this.#isConstant(i) || isClose(this.#grad[i]!, outcomes[i]!.grad)) continue
      if (this.#order.length === 0 && this.#grad[this.#walk.root] === 0) this.#find('no-seed', this.#walk.root, null, 0, 1, [], end)
      if (left >= 0) this.#find('unvisited', left, null, this.#grad[left]!, outcomes[left]!.grad, [], end)
      this.#find('gradient', i, null, this.#grad[i]!, outcomes[i]!.grad, [], end)
    }
  }
}
