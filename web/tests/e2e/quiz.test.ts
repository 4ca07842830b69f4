// SPDX-License-Identifier: MIT
// Quizzes and the wiggle: right answers, fractions, diagnoses of mistakes, fresh questions, and the gradient by experiment.
import type { Locator } from 'playwright-core'
import { describe, expect } from 'vitest'
import { choose, figure, next, sizes, tableOf, test, textOf, walkToEnd } from './lesson.ts'

async function answer(quiz: Locator, text: string): Promise<string> {
  await quiz.getByRole('textbox', { name: /^gradient of/ }).fill(text)
  await quiz.getByRole('button', { name: 'check' }).click()
  return textOf(quiz.getByTestId('verdict'))
}

describe.each(sizes)('at $width px', (viewport) => {
  test('the questions of the lesson', async ({ visit }) => {
    const { page, open } = await visit({ viewport })
    await open('#back')
    let quiz = figure(page, 'back-quiz')
    expect(await answer(quiz, 'ten')).toBe('✗ Type a number such as 4, −1.5 or 3/2.')
    expect(await answer(quiz, '-10')).toBe('✗ The size is right, the sign is not.')
    expect(await answer(quiz, '7')).toContain('✗ Not yet.')
    expect(await answer(quiz, '10')).toBe('✓ Right: 10.')
    await quiz.getByRole('button', { name: 'next question' }).click()
    expect(await answer(quiz, '20/2')).toBe('✓ Right: 10.')
    await open('#neuron')
    quiz = figure(page, 'neuron-quiz')
    expect(await answer(quiz, '1')).toBe('✓ Right: 1.')
    await quiz.getByRole('button', { name: 'next question' }).click()
    expect(await answer(quiz, '−3/2')).toBe('✓ Right: −1.5.')
    await open('#twice')
    quiz = figure(page, 'twice-quiz')
    expect(await answer(quiz, '15.0')).toBe('✓ Right: 15.')
    for (const task of ['twice-diamond']) expect(await page.getByTestId(`task-${task}`).getAttribute('data-done')).toBe('true')
    expect(await textOf(page.getByTestId('progress'))).toContain('4 of ')
  })

  test('wiggling a leaf comes near the gradient as h shrinks, until rounding wins', async ({ visit }) => {
    const { page, open } = await visit({ viewport })
    await open('#rules')
    const wiggle = figure(page, 'rules-wiggle')
    const at = async (place: number) => {
      await wiggle.getByRole('slider').fill(String(place))
      const number = async (id: string) => Number((await textOf(wiggle.getByTestId(id))).replace('−', '-'))
      return { quotient: await number('quotient'), gradient: await number('gradient') }
    }
    expect((await at(0)).gradient).toBe(64)
    const errors: number[] = []
    for (const place of [0, 8, 16, 24, 58]) {
      const { quotient, gradient } = await at(place)
      errors.push(Math.abs(quotient - gradient))
    }
    expect(errors[0]).toBeGreaterThan(1)
    for (const i of [1, 2, 3]) expect(errors[i]).toBeLessThan(errors[i - 1]! / 50)
    expect(errors[3]).toBeLessThan(1e-3)
    expect(errors[4]).toBeGreaterThan(errors[3]!)
    await wiggle.getByRole('combobox', { name: /^leaf/ }).selectOption({ label: 'b' })
    expect(await at(24)).toMatchObject({ gradient: 32 })
    await choose(wiggle, 'diamond: b = a+1, c = 3a, d = b·c')
    expect(await at(24)).toMatchObject({ gradient: 15 })
    expect(await page.getByTestId('task-rules-wiggle').getAttribute('data-done')).toBe('true')
  })
})

test('an answer that overwriting gives is told so', async ({ visit }) => {
  const { page, open } = await visit()
  await open('#twice')
  const quiz = figure(page, 'twice-quiz')
  // What = gives on the diamond, as the broken figure above it shows.
  const broken = figure(page, 'twice-broken')
  await choose(broken, 'diamond: b = a+1, c = 3a, d = b·c')
  await broken.getByRole('button', { name: 'run all' }).click()
  const wrong = await broken.getByTestId('broken-table').getByRole('row', { name: /^a/ }).locator('td').nth(1).innerText()
  expect(await answer(quiz, wrong.replace(/[^\d.−-]/g, ''))).toBe('✗ That is what overwriting gives: a deposit replaced another instead of adding to it.')
})

test('fresh questions are answered by walking their expressions', async ({ visit }) => {
  const { page, open } = await visit()
  await open('#own')
  const [own, quiz] = [figure(page, 'own-graph'), figure(page, 'own-quiz')]
  for (let i = 0; i < 3; i++) {
    await page.getByTestId('own-text').fill(await quiz.getByTestId('quiz-expression').innerText())
    await next(own).waitFor()
    await own.focus()
    await page.keyboard.press('End')
    const asked = (await quiz.getByRole('textbox').getAttribute('aria-label'))!.replace('gradient of ', '')
    const { grad } = (await tableOf(own))[asked]!
    expect(await answer(quiz, grad)).toContain('✓ Right')
    await quiz.getByRole('button', { name: 'next question' }).click()
  }
  expect(await page.getByTestId('task-own-quiz').getAttribute('data-done')).toBe('true')
  expect(await page.getByTestId('task-own-walk').getAttribute('data-done')).toBe('false')
  await page.getByTestId('own-text').fill('u=2; v=u*u')
  await walkToEnd(own)
  expect(await page.getByTestId('task-own-walk').getAttribute('data-done')).toBe('true')
})
