// SPDX-License-Identifier: MIT
// The graphs of the lesson. The text is all there is: every number shown comes from the engine.
import { words } from '../words/index.ts'

export interface Preset {
  id: string
  title: string
  text: string
}

const texts: Record<keyof typeof words.presets, string> = {
  'sum-times': 'a=2; b=-3; c=10; e=a+b; f=e*c',
  neuron: 'x1=2; x2=0; w1=-3; w2=1; b=6.8813735870195432; n=x1*w1+x2*w2+b; o=tanh(n)',
  square: 'a=3; f=a*a',
  double: 'a=3; f=a+a',
  'product-of-both': 'a=-2; b=3; d=a*b; e=a+b; f=d*e',
  shared: 'a=2; b=3; c=a*b; d=c+a; e=d**2',
  diamond: 'a=2; b=a+1; c=3*a; d=b*c',
  'deep-diamond': 'x=2; a=x*x; b=a+1; c=3*a; d=b*c',
}

export const presets: Preset[] = Object.entries(texts).map(([id, text]) => ({ id, title: words.presets[id as keyof typeof texts], text }))

export function preset(id: string): Preset {
  const found = presets.find((one) => one.id === id)
  if (!found) throw new Error(`preset: needs one of ${presets.map((one) => one.id).join(', ')}, got ${id}`)
  return found
}
