// SPDX-License-Identifier: MIT
// Random programs to grade a Value class on: sums, products and tanh of a few leaves, with nodes used more than once.
import { randomNumbers } from '../lib/random.ts'

/** The later, the larger: from 2 operations up to 12. */
export function randomProgram(seed: number): string {
  const random = randomNumbers(seed * 7919 + 1)
  const below = (n: number) => Math.floor(random() * n)
  const names = ['a', 'b', 'c'].slice(0, 1 + below(3))
  const lines = names.map((name) => `${name} = Value(${((1 + below(5)) / 2) * (random() < 0.4 ? -1 : 1)})`)
  const operations = 2 + Math.min(10, Math.floor(seed / 4) + below(3))
  // The newest name is always used, so the last one depends on all of them.
  for (let i = 0; i < operations; i++) {
    const newest = names.at(-1)!
    const other = names[below(names.length)]!
    const name = `n${i + 1}`
    const form = below(8)
    lines.push(`${name} = ${form < 3 ? `${newest} + ${other}` : form < 6 ? `${newest} * ${other}` : form === 6 ? `${newest} * ${other} + ${other}` : `${newest}.tanh()`}`)
    names.push(name)
  }
  return [...lines, `${names.at(-1)!}.backward()`].join('\n')
}

export const gradedGraphs = 40
