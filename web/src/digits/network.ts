// SPDX-License-Identifier: MIT
// The network of digits in WebAssembly (web/engine/digits.hpp) behind typed functions. Nothing is computed here.
import { Instance } from '../engine/engine.ts'
import { classCount, hiddenCount, type DigitsReport, type NeuronPlace, type OpenDigitNeuron, type Reading } from './types.ts'

export class DigitsNetwork {
  readonly #instance: Instance
  readonly #file: Uint8Array
  #seed = 1

  /** `file`: digits.bin, uncompressed. */
  constructor(module: WebAssembly.Module, file: Uint8Array) {
    this.#instance = new Instance(module)
    this.#file = file
  }

  /** Starts over, with other weights for another seed. */
  begin(seed: number): DigitsReport {
    this.#seed = seed
    return this.#instance.json('gradwalk_digits_begin', this.#file, seed)
  }
  /** After an error the network starts over. */
  #ready(): Instance {
    if (this.#instance.isFresh) this.begin(this.#seed)
    return this.#instance
  }
  step(count: number): DigitsReport {
    return this.#ready().json('gradwalk_digits_step', count)
  }
  /** Which digit the network sees in each held-out picture, and which one it is. */
  check(): { seen: Float64Array; labels: Float64Array } {
    const numbers = this.#ready().numbers('gradwalk_digits_check')
    return { seen: numbers.slice(0, numbers.length / 2), labels: numbers.slice(numbers.length / 2) }
  }
  /** Neuron by neuron, its weights and then its bias. */
  weights(): Float64Array {
    return this.#ready().numbers('gradwalk_digits_weights')
  }
  held(index: number): { pixels: Float64Array; label: number } {
    const numbers = this.#ready().numbers('gradwalk_digit_held', index)
    return { pixels: numbers.slice(0, -1), label: numbers.at(-1)! }
  }
  read(pixels: Float64Array, asked: number | null): Reading {
    const numbers = this.#ready().numbers('gradwalk_digit_scores', pixels)
    const [scoresAt, chancesAt] = [hiddenCount, hiddenCount + classCount]
    const back = asked === null ? null : this.#ready().numbers('gradwalk_digit_why', pixels, asked)
    return {
      pixels,
      hidden: numbers.slice(0, scoresAt),
      scores: numbers.slice(scoresAt, chancesAt),
      probabilities: numbers.slice(chancesAt),
      why: back && { asked: asked!, hidden: back.slice(0, hiddenCount), pixels: back.slice(hiddenCount) },
    }
  }
  neuron(pixels: Float64Array, asked: number, { layer, neuron }: NeuronPlace): OpenDigitNeuron {
    return this.#ready().json('gradwalk_digit_neuron', pixels, asked, layer, neuron)
  }
}
