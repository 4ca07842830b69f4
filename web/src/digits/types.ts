// SPDX-License-Identifier: MIT
// The messages between the page and the worker of the digits.
import type { Inside } from '../lib/inside.ts'

export const side = 28
export const pixelCount = side * side
export const hiddenCount = 32
export const classCount = 10
/** Training ends by itself after this number of steps. */
export const mostSteps = 2000

export interface DigitsReport {
  step: number
  /** The mean loss of the last batch. */
  loss: number
  /** How many digits there are to train on, and how many are held out. */
  digits: number
  held: number
}

/** One digit in the network. */
export interface Reading {
  pixels: Float64Array
  hidden: Float64Array
  scores: Float64Array
  probabilities: Float64Array
  /** The gradient of the score that was asked for. */
  why: { asked: number; hidden: Float64Array; pixels: Float64Array } | null
}

/** A neuron with more inputs than fit: the largest products, and the sum of the others. */
export interface OpenDigitNeuron extends Inside {
  /** Which input each row is. */
  inputs: number[]
  others: { count: number; product: number }
}

export type NeuronPlace = { layer: 0 | 1; neuron: number }

export type DigitsRequest =
  | { type: 'init'; module: WebAssembly.Module; file: Uint8Array }
  | { type: 'start' | 'pause' | 'reset' }
  /** `asked`: the digit whose score is the root of the backward pass; null for none. */
  | { type: 'read'; pixels: Float64Array | null; asked: number | null }
  | { type: 'neuron'; place: NeuronPlace; asked: number }
  /** A held-out picture: the next one, or the next that is read wrong. */
  | { type: 'held'; isWrong: boolean }

export type DigitsResponse =
  | { type: 'state'; report: DigitsReport; running: boolean; /** The share of held-out digits, from 0 to 1. */ right: number; weights: Float32Array }
  | { type: 'reading'; reading: Reading }
  | { type: 'neuron'; place: NeuronPlace; inside: OpenDigitNeuron }
  | { type: 'held'; pixels: Float64Array; label: number; index: number }
  | { type: 'error'; message: string }
