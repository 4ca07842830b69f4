// SPDX-License-Identifier: MIT
// The graphs of the lesson. The text is all there is: every number shown comes from the engine.

export interface Preset {
  id: string
  title: string
  text: string
}

export const presets: Preset[] = [
  { id: 'sum-times', title: '(a + b) · c', text: 'a=2; b=-3; c=10; e=a+b; f=e*c' },
  {
    id: 'neuron',
    title: 'a neuron: tanh(x1·w1 + x2·w2 + b)',
    text: 'x1=2; x2=0; w1=-3; w2=1; b=6.8813735870195432; n=x1*w1+x2*w2+b; o=tanh(n)',
  },
  { id: 'square', title: 'a · a', text: 'a=3; f=a*a' },
  { id: 'double', title: 'a + a', text: 'a=3; f=a+a' },
  { id: 'product-of-both', title: 'd = a·b, e = a+b, f = d·e', text: 'a=-2; b=3; d=a*b; e=a+b; f=d*e' },
  { id: 'shared', title: 'c = a·b, d = c+a, e = d²', text: 'a=2; b=3; c=a*b; d=c+a; e=d**2' },
  { id: 'diamond', title: 'diamond: b = a+1, c = 3a, d = b·c', text: 'a=2; b=a+1; c=3*a; d=b*c' },
  { id: 'deep-diamond', title: 'deep diamond: the same below a = x·x', text: 'x=2; a=x*x; b=a+1; c=3*a; d=b*c' },
]

export function preset(id: string): Preset {
  const found = presets.find((one) => one.id === id)
  if (!found) throw new Error(`preset: needs one of ${presets.map((one) => one.id).join(', ')}, got ${id}`)
  return found
}
