// SPDX-License-Identifier: MIT
// Nothing is cut: every text of every card lies inside its card, every number inside its pill, and no box of the page hides text, for
// every preset and for random expressions with extreme numbers, at three widths.
import type { Page } from 'playwright-core'
import { describe, expect } from 'vitest'
import { presets } from '../../src/lesson/presets.ts'
import { randomNumbers } from '../random.ts'
import { chapters, middle, narrow, test, wide } from './lesson.ts'

/** What is cut off in a figure at its present step. */
const cutIn = (page: Page, id: string) =>
  page.evaluate((id) => {
    const cut: string[] = []
    const figure = document.getElementById(id)!
    const inside = (inner: DOMRect, outer: DOMRect, by: number) => inner.left >= outer.left - by && inner.right <= outer.right + by
    for (const card of figure.querySelectorAll('[data-testid=node]')) {
      const face = card.querySelector('rect.face')!.getBoundingClientRect()
      const texts = [...card.querySelectorAll('text')].filter((text) => text.dataset['testid'] !== 'rank')
      for (const text of texts) if (!inside(text.getBoundingClientRect(), face, 1)) cut.push(`${card.getAttribute('data-node')}: ${text.textContent}`)
      // Data and gradient side by side, the name and "paid" too: none runs into the other.
      for (const one of texts)
        for (const other of texts) {
          const [a, b] = [one.getBoundingClientRect(), other.getBoundingClientRect()]
          if (one !== other && a.top < b.top + 2 && b.top < a.bottom - 6 && a.left < b.left && a.right > b.left + 1 && a.bottom > b.top + 6 && Math.abs(a.top - b.top) < 4)
            cut.push(`${card.getAttribute('data-node')}: “${one.textContent}” runs into “${other.textContent}”`)
        }
    }
    for (const pill of figure.querySelectorAll('[data-testid=pill]')) {
      const [box, text] = [pill.querySelector('rect')!.getBoundingClientRect(), pill.querySelector('text')!.getBoundingClientRect()]
      if (!inside(text, box, 0.5)) cut.push(`pill ${text}`)
    }
    for (const input of figure.querySelectorAll<HTMLInputElement>('[data-testid=graph] input')) if (input.scrollWidth > input.clientWidth + 1) cut.push(`input ${input.value}`)
    return cut
  }, id)

/** Text boxes of the page that show less than they hold, and are no scrollers. */
const hiddenText = (page: Page) =>
  page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>('main *')].flatMap((one) => {
      const style = getComputedStyle(one)
      if (one.closest('.katex, .hidden, svg, [hidden]') || !/hidden|clip/.test(style.overflowX) || one.clientWidth === 0) return []
      return one.scrollWidth > one.clientWidth + 1 && one.textContent?.trim() ? [`${one.tagName} ${one.className}: ${one.textContent.slice(0, 40)}`] : []
    }),
  )

const steppedTo = (page: Page, id: string, key: string) =>
  page.evaluate(
    async ([id, key]) => {
      document.getElementById(id!)!.dispatchEvent(new KeyboardEvent('keydown', { key: key!, bubbles: true }))
      await new Promise((done) => setTimeout(done))
    },
    [id, key],
  )

describe.each([wide, middle, narrow])('at $width px', (viewport) => {
  test('every preset at every step', async ({ visit }) => {
    const { page, open } = await visit({ viewport })
    await open('#back')
    const last = Number(await page.locator('#back-graph').getByTestId('scrubber').getAttribute('max'))
    expect(last).toBeGreaterThan(0)
    for (const { title } of presets) {
      await page.locator('#back-graph').getByTestId('preset').selectOption({ label: title })
      const steps = Number(await page.locator('#back-graph').getByTestId('scrubber').getAttribute('max'))
      for (let i = 0; i <= steps; i++) {
        expect(`${title} ${i}: ${await cutIn(page, 'back-graph')}`).toBe(`${title} ${i}: `)
        await steppedTo(page, 'back-graph', 'ArrowRight')
      }
    }
  })

  test('70 random expressions with extreme numbers', { timeout: 180_000 }, async ({ visit }) => {
    const { page, open } = await visit({ viewport })
    await open('#own')
    const random = randomNumbers(viewport.width)
    const number = () => `${random() < 0.5 ? '-' : ''}${(random() * 9 + 1).toFixed(Math.floor(random() * 8))}e${Math.floor(random() * 200 - 100)}`
    const asked = Array.from({ length: 70 }, () => {
      const names = ['a', 'b', 'c']
      const lines = names.map((name) => `${name}=${number()}`)
      const any = () => names[Math.floor(random() * names.length)]!
      for (let i = 0; i < 1 + random() * 4; i++) {
        const form = [`${any()}*${any()}`, `${any()}+${any()}`, `${any()}/${any()}`, `${any()}-${any()}*${any()}`, `tanh(${any()})*${number()}`, `${any()}**3`][Math.floor(random() * 6)]!
        lines.push(`long_name_${i}=${form}`)
        names.push(`long_name_${i}`)
      }
      return `${lines.join(';')};r=${any()}*${names.at(-1)}+a*b-c`
    })
    const area = page.getByTestId('own-text')
    for (const text of asked) {
      await area.evaluate((box: HTMLTextAreaElement, value) => {
        box.value = value
        box.dispatchEvent(new InputEvent('input', { bubbles: true }))
      }, text)
      await steppedTo(page, 'own-graph', 'End')
      expect(`${text}: ${await cutIn(page, 'own-graph')}`).toBe(`${text}: `)
    }
  })

  test('no box of any chapter hides text', async ({ visit }) => {
    const { page, open } = await visit({ viewport })
    for (const chapter of ['start', ...chapters]) {
      await open(`#${chapter}`)
      await page.locator('[data-testid=graph] svg, canvas, table').first().waitFor()
      expect(`${chapter}: ${await hiddenText(page)}`).toBe(`${chapter}: `)
    }
  })
})
