// SPDX-License-Identifier: MIT
// Practice in a real browser: levels that rise, mistakes that are named, a mistake to find, where it goes on, and links that carry an
// exercise.
import { readFileSync } from 'node:fs'
import type { Locator } from 'playwright-core'
import { describe, expect } from 'vitest'
import { createEngine } from '../../src/engine/engine.ts'
import { freshExercise } from '../../src/lesson/practice.ts'
import { rules } from '../../src/lesson/rules.ts'
import { shownText } from '../../src/lib/words.ts'
import { figure, narrow, test, textOf, wide, type Visit } from './lesson.ts'

const engine = await createEngine(readFileSync(new URL('../../src/engine/gradwalk.wasm', import.meta.url)))

async function openPractice({ page, open }: Visit, hash = '#practice'): Promise<Locator> {
  await open(hash)
  const practice = figure(page, 'practice-go')
  await practice.getByTestId('next-question').waitFor()
  return practice
}
async function answer(practice: Locator, value: string | number): Promise<string> {
  await practice.getByTestId('answer').fill(String(value))
  await practice.getByRole('button', { name: 'check' }).click()
  return textOf(practice.getByTestId('verdict'))
}
const expressionOf = (practice: Locator) => textOf(practice.getByTestId('quiz-expression'))
const level = (practice: Locator) => practice.getByTestId('practice-level').inputValue()
const nextLabel = (practice: Locator) => textOf(practice.getByTestId('next-question'))

describe.each([wide, narrow])('at $width px', (viewport) => {
  test('two in a row on the first try lead to the next level, and the next visit goes on there', async ({ visit }) => {
    const visiting = await visit({ viewport })
    const practice = await openPractice(visiting)
    const first = freshExercise(engine, 1, 1)
    expect(await expressionOf(practice)).toBe(shownText(first.expression))
    // At the second try: right, but no step up.
    expect(await answer(practice, -first.answer)).toBe('✗ The size is right, the sign is not.')
    expect(await answer(practice, first.answer)).toContain('✓ Right')
    expect(await visiting.page.getByTestId('task-practice-first').getAttribute('data-done')).toBe('false')
    expect(await textOf(practice.getByTestId('practice-score'))).toBe('0 of 1 right on the first try')
    for (const number of [2, 3]) {
      expect(await nextLabel(practice)).toBe('next exercise')
      await practice.getByTestId('next-question').click()
      expect(await visiting.page.evaluate(() => document.activeElement?.getAttribute('data-testid'))).toBe('answer')
      expect(await textOf(practice.getByTestId('practice-number'))).toBe(`exercise ${number}`)
      expect(await answer(practice, freshExercise(engine, 1, number).answer)).toContain('✓ Right')
    }
    expect(await visiting.page.getByTestId('task-practice-first').getAttribute('data-done')).toBe('true')
    expect(await nextLabel(practice)).toBe('on to level 2 →')
    await practice.getByTestId('next-question').click()
    expect(await level(practice)).toBe('2')
    expect(await expressionOf(practice)).toBe(shownText(freshExercise(engine, 2, 4).expression))
    await visiting.page.goto('about:blank')
    const again = await openPractice(visiting)
    expect(await level(again)).toBe('2')
    expect(await expressionOf(again)).toBe(shownText(freshExercise(engine, 2, 4).expression))
  })

  test('a mistake to find: a wrong choice shows what it gives, the right one is taken', async ({ visit }) => {
    const visiting = await visit({ viewport })
    const practice = await openPractice(visiting)
    await practice.getByTestId('practice-level').selectOption('4')
    const { rule, mistakes } = freshExercise(engine, 4, 2)
    const check = async () => {
      await practice.getByRole('button', { name: 'check' }).click()
      return textOf(practice.getByTestId('verdict'))
    }
    expect(await check()).toBe('✗ Choose one of the mistakes.')
    const other = (['overwrite', 'recursion', 'no-visited', 'forward'] as const).find((one) => one !== rule)!
    await practice.getByRole('radio', { name: rules[other].title }).check()
    expect(await check()).toContain(mistakes.some((one) => one.rule === other) ? 'gives' : 'changes nothing')
    expect(await visiting.page.getByTestId('task-practice-spot').getAttribute('data-done')).toBe('false')
    const title = rules[rule as keyof typeof rules].title
    await practice.getByRole('radio', { name: title, exact: true }).check()
    expect(await check()).toBe(`✓ Right: ${title}.`)
    expect(await visiting.page.getByTestId('task-practice-spot').getAttribute('data-done')).toBe('true')
  })
})

test('show me plays the walk, by the mistake where that is asked for, and is no right answer', async ({ visit }) => {
  const { page, ...rest } = await visit()
  const practice = await openPractice({ page, ...rest })
  await practice.getByRole('button', { name: 'show me' }).click()
  await practice.focus()
  await page.keyboard.press('End')
  await expect.poll(() => textOf(practice.getByTestId('verdict'))).toMatch(/^The engine says /)
  expect(await textOf(practice.getByTestId('practice-score'))).toBe('0 of 1 right on the first try')
  await practice.getByTestId('practice-level').selectOption('4')
  expect(await practice.getByTestId('controls').count()).toBe(0)
  const { rule, wrong, ask } = freshExercise(engine, 4, 2)
  await practice.getByRole('button', { name: 'show me' }).click()
  await practice.focus()
  await page.keyboard.press('End')
  await expect.poll(() => textOf(practice.getByTestId('verdict'))).toBe(`It is “${rules[rule as keyof typeof rules].title}”.`)
  const shown = (await practice.locator(`[data-testid=node][data-node=${ask}]`).getByTestId('grad').textContent())!
  expect(Number(shown.replace('−', '-'))).toBe(wrong)
})

test('a link carries an exercise, made here or by hand', async ({ visit }) => {
  const visiting = await visit()
  const practice = await openPractice(visiting)
  for (const [chosen, number] of [['3', 2], ['4', 3]] as const) {
    await practice.getByTestId('practice-level').selectOption(chosen)
    const { expression, ask } = freshExercise(engine, Number(chosen), number)
    await practice.getByTestId('share').click()
    const link = await practice.getByTestId('exercise-link').inputValue()
    const other = await visit()
    await other.page.goto(link)
    const opened = figure(other.page, 'practice-go')
    await opened.getByTestId('next-question').waitFor()
    expect(await expressionOf(opened)).toBe(shownText(expression))
    expect(await textOf(opened.getByTestId('practice-number'))).toBe('an exercise from a link')
    if (chosen === '3') expect(await opened.getByTestId('answer').getAttribute('aria-label')).toBe(`gradient of ${ask}`)
    else expect(await opened.getByRole('radio').count()).toBe(4)
    // Then it goes on where that visitor is.
    await opened.getByTestId('next-question').click()
    expect(await textOf(opened.getByTestId('practice-number'))).toBe('exercise 1')
  }
  const set = await openPractice(await visit(), '#practice/practice-go?e=u=3%3B%20v=u*u%2Bu&q=u')
  expect(await answer(set, 7)).toBe('✓ Right: 7.')
})

test('a link to an exercise that cannot be asked gives a message and a fresh exercise', async ({ visit }) => {
  const visiting = await visit()
  for (const [query, why] of [
    ['e=a=2%3B%20b=a*3&q=z', 'asks for a node that is not there'],
    ['e=a=2%3B%20b=a*3&q=a&r=overwrite', 'a mistake that makes no difference'],
    ['e=a=2%3B%20b=a*&q=a', 'its expression cannot be read'],
  ] as const) {
    await visiting.page.goto('about:blank')
    const practice = await openPractice(visiting, `#practice/practice-go?${query}`)
    expect(await textOf(visiting.page.getByTestId('link-problem'))).toContain(why)
    expect(await expressionOf(practice)).toBe(shownText(freshExercise(engine, 1, 1).expression))
  }
})
