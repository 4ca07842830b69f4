// SPDX-License-Identifier: MIT
// A graph made elsewhere, as the engine reads it instead of an expression: one line per node (engine/listing.hpp says how). Everything
// that takes a text takes it too.
import type { Graph } from '../engine/types.ts'

const head = '# gradwalk-graph'
const leafAt = { op: 0, data: 2, name: 6 } as const

export const isListing = (text: string) => text.startsWith(head)

const word = (text: string) => text.replace(/[\t\n\r]/g, ' ')

export function toListing({ nodes }: Graph): string {
  const lines = nodes.map(({ op, symbol, data, operands, locals, label, name }) =>
    [op, word(symbol), data, operands.join(' '), locals.map((local) => local.value).join(' '), word(label), word(name)].join('\t'),
  )
  return [head, ...lines].join('\n')
}

/** With another value of a leaf: all that uses it is computed anew. null where there is no such leaf. */
export function withListedLeaf(text: string, name: string, value: number): string | null {
  const [, ...lines] = text.split('\n')
  const rows = lines.map((line) => line.split('\t'))
  const row = rows.find((one) => one[leafAt.op] === 'leaf' && one[leafAt.name] === name)
  if (!row) return null
  row[leafAt.data] = String(value)
  return [`${head} changed`, ...rows.map((one) => one.join('\t'))].join('\n')
}
