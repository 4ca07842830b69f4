// SPDX-License-Identifier: MIT
// All words of the page are in the files of one language: no component says anything of its own, and what is shown in place of words
// (names of nodes and neurons, code, formulas) comes from the engine or is a letter.
import { readdirSync, readFileSync } from 'node:fs'
import { parse } from 'svelte/compiler'
import { expect, test } from 'vitest'
import { en, enChapters, enFigures } from '../src/words/en.ts'
import { enDigits } from '../src/words/en.digits.ts'
import { enPractice } from '../src/words/en.practice.ts'
import { enTensors } from '../src/words/en.tensors.ts'
import { enWrite } from '../src/words/en.write.ts'

const source = new URL('../src/', import.meta.url)
const components = (readdirSync(source, { recursive: true }) as string[]).filter((name) => name.endsWith('.svelte'))
const spoken = new Set(['aria-label', 'aria-description', 'aria-valuetext', 'title', 'placeholder', 'alt', 'label'])
/** Words: three letters and more. Names of weights and axes, and .grad, which is code, are none. */
const isWord = (text: string) => /\p{L}{3}/u.test(text.replace(/\.(grad|data)\b/g, ''))

/** Texts of a component's markup, and of attributes that are read aloud. */
function literals(markup: string): string[] {
  const found: string[] = []
  const visit = (node: unknown, isSpoken: boolean) => {
    if (typeof node !== 'object' || node === null) return
    if (Array.isArray(node)) return node.forEach((one) => visit(one, isSpoken))
    const { type, name, data } = node as { type?: string; name?: string; data?: string }
    const isCode = type === 'RegularElement' && name === 'code'
    if (isCode || ['Comment', 'ExpressionTag', 'StyleDirective'].includes(type!)) return
    if (type === 'Text' && isSpoken && isWord(data!)) found.push(data!.trim())
    const isRead = type === 'Attribute' ? spoken.has(name!) : isSpoken
    for (const value of Object.values(node)) visit(value, isRead)
  }
  visit(parse(markup, { modern: true }).fragment, true)
  return found
}

test.each(components)('%s', (name) => expect(literals(readFileSync(new URL(name, source), 'utf8'))).toEqual([]))

test('a word that stands in a component is found', () => {
  expect(literals('<p title="a hint">{x} hello <b aria-label={y}>wo</b></p>')).toEqual(['a hint', 'hello'])
  expect(components.length).toBeGreaterThan(40)
})

/** Every text there is, functions by what they say of some argument. */
function texts(words: unknown): string[] {
  if (typeof words === 'string') return [words]
  if (typeof words === 'function') return [String((words as (...args: string[]) => unknown)(...Array<string>(6).fill('n')))]
  return typeof words === 'object' && words !== null ? Object.values(words).flatMap(texts) : []
}

test('nothing is said to be above or below another: drawings turn with the room', () => {
  const all = texts([en, enChapters, enFigures, enDigits, enPractice, enTensors, enWrite])
  expect(all.length).toBeGreaterThan(300)
  // Numbers are above and below zero.
  expect(all.filter((one) => /\b(above|below)\b(?! (0|zero))/i.test(one))).toEqual([])
})
