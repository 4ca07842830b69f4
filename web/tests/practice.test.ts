// SPDX-License-Identifier: MIT
// Exercises without end: each level asks what it is there for, in numbers that can be worked out in one's head, the same for the same
// number; and the page says which mistake gives a wrong answer.
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { createEngine } from '../src/engine/engine.ts'
import { exerciseOf, freshExercise, kindOf, lastLevel } from '../src/lesson/practice.ts'
import { diagnose } from '../src/lib/diagnosis.ts'
import { enPractice } from '../src/words/en.practice.ts'

const engine = await createEngine(readFileSync(new URL('../src/engine/gradwalk.wasm', import.meta.url)))
const numbers = Array.from({ length: 30 }, (_, i) => i + 1)
const levels = Array.from({ length: lastLevel }, (_, i) => i + 1)
const pathsOf = ({ expression, node }: { expression: string; node: number }) => Number(engine.explain(expression, [], node, 1).path_count)
const paths: Record<number, [number, number]> = { 1: [1, 1], 2: [1, 1], 3: [2, 2], 4: [2, 6], 5: [3, 6], 6: [2, 6], 7: [4, 12], 8: [6, 40] }

describe.each(levels)('level %i', (level) => {
  const exercises = numbers.map((number) => freshExercise(engine, level, number))

  test('has a name, and asks for what it is there for', () => {
    expect(enPractice.levels[level - 1]).toBeTruthy()
    for (const exercise of exercises) {
      expect(exercise.kind).toBe(kindOf(level))
      expect(pathsOf(exercise), exercise.expression).toBeGreaterThanOrEqual(paths[level]![0])
      expect(pathsOf(exercise), exercise.expression).toBeLessThanOrEqual(paths[level]![1])
    }
  })

  test('can be worked out in one’s head, and agrees with the walk', () => {
    for (const { expression, node, answer } of exercises) {
      const walk = engine.walk(expression)
      expect(walk.outcomes[node]!.grad).toBe(answer)
      for (const { data } of walk.nodes) expect(Number.isInteger(4 * data) && Math.abs(data) <= 100, expression).toBe(true)
      expect(answer !== 0 && Number.isInteger(4 * answer) && Math.abs(answer) <= 200, expression).toBe(true)
    }
  })

  test('is fresh for another number, and the same for the same', () => {
    expect(new Set(exercises.map((one) => one.expression)).size).toBeGreaterThan(24)
    expect(freshExercise(engine, level, 7)).toEqual(exercises[6])
  })

  test('uses every name', () => {
    for (const { expression } of exercises) {
      const parsed = engine.parse(expression)
      expect(parsed.ok && parsed.names.map(([name]) => name)).toEqual(expression.split('; ').map((line) => line[0]))
    }
  })
})

test('the levels rise: there is more to multiply, then more to add', () => {
  // Level 4 asks for something else, level 6 for other operations.
  const work = [1, 2, 3, 5, 7, 8].map((level) => {
    const all = numbers.slice(0, 20).map((number) => freshExercise(engine, level, number))
    return all.reduce((sum, one) => sum + pathsOf(one) * engine.walk(one.expression).nodes.length, 0)
  })
  expect(work).toEqual([...work].sort((one, other) => one - other))
})

test('a mistake to find is made by one rule alone', () => {
  for (const number of numbers) {
    const { mistakes, rule, wrong, answer } = freshExercise(engine, 4, number)
    expect(mistakes.filter((one) => one.value === wrong).map((one) => one.rule)).toEqual([rule])
    expect(wrong).not.toBe(answer)
  }
})

test('what cannot be asked is no exercise', () => {
  expect(exerciseOf(engine, 'a=2; b=a*', 'a')).toBeNull()
  expect(exerciseOf(engine, 'a=2; b=a*3', 'z')).toBeNull()
  expect(exerciseOf(engine, 'a=2; b=a*3', 'a', 'overwrite')).toBeNull() // it makes no difference there
  expect(exerciseOf(engine, 'a=3; b=a*a', 'a', 'overwrite')).toMatchObject({ kind: 'spot', wrong: 3, answer: 6 })
})

test('a wrong number is explained by the mistake that gives it', () => {
  const told = (expression: string, ask: string, value: number) => diagnose(engine, exerciseOf(engine, expression, ask)!, engine.walk(expression), value)
  const chain = 'a=2; b=5; c=a*b; d=7; e=c*d' // along e → c → a: 7 and 5
  expect(told(chain, 'a', 7)).toBe('One factor is missing: the ×5 between c and a.')
  expect(told(chain, 'a', 5)).toBe('One factor is missing: the ×7 between e and c.')
  expect(told(chain, 'a', 12)).toBe('You added the numbers along the path. Multiply them instead.')
  expect(told(chain, 'a', -35)).toBe('The size is right, the sign is not.')
  expect(told(chain, 'a', 2)).toBe('That is the data of a. Its gradient says how fast the root moves with it.')
  expect(told(chain, 'a', 14)).toBe('That is the gradient of b.')
  expect(told(chain, 'a', 99)).toBe('Not yet. There is one path, e → c → a: multiply the numbers on its edges.')
  const shared = 'a=2; b=a+1; c=3*a; d=b*c'
  expect(told(shared, 'a', 9)).toContain('You have one of them (d → c → a brings 9)')
  expect(told(shared, 'a', 2)).toContain('That is the data of a.')
  expect(told(shared, 'a', 77)).toContain('Not yet. There are two paths from d to a.')
})
