// SPDX-License-Identifier: MIT
// A line of Python in parts, for its colours.

export type Mark = 'here' | 'wrong'
export interface PythonToken {
  text: string
  kind: '' | 'keyword' | 'string' | 'comment'
}

const parts = /(#.*$)|("""[^]*?"""|f?'(?:[^'\\]|\\.)*'|f?"(?:[^"\\]|\\.)*")|\b(?:and|as|assert|break|class|continue|def|elif|else|except|finally|for|from|if|import|in|is|lambda|None|not|or|pass|raise|return|True|False|try|while|with)\b/g

export function tokensOf(line: string): PythonToken[] {
  const tokens: PythonToken[] = []
  let at = 0
  for (const found of line.matchAll(parts)) {
    if (found.index > at) tokens.push({ text: line.slice(at, found.index), kind: '' })
    tokens.push({ text: found[0], kind: found[1] !== undefined ? 'comment' : found[2] !== undefined ? 'string' : 'keyword' })
    at = found.index + found[0].length
  }
  if (at < line.length) tokens.push({ text: line.slice(at), kind: '' })
  return tokens
}
