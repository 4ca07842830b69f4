// SPDX-License-Identifier: MIT
// Random expressions whose numbers stay finite and whose nodes are shared; the same every time.

export { randomNumbers } from '../src/lib/random.ts'

export function shuffled<T>(list: readonly T[], random: () => number): T[] {
  const all = [...list]
  for (let k = all.length - 1; k > 0; k--) {
    const at = Math.floor(random() * (k + 1))
    ;[all[k], all[at]] = [all[at]!, all[k]!]
  }
  return all
}

/** A few leaves, then `statements` of one or two operations on what there is; the last uses several of them. */
export function randomExpression(random: () => number, statements: number): string {
  const number = () => (4 * random() - 2).toFixed(6)
  const names = ['a', 'b', 'c']
  const lines = names.map((name) => `${name}=${number()}`)
  const any = () => names[names.length - 1 - Math.floor(random() * Math.min(names.length, 6))]!
  for (let i = 0; i < statements; ++i) {
    const x = any()
    const y = any()
    const forms = [
      ...[`${x}+${y}`, `${x}-${y}`, `${x}*${y}`, `${x}/(2+${y}*${y})`, `tanh(${x})`, `sin(${x})*${number()}`],
      ...[`exp(-abs(${x}))`, `max(${x},${y})`, `relu(${x})+${y}`, `sigmoid(${x})-${number()}`, `cos(${x})**2`],
      `tanh(${x}*${x}+${y}*${x})`,
    ]
    lines.push(`n${i}=${forms[Math.floor(random() * forms.length)]!}`)
    names.push(`n${i}`)
  }
  lines.push(`r=${any()}*${any()}+${any()}-a*b*c`)
  return lines.join(';')
}
