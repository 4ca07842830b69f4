// SPDX-License-Identifier: MIT
// Exercises without end: fresh graphs, level by level. The texts are made here; every number is the engine's, and a graph whose numbers
// cannot be worked out in one's head is not asked.
import type { Engine } from '../engine/engine.ts'
import type { Quiz, WalkRule } from '../engine/types.ts'
import { randomNumbers } from '../lib/random.ts'

export interface Exercise extends Quiz {
  /** 'gradient': its number is asked for. 'spot': a wrong number is given, and the mistake that makes it is asked for. */
  kind: 'gradient' | 'spot'
  /** Of 'spot': the rule that was broken, and what the node got. */
  rule?: WalkRule
  wrong?: number
}

interface Plan {
  kind?: 'spot'
  operations: readonly [least: number, most: number]
  /** From the root to the node that is asked for. */
  paths: readonly [least: number, most: number]
  hasConstants?: boolean
  /** Squares, halves and relu, at least one of them. */
  hasOthers?: boolean
}
const plans: readonly Plan[] = [
  { operations: [2, 2], paths: [1, 1] },
  { operations: [3, 4], paths: [1, 1], hasConstants: true },
  { operations: [2, 3], paths: [2, 2], hasConstants: true },
  { kind: 'spot', operations: [2, 4], paths: [2, 6], hasConstants: true },
  { operations: [4, 5], paths: [3, 6], hasConstants: true },
  { operations: [3, 4], paths: [2, 6], hasConstants: true, hasOthers: true },
  { operations: [5, 6], paths: [4, 12], hasConstants: true, hasOthers: true },
  { operations: [7, 8], paths: [6, 40], hasConstants: true, hasOthers: true },
]
export const lastLevel = plans.length
export const kindOf = (level: number): Exercise['kind'] => plans[level - 1]!.kind ?? 'gradient'

const names = 'abcdefghijklm'

function randomText(random: () => number, { operations, paths, hasConstants, hasOthers }: Plan): string {
  const below = (n: number) => Math.floor(random() * n)
  const pick = <One>(list: readonly One[]) => list[below(list.length)]!
  const isTree = paths[1] === 1
  const count = operations[0] + below(operations[1] - operations[0] + 1)
  const leaves = isTree ? (hasConstants ? 2 + below(count - 1) : count + 1) : 1 + below(Math.min(3, count))
  const lines: string[] = []
  /** In a tree, what nobody has used yet. */
  const free: string[] = []
  const isOther = hasOthers ? below(count) : -1
  for (let i = 0; i < leaves + count; i++) {
    const name = names[i]!
    const at = i - leaves
    let made: string
    if (at < 0) made = `${below(3) === 0 ? '-' : ''}${1 + below(5)}`
    else {
      const newest = at === 0 ? names[below(leaves)]! : names[i - 1]!
      const take = () => free.splice(below(free.length), 1)[0]!
      const constant = () => String(1 + below(3))
      // A tree has to end with everything used: it takes a constant only while it can spare a name.
      const spare = isTree && free.length - 1 < count - at
      const x = isTree ? (at === 0 ? take() : free.splice(free.indexOf(newest), 1)[0]!) : newest
      const y = isTree ? (free.length === 0 || (spare && hasConstants && below(3) === 0) ? constant() : take()) : hasConstants && below(4) === 0 ? constant() : names[below(i)]!
      const [left, right] = below(2) === 0 ? [x, y] : [y, x]
      made = at === isOther || (hasOthers && below(5) === 0) ? pick([`${x}**2`, `${x}/2`, `relu(${x})`]) : `${left} ${pick(['+', '+', '*', '*', '*', ...(hasConstants ? ['-'] : [])])} ${right}`
    }
    free.push(name)
    lines.push(`${name} = ${made}`)
  }
  return lines.join('; ')
}

/** Halves and quarters of numbers of two digits can be worked out in one's head. */
const isShort = (value: number, most: number) => Number.isInteger(4 * value) && Math.abs(value) <= most

/** An expression and one of its nodes as an exercise, or what a broken rule gives there; null where there is nothing to ask for. */
export function exerciseOf(engine: Engine, expression: string, ask: string, rule?: WalkRule): Exercise | null {
  const parsed = engine.parse(expression)
  if (!parsed.ok) return null
  const node = parsed.names.find(([name]) => name === ask)?.[1]
  if (node === undefined || parsed.nodes[node]!.op === 'constant') return null
  const question = engine.check(expression, ask)
  if (rule === undefined || rule === 'right') return { ...question, expression, kind: 'gradient' }
  const mistake = question.mistakes.find((one) => one.rule === rule)
  return mistake ? { ...question, expression, kind: 'spot', rule, wrong: mistake.value } : null
}

function tryExercise(engine: Engine, random: () => number, plan: Plan): Exercise | null {
  const expression = randomText(random, plan)
  const parsed = engine.parse(expression)
  if (!parsed.ok) return null
  const named = expression.split('; ').map((line) => line[0]!)
  const used = new Set(parsed.names.map(([name]) => name))
  if (named.some((name) => !used.has(name)) || parsed.nodes.some(({ data }) => !isShort(data, 100))) return null
  const asked = named.slice(0, -1)
  const ask = asked[Math.floor(random() * Math.min(asked.length, 4))]!
  const exercise = exerciseOf(engine, expression, ask)
  if (!exercise || exercise.answer === 0 || !isShort(exercise.answer, 200)) return null
  const paths = Number(engine.explain(expression, [], exercise.node, 1).path_count)
  if (paths < plan.paths[0] || paths > plan.paths[1]) return null
  if (plan.kind !== 'spot') return exercise
  const { mistakes } = exercise
  const alone = mistakes.filter((one) => mistakes.filter((other) => other.value === one.value).length === 1 && isShort(one.value, 200))
  if (alone.length === 0) return null
  const { rule } = alone[Math.floor(random() * alone.length)]!
  return exerciseOf(engine, expression, ask, rule)
}

const mostTries = 3000

/** The same exercise for the same level and number. */
export function freshExercise(engine: Engine, level: number, number: number): Exercise {
  const random = randomNumbers(1009 * number + level)
  for (let i = 0; i < mostTries; i++) {
    const exercise = tryExercise(engine, random, plans[level - 1]!)
    if (exercise) return exercise
  }
  throw new Error(`practice: needs an exercise of level ${level}, found none in ${mostTries} tries`)
}
