// SPDX-License-Identifier: MIT
// Random expressions whose numbers stay finite and whose nodes are shared; the same every time.

/** Numbers in [0, 1) that follow from their seed (mulberry32's recipe). */
export function randomNumbers(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

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
