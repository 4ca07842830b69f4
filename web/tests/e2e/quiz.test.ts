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
    expect(await answer(quiz, '7')).toBe('✗ Not yet. There is one path, f → e → a: multiply the numbers on its edges.')
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

test('the page names the path or the rule that gives a wrong answer; each of two paths alike', async ({ visit }) => {
  const { page, open } = await visit()
  await open('#twice')
  const quiz = figure(page, 'twice-quiz')
  expect(await answer(quiz, '6')).toBe('✗ There are two paths from d to a. You have one of them (d → b → a brings 6); what does the other bring?')
  expect(await answer(quiz, '9')).toBe('✗ There are two paths from d to a. You have one of them (d → c → a brings 9); what does the other bring?')
  expect(await answer(quiz, '0')).toBe('✗ That is what forward order gives: the nodes paid before they had been paid.')
  expect(await answer(quiz, '-15')).toBe('✗ The size is right, the sign is not.')
  expect(await answer(quiz, '77')).toBe('✗ Not yet. There are two paths from d to a. Multiply the numbers along each of them, then add.')
  await open('#neuron')
  expect(await answer(figure(page, 'neuron-quiz'), '7')).toBe('✗ Not yet. There is one path, o → n → x1·w1 + x2·w2 → x1·w1 → w1: multiply the numbers on its edges.')
})

test('show me plays the walk that leads to the answer, and then says it', async ({ visit }) => {
  const { page, open } = await visit()
  await open('#twice')
  const quiz = figure(page, 'twice-quiz')
  const before = await quiz.getByTestId('graph').getAttribute('data-direction')
  await quiz.getByRole('button', { name: 'show me' }).click()
  expect(await textOf(quiz.getByTestId('play'))).toBe('pause')
  expect(await textOf(quiz.getByTestId('verdict'))).toBe('') // not before it is reached
  expect(await quiz.getByTestId('graph').getAttribute('data-direction')).toBe(before)
  await expect.poll(() => textOf(quiz.getByTestId('story'))).toContain('Visit d, which has +1.')
  await expect.poll(() => textOf(quiz.getByTestId('verdict')), { timeout: 60_000 }).toBe('The engine says 15.')
  expect(await quiz.locator('[data-testid=node][data-node=a]').getByTestId('grad').textContent()).toBe('+15')
  // It can be stepped like any walk, and the next question begins without it.
  await quiz.focus()
  await page.keyboard.press('ArrowLeft')
  expect(await textOf(quiz.getByTestId('verdict'))).toBe('')
  await quiz.getByTestId('next-question').click()
  expect(await quiz.getByTestId('controls').count()).toBe(0)
})

test('by hand a deposit or the new total is taken, and the page says which it was; the formula is not given away', async ({ visit }) => {
  const { page, open } = await visit()
  await open('#rules')
  const graph = figure(page, 'rules-graph')
  const hand = graph.getByTestId('hand')
  const give = async (...numbers: string[]) => {
    for (const [i, number] of numbers.entries()) await hand.getByRole('textbox').nth(i).fill(number)
    await hand.getByRole('button', { name: 'check' }).click()
  }
  expect(await textOf(hand)).toMatch(/^d = check show me$/)
  await give('6')
  expect(await textOf(hand)).toContain('✗ The size is right, the sign is not.')
  for (const data of ['-6', '1', '-6', '1']) await give(data)
  // f = d·e has +1; d is −6 and e is 1.
  expect(await textOf(hand)).toMatch(/^f pays d: f pays e: check show me$/)
  await give('-6', '1')
  expect(await textOf(hand)).toContain('✗ That is what e gets.')
  expect(await textOf(hand)).toContain('✗ That is what f has. Multiply it by the number on the edge to e.')
  await give('1', '-6')
  expect(await textOf(graph.getByTestId('hand-told'))).toContain('−6 arrives at e, which had nothing before')
  // e pays a and b −6 each; then d pays them 3 and −2 on top.
  await give('-6', '-6')
  await give('-3', '-2')
  const told = await textOf(graph.getByTestId('hand-told'))
  expect(told).toContain('−3 is the new total of a: it had −6, and the deposit is +3.')
  expect(told).toContain('−2 is the deposit. b had −6, so its new total is −8.')
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
