// SPDX-License-Identifier: MIT
// The op table's own text as TeX: `select(x > 0, 1, 0)` becomes cases, `1 / y` a fraction. It reads the C++ expressions
// of ops.def and the names of nodes; text it cannot read gives null, and is then shown as it is.

type Tree =
  | { kind: 'number'; text: string }
  | { kind: 'name'; text: string }
  | { kind: 'call'; name: string; args: Tree[] }
  | { kind: 'unary'; of: Tree }
  | { kind: 'binary'; op: string; left: Tree; right: Tree }

const precedence: Record<string, number> = {
  '||': 1,
  '&&': 2,
  '==': 3,
  '!=': 3,
  '<': 4,
  '<=': 4,
  '>': 4,
  '>=': 4,
  '+': 5,
  '-': 5,
  '*': 6,
  '/': 6,
  '**': 8,
}

function read(text: string): Tree | null {
  const tokens = text.match(/\d+\.?\d*(?:e[+-]?\d+)?|[A-Za-z_][\w.#₀-₉]*|\|\||&&|[<>=!]=|\*\*|[-+*/<>(),]|\S/gi) ?? []
  let at = 0
  let depth = 0
  const primary = (): Tree | null => {
    const token = tokens[at++]
    if (token === undefined || ++depth > 200) return null
    if (token === '-') {
      const of = binary(7)
      return of && { kind: 'unary', of }
    }
    if (token === '(') {
      const inner = binary(0)
      return tokens[at++] === ')' ? inner : null
    }
    if (/^\d/.test(token)) return { kind: 'number', text: token }
    if (!/^[A-Za-z_]/.test(token)) return null
    if (tokens[at] !== '(') return { kind: 'name', text: token }
    const args: Tree[] = []
    do {
      at++
      const one = binary(0)
      if (!one) return null
      args.push(one)
    } while (tokens[at] === ',')
    return tokens[at++] === ')' ? { kind: 'call', name: token, args } : null
  }
  const binary = (least: number): Tree | null => {
    let left = primary()
    for (;;) {
      const op = tokens[at]
      const level = op === undefined ? undefined : precedence[op]
      if (!left || op === undefined || level === undefined || level < least) return left
      at++
      const right = binary(op === '**' ? level : level + 1)
      left = right && { kind: 'binary', op, left, right }
    }
  }
  const tree = binary(0)
  return at === tokens.length ? tree : null
}

const relations: Record<string, string> = {
  '==': '=',
  '!=': '\\ne',
  '<=': '\\le',
  '>=': '\\ge',
  '&&': '\\text{ and }',
  '||': '\\text{ or }',
}
const known = new Set(['tanh', 'exp', 'log', 'sin', 'cos', 'tan', 'sinh', 'cosh', 'max', 'min'])

function name(text: string): string {
  if (/^[A-Za-z]$/.test(text)) return text
  const [, base, low] = /^([A-Za-z])([₀-₉]+)$/.exec(text) ?? []
  if (base) return `${base}_{${[...low!].map((digit) => '₀₁₂₃₄₅₆₇₈₉'.indexOf(digit)).join('')}}`
  const [, letter, index] = /^([A-Za-z])_?(\d+)$/.exec(text) ?? []
  if (letter) return `${letter}_{${index}}`
  return `\\mathit{${text.replace(/[_#]/g, '\\$&')}}`
}

function call(tree: Tree & { kind: 'call' }): string {
  const [first, second] = tree.args.map((one) => tex(one, 0))
  if (tree.name === 'select') return cases(tree)
  if (tree.name === 'sqrt') return `\\sqrt{${first}}`
  if (tree.name === 'abs') return `\\left|${first}\\right|`
  if (tree.name === 'floor') return `\\lfloor ${first}\\rfloor`
  if (tree.name === 'pow') return `{${tex(tree.args[0]!, 9)}}^{${second}}`
  const shown = known.has(tree.name) ? `\\${tree.name}` : `\\operatorname{${tree.name}}`
  return `${shown}\\left(${tree.args.map((one) => tex(one, 0)).join(', ')}\\right)`
}

function cases(tree: Tree): string {
  const rows: string[] = []
  let rest = tree
  while (rest.kind === 'call' && rest.name === 'select' && rest.args.length === 3) {
    rows.push(`${tex(rest.args[1]!, 0)} & \\text{if } ${tex(rest.args[0]!, 0)}`)
    rest = rest.args[2]!
  }
  rows.push(`${tex(rest, 0)} & \\text{otherwise}`)
  return `\\begin{cases}${rows.join('\\\\')}\\end{cases}`
}

/** `outer`: the precedence of what stands around it, for parentheses. */
function tex(tree: Tree, outer: number): string {
  if (tree.kind === 'number') return tree.text.replace(/e([+-]?\d+)$/i, '\\cdot 10^{$1}')
  if (tree.kind === 'name') return name(tree.text)
  if (tree.kind === 'call') return call(tree)
  if (tree.kind === 'unary') {
    const text = `-${tex(tree.of, 7)}`
    return outer > 5 ? `\\left(${text}\\right)` : text
  }
  if (tree.op === '/') return `\\frac{${tex(tree.left, 0)}}{${tex(tree.right, 0)}}`
  if (tree.op === '**') return `{${tex(tree.left, 9)}}^{${tex(tree.right, 0)}}`
  const level = precedence[tree.op]!
  const sign = tree.op === '*' ? '\\cdot' : (relations[tree.op] ?? tree.op)
  const square = tree.op === '*' && JSON.stringify(tree.left) === JSON.stringify(tree.right)
  const text = square ? `{${tex(tree.left, 9)}}^2` : `${tex(tree.left, level)} ${sign} ${tex(tree.right, level + 1)}`
  return outer > (square ? 8 : level) ? `\\left(${text}\\right)` : text
}

export function toTex(formula: string): string | null {
  const tree = read(formula)
  return tree && tex(tree, 0)
}

/** ∂root/∂node as a fraction; x1 has its number as an index. */
export const gradientTex = (root: string, name: string) => `\\frac{\\partial ${root}}{\\partial ${name.replace(/^([a-z])(\d+)$/, '$1_{$2}')}}`
