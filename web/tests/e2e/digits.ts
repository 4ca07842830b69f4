// SPDX-License-Identifier: MIT
// Drawing digits in the page, for tests.
import type { Locator } from 'playwright-core'

/** A 3, in parts of the pad. */
export const three: [number, number][] = [
  ...([[0.3, 0.25], [0.5, 0.15], [0.68, 0.25], [0.65, 0.4], [0.48, 0.48]] as [number, number][]),
  ...([[0.66, 0.55], [0.7, 0.72], [0.5, 0.85], [0.3, 0.75]] as [number, number][]),
]

export async function drawDigit(figure: Locator, path: [number, number][]) {
  const pad = figure.getByTestId('digit-pad')
  await pad.scrollIntoViewIfNeeded()
  const box = (await pad.boundingBox())!
  const { mouse } = figure.page()
  const place = ([x, y]: [number, number]) => [box.x + x * box.width, box.y + y * box.height] as const
  await mouse.move(...place(path[0]!))
  await mouse.down()
  for (const point of path.slice(1)) await mouse.move(...place(point), { steps: 4 })
  await mouse.up()
}

export const why = (figure: Locator, digit: number) => figure.locator(`[data-testid=score][data-digit="${digit}"]`).getByTestId('why')
