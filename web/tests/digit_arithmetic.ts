// SPDX-License-Identifier: MIT
// The network of digits in plain arithmetic, for tests: what the engine's numbers are compared with.
import { classCount, hiddenCount, pixelCount } from '../src/digits/types.ts'

/** `weights`: neuron by neuron, its weights and then its bias. */
export function arithmetic(weights: ArrayLike<number>, pixels: ArrayLike<number>) {
  const layer = (from: number, x: ArrayLike<number>, inputs: number, outputs: number) =>
    Array.from({ length: outputs }, (_, k) => {
      const at = from + k * (inputs + 1)
      let sum = weights[at + inputs]!
      for (let i = 0; i < inputs; i++) sum += weights[at + i]! * x[i]!
      return sum
    })
  const hidden = layer(0, pixels, pixelCount, hiddenCount).map(Math.tanh)
  const scores = layer(hiddenCount * (pixelCount + 1), hidden, hiddenCount, classCount)
  const shares = scores.map(Math.exp)
  const all = shares.reduce((sum, one) => sum + one, 0)
  return { hidden, scores, probabilities: shares.map((one) => one / all) }
}
