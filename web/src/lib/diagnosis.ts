// SPDX-License-Identifier: MIT
// What a wrong answer to "what is the gradient of this node?" comes from, in words. The engine's numbers are compared with it, and nothing
// of what is compared is shown.
import type { Engine } from '../engine/engine.ts'
import type { Quiz, Walk } from '../engine/types.ts'
import { rules } from '../lesson/rules.ts'
import { figureWords, words } from '../words/index.ts'
import { close, plain, times } from './number.ts'
import { shownName } from './words.ts'

const mostPaths = 50

/** One path of several, what a broken rule gives, the wrong sign, another number of the graph, a path with a mistake; else how to go on. */
export function diagnose(engine: Engine, question: Quiz, walk: Walk, value: number): string {
  const say = figureWords.quiz
  const { path_count, paths } = engine.explain(question.expression, [], question.node, mostPaths)
  const nameOf = (node: number) => shownName(walk.nodes[node]!.name)
  const wayOf = (nodes: number[]) => nodes.map(nameOf).join(' → ')
  const count = say.counts[path_count] ?? path_count
  const names = [nameOf(walk.root), nameOf(question.node)] as const
  const path = paths.find((one) => close(value, one.product))
  if (path_count !== '1' && path) return say.onePath(count, ...names, wayOf(path.nodes), plain(path.product), path_count === '2')
  const mistake = question.mistakes.find((one) => close(value, one.value))
  if (mistake) return rules[mistake.rule].diagnosis
  if (close(-value, question.answer)) return words.hand.sign
  const [only] = paths
  if (path_count !== '1' || !only) return otherNumber(walk, question, value, nameOf) ?? say.notYetMany(count, ...names)
  const { locals, nodes } = only
  const without = locals.findIndex((local, k) => local !== 1 && close(value, locals.reduce((all, one, i) => (i === k ? all : all * one), 1)))
  if (locals.length > 1 && without >= 0) return say.missing(times(locals[without]!), nameOf(nodes[without]!), nameOf(nodes[without + 1]!))
  if (locals.length > 1 && close(value, locals.reduce((all, one) => all + one, 0))) return say.added
  return otherNumber(walk, question, value, nameOf) ?? say.notYet(wayOf(nodes))
}

function otherNumber(walk: Walk, question: Quiz, value: number, nameOf: (node: number) => string): string | null {
  const say = figureWords.quiz
  const isOther = (i: number) => i !== question.node && i !== walk.root && walk.nodes[i]!.op !== 'constant'
  if (close(value, walk.nodes[question.node]!.data)) return say.isData(nameOf(question.node))
  const other = walk.outcomes.findIndex(({ grad }, i) => isOther(i) && close(value, grad))
  return other < 0 ? null : say.isOther(nameOf(other))
}
