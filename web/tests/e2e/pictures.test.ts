// SPDX-License-Identifier: MIT
// The lesson's pictures in docs/images show the page as it is. Beside each NAME.png is NAME.txt: the picture's hash, and the
// text seen in it, one line per piece, with its box and colour. A test fails when the page shows other text, or shows it
// elsewhere or in another colour. Pixels are not compared, because they differ between versions of a browser. With
// GRADWALK_PICTURES set, as tools/pictures does, these tests write both files instead.
import { createHash } from 'node:crypto'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Locator, Page } from 'playwright-core'
import { expect } from 'vitest'
import { choose, figure, next, test } from './lesson.ts'

interface Picture {
  viewport: { width: number; height: number }
  address: string
  /** Brings the page into the state to show. Returns the part to show, or nothing to show all that is in view. */
  prepare(page: Page): Promise<Locator | void>
}

const pictures: Record<string, Picture> = {
  lesson: {
    viewport: { width: 960, height: 820 },
    address: '#twice',
    async prepare(page) {
      const graph = figure(page, 'twice-graph')
      await choose(graph, 'diamond: b = a+1, c = 3a, d = b·c')
      for (let step = 0; step < 7; step++) await next(graph).click()
      // The figure, and the paragraph before it.
      await graph.evaluate((one) => scrollTo(0, one.previousElementSibling!.getBoundingClientRect().top + scrollY - 24))
    },
  },
  'lesson-walk': {
    viewport: { width: 1280, height: 900 },
    address: '#twice/twice-graph?e=x=2; a=x*x; b=a+1; c=3*a; d=b*c&s=9',
    prepare: async (page) => figure(page, 'twice-graph').getByTestId('graph'),
  },
  'lesson-network': {
    viewport: { width: 1000, height: 1000 },
    address: '#learn',
    async prepare(page) {
      const train = figure(page, 'learn-network')
      await train.getByTestId('train-step').evaluate((button: HTMLButtonElement) => {
        for (let step = 0; step < 150; step++) button.click()
      })
      await expect.poll(() => train.getByTestId('train-count').innerText(), { timeout: 30_000 }).toBe('150')
      return train
    },
  },
}

const folder = fileURLToPath(new URL('../../../docs/images/', import.meta.url))
const read = (name: string) => readFile(folder + name).catch(() => Buffer.from(''))
const hashOf = (image: Buffer) => createHash('sha256').update(image).digest('hex')
/** Pixels by which a box may differ: another version of the browser may lay out fonts a little differently. The letters of
    formulas are up to 7 pixels narrower in the Chromium of Debian 13 than in that of Debian 12. */
const tolerance = 8

/** The text within a part of the page, each piece as "x y width height colour text"; places are from the part's corner. */
async function seen(page: Page, part: Locator | void): Promise<string[]> {
  const clip = (await part?.boundingBox()) ?? { x: 0, y: 0, ...page.viewportSize()! }
  return page.evaluate((clip) => {
    const lines: string[] = []
    const add = (text: string | null | undefined, element: Element, { x, y, width, height, right, bottom }: DOMRect) => {
      const words = text?.replace(/\s+/g, ' ').trim()
      const isInside = right > clip.x && bottom > clip.y && x < clip.x + clip.width && y < clip.y + clip.height
      if (!words || width < 2 || height < 2 || !isInside || !element.checkVisibility({ visibilityProperty: true })) return
      const style = getComputedStyle(element)
      const colour = (element instanceof SVGElement ? style.fill : style.color).replaceAll(' ', '')
      lines.push([...[x - clip.x, y - clip.y, width, height].map(Math.round), colour, words].join(' '))
    }
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT)
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (node instanceof HTMLInputElement) {
        const isBox = node.type === 'checkbox' || node.type === 'radio'
        add(isBox ? `[${node.checked ? 'x' : ' '}]` : node.value, node, node.getBoundingClientRect())
      }
      if (node instanceof HTMLSelectElement) add(node.selectedOptions[0]?.text, node, node.getBoundingClientRect())
      if (node instanceof Text) {
        const range = document.createRange()
        range.selectNodeContents(node)
        add(node.data, node.parentElement!, range.getBoundingClientRect())
      }
    }
    return lines
  }, clip)
}

const partsOf = (line: string) => line.match(/^(-?\d+) (-?\d+) (\d+) (\d+) (.*)$/)!.slice(1)
function isClose(one: string | undefined, other: string | undefined): boolean {
  if (!one || !other) return false
  const [a, b] = [partsOf(one), partsOf(other)]
  return a[4] === b[4] && [0, 1, 2, 3].every((i) => Math.abs(Number(a[i]) - Number(b[i])) <= tolerance)
}

test.for(Object.entries(pictures))('docs/images/%s.png shows the page as it is', async ([name, { viewport, address, prepare }], { visit }) => {
  const { page, open } = await visit({ viewport, deviceScaleFactor: 1.5 })
  await open(address)
  const part = await prepare(page)
  if (process.env['GRADWALK_PICTURES']) {
    const image = await (part ?? page).screenshot({ path: `${folder}${name}.png`, animations: 'disabled' })
    await writeFile(`${folder}${name}.txt`, [hashOf(image), ...(await seen(page, part))].join('\n') + '\n')
    return
  }
  const [hash, ...pictured] = (await read(`${name}.txt`)).toString().trimEnd().split('\n')
  const remedy = `docs/images/${name}.png does not show the page as it is; run tools/pictures, and look at the new picture`
  expect(hashOf(await read(`${name}.png`)), remedy).toBe(hash)
  const differences = async () => {
    const now = await seen(page, part)
    return Array.from({ length: Math.max(now.length, pictured.length) }, (_, i) => i)
      .filter((i) => !isClose(now[i], pictured[i]))
      .map((i) => `the picture has ${pictured[i]}, the page ${now[i]}`)
  }
  await expect.poll(differences, { message: remedy, timeout: 30_000 }).toEqual([])
})

test('every picture of the lesson is made here', async () => {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.png'))
  expect(names.sort()).toEqual(Object.keys(pictures).map((name) => `${name}.png`).sort())
})
