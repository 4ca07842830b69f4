// SPDX-License-Identifier: MIT
// The engine as the npm package offers it: `import { createEngine } from 'grad-walk/engine'`. In browsers, the module is fetched from
// the folder of this file; in Node.js, package_node.ts reads it.
import { createEngine as createFrom, EngineError, type Engine, type EngineSource, type Training } from './engine.ts'

export * from './types.ts'
export { EngineError, type Engine, type EngineSource, type Training }

/** The value of an expression, and what each of its names has: data and gradient. */
export interface Evaluation {
  value: number
  data: Record<string, number>
  gradients: Record<string, number>
}

export interface PackagedEngine extends Engine {
  /**
   * Evaluates assignments and formulas such as `a=2; b=-3; a*b`, then runs the backward pass from the last one. `values` replaces the
   * numbers of leaves by name. Throws an EngineError if the text cannot be read, or if a name is no leaf of it.
   */
  evaluate(text: string, values?: Readonly<Record<string, number>>): Evaluation
}

/** Starts the engine. Without a source, it loads gradwalk.wasm from the folder of this file. */
export async function createEngine(source: EngineSource = new URL('gradwalk.wasm', import.meta.url)): Promise<PackagedEngine> {
  const engine = await createFrom(source)
  return { ...engine, evaluate: (text, values = {}) => evaluate(engine, text, values) }
}

function evaluate(engine: Engine, text: string, values: Readonly<Record<string, number>>): Evaluation {
  const parsed = engine.parse(text)
  if (!parsed.ok) throw new EngineError(parsed.message)
  const nodes = new Map(parsed.names)
  const overrides = Object.entries(values).map(([name, value]) => {
    const node = nodes.get(name)
    if (node === undefined || parsed.nodes[node]!.op !== 'leaf') throw new EngineError(`evaluate: needs the names of leaves, got ${name}; assign a number to it in the expression`)
    return [node, value] as const
  })
  const { outcomes, root } = engine.walk(text, { overrides })
  const named = (field: 'data' | 'grad') => Object.fromEntries(parsed.names.map(([name, node]) => [name, outcomes[node]![field]]))
  return { value: outcomes[root]!.data, data: named('data'), gradients: named('grad') }
}
