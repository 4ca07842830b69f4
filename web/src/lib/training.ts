// SPDX-License-Identifier: MIT
// A training's settings, and how they stand in a link: kind~layers~activation~seed~rate, then points of one's own as
// x:y:label,…
import type { Activation, DataKind, Points, TrainingOptions } from '../engine/types.ts'

export const layerChoices: Record<string, number[]> = { none: [], '4': [4], '8': [8], '4, 4': [4, 4], '8, 8': [8, 8], '16, 16': [16, 16] }
export const rates = [0.01, 0.03, 0.1, 0.3, 0.5, 1, 2]
export const activations: Activation[] = ['tanh', 'relu', 'sigmoid', 'linear']

export interface Settings {
  kind: DataKind
  layers: string
  activation: Activation
  seed: number
  /** Index into `rates`. */
  rate: number
  /** The learner's own. */
  points?: Points
}

export const begin: Record<DataKind, Settings> = {
  neuron: { kind: 'neuron', layers: 'none', activation: 'tanh', seed: 5, rate: 2 },
  moons: { kind: 'moons', layers: '4, 4', activation: 'tanh', seed: 12, rate: 4 },
  spiral: { kind: 'spiral', layers: '16, 16', activation: 'tanh', seed: 1, rate: 4 },
}

export const optionsOf = ({ kind, layers, activation, seed, rate }: Settings): TrainingOptions => ({
  kind,
  samples: kind === 'spiral' ? 150 : 100,
  noise: { neuron: 0.7, moons: 0.1, spiral: 0.05 }[kind],
  seed: Number.isInteger(seed) && seed >= 0 ? seed : 1,
  hidden: layerChoices[layers]!,
  rate: rates[rate]!,
  activation,
})

export function format({ kind, layers, activation, seed, rate, points }: Settings): string {
  const list = points ? Array.from(points.x, (x, i) => `${x.toFixed(2)}:${points.y[i]!.toFixed(2)}:${points.label[i]}`).join(',') : ''
  return [kind, layers.replaceAll(', ', '-'), activation, seed, rates[rate], ...(list ? [list] : [])].join('~')
}

/** null where it means nothing. */
export function parse(text: string): Settings | null {
  const [kind = '', layers = '', activation = '', seed = '', rate = '', list] = text.split('~')
  if (!(kind in begin)) return null
  const shape = layers.replaceAll('-', ', ')
  const speed = rates.indexOf(Number(rate))
  if (!(shape in layerChoices) || !activations.includes(activation as Activation) || !/^\d{1,4}$/.test(seed) || speed < 0) return null
  const settings: Settings = { kind: kind as DataKind, layers: shape, activation: activation as Activation, seed: Number(seed), rate: speed }
  if (list === undefined) return settings
  const rows = list.split(',').map((one) => one.split(':').map(Number))
  const most = kind === 'spiral' ? 2 : 1
  const isGood = (row: number[]) => row.length === 3 && row.every(Number.isFinite) && Number.isInteger(row[2]) && row[2]! >= 0 && row[2]! <= most
  if (rows.length > 1000 || !rows.every(isGood)) return null
  return {
    ...settings,
    points: { x: Float64Array.from(rows, (row) => row[0]!), y: Float64Array.from(rows, (row) => row[1]!), label: Uint8Array.from(rows, (row) => row[2]!) },
  }
}
