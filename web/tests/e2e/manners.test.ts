// SPDX-License-Identifier: MIT
// Everyday manners: tabs that merge, focus that stays, fields that select, links that skip, fingers that scroll, pan and drag, folds
// that are remembered, paper that is a handout with its answers at the end.
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { chapters, figure, menuOf, narrow, next, show, test, textOf } from './lesson.ts'

const focused = (page: Page) =>
  page.evaluate(() => {
    const one = document.activeElement!
    return one === document.body ? 'body' : one.id || one.getAttribute('aria-label') || one.textContent!.trim()
  })

test('several tabs merge their progress, and forget it together', async ({ visit }) => {
  const { page, open, address } = await visit()
  await open('#fill')
  const other = await page.context().newPage()
  await other.goto(`${address}#back`)
  const walk = async (one: Page, id: string) => {
    await figure(one, id).waitFor()
    await one.evaluate(async (graph) => {
      for (let i = 0; i < 8; i++) {
        document.getElementById(graph)!.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true }))
        await Promise.resolve()
      }
    }, id)
  }
  await walk(other, 'back-graph') // one task there,
  await walk(page, 'fill-graph') // one here
  const progress = (one: Page) => textOf(one.getByTestId('progress'))
  await expect.poll(() => progress(page)).toMatch(/^2 of /)
  await expect.poll(() => progress(other)).toMatch(/^2 of /)
  // A tab that missed what was written, as one asleep does, adds to it and wipes nothing out.
  await page.evaluate(() => localStorage.setItem('gradwalk-lesson', JSON.stringify({ version: 1, done: ['fill-forward', 'back-walk', 'neuron-walk'] })))
  await page.getByLabel('value of a').fill('5')
  await page.getByLabel('value of a').press('Enter')
  await expect.poll(() => progress(other)).toMatch(/^4 of /)
  await expect.poll(() => progress(page)).toMatch(/^4 of /)
  await other.evaluate(() => localStorage.setItem('gradwalk-lesson', JSON.stringify({ version: 1, done: [] })))
  await expect.poll(() => progress(page)).toMatch(/^0 of /)
})

test('skip links come first and lead to the chapter and to its steps', async ({ visit }) => {
  const { page, open } = await visit()
  await open('#back')
  await page.keyboard.press('Tab')
  expect(await focused(page)).toBe('skip to the chapter')
  expect((await page.getByRole('button', { name: 'skip to the chapter' }).boundingBox())!.x).toBeGreaterThanOrEqual(0) // seen while it has the focus
  await page.keyboard.press('Enter')
  expect(await focused(page)).toBe('chapter-title')
  await page.reload()
  await next(figure(page, 'back-graph')).waitFor()
  await page.keyboard.press('Tab')
  await page.keyboard.press('Tab')
  expect(await focused(page)).toBe('skip to the steps')
  await page.keyboard.press('Enter')
  expect(await focused(page)).toBe('step forward: compute e')
  await page.keyboard.press('Enter')
  expect(await focused(page)).toBe('step forward: compute f')
})

test('focus never falls to the body when what had it goes away', async ({ visit }) => {
  const { page, open } = await visit()
  await open('#back')
  const graph = figure(page, 'back-graph')
  await next(graph).focus()
  for (let i = 0; i < 8; i++) await page.keyboard.press('Enter')
  await expect.poll(() => focused(page)).toBe('back-graph') // the button is at its end; arrow keys go on
  await page.keyboard.press('ArrowLeft')
  await (await menuOf(graph)).getByRole('button', { name: 'reset' }).focus()
  await page.keyboard.press('Enter')
  expect(await focused(page)).toMatch(/^step forward/)
  const undo = (await menuOf(graph)).getByRole('button', { name: 'undo' })
  for (let i = 0; i < 30 && !(await undo.isDisabled()); i++) {
    await undo.focus()
    await page.keyboard.press('Enter')
  }
  await expect.poll(() => focused(page)).toBe('back-graph')
  const quiz = figure(page, 'back-quiz')
  await quiz.getByTestId('answer').fill('10')
  await page.keyboard.press('Enter')
  await quiz.getByTestId('next-question').focus()
  await page.keyboard.press('Enter')
  expect(await focused(page)).toBe('gradient of b')
  await quiz.getByTestId('answer').fill('10')
  await page.keyboard.press('Enter')
  expect(await quiz.getByTestId('next-question').count()).toBe(0)

  await open('#order')
  const order = figure(page, 'order-try')
  await order.getByRole('button', { name: 'run all' }).focus()
  await page.keyboard.press('Enter')
  await expect.poll(() => focused(page)).toBe('order-try')
  await order.getByRole('button', { name: /^I give up/ }).focus()
  await page.keyboard.press('Enter')
  await expect.poll(() => focused(page)).toBe('order-try')
  await open('#nowhere')
  await page.getByRole('button', { name: 'OK' }).focus()
  await page.keyboard.press('Enter')
  expect(await focused(page)).toBe('chapter-title')
  // The opening's buttons are switched off by the answer.
  await page.waitForSelector('[data-phase=asking]', { timeout: 60_000 })
  const isFalling = (await page.getByTestId('tangent').getAttribute('stroke-dasharray')) !== null
  await page.getByRole('button', { name: isFalling ? 'larger →' : '← smaller' }).focus()
  await page.keyboard.press('Enter')
  await page.waitForSelector('[data-phase=done]', { timeout: 60_000 })
  expect(await focused(page)).not.toBe('body')
})

test('number fields select their text, code is folded until opened and stays as it was left', async ({ visit }) => {
  const { page, open } = await visit()
  const selected = () => page.evaluate(() => (getSelection()?.toString() || (document.activeElement as HTMLInputElement).value.slice((document.activeElement as HTMLInputElement).selectionStart ?? 0)))
  await open('#fill')
  await page.getByLabel('value of b').focus()
  expect(await selected()).toBe('−3')
  await page.keyboard.type('4')
  await page.keyboard.press('Enter')
  expect(await page.getByLabel('value of b').inputValue()).toBe('4')
  await open('#back')
  const code = figure(page, 'back-graph').getByTestId('code-view')
  expect(await code.getByTestId('code').count()).toBe(0)
  await show(figure(page, 'back-graph'), 'code')
  await code.getByRole('button', { name: 'PyTorch' }).click()
  await page.reload()
  await expect.poll(() => textOf(code.getByTestId('code'))).toContain('torch.tensor')
  await code.getByRole('button', { name: 'close' }).click()
  await open('#rules')
  const hand = page.getByTestId('hand').getByRole('textbox')
  await hand.fill('12')
  await (await menuOf(figure(page, 'rules-graph'))).getByTestId('by-hand').focus()
  await page.keyboard.press('Escape')
  expect(await figure(page, 'rules-graph').getByTestId('menu').count()).toBe(0)
  await hand.focus()
  await page.keyboard.type('−6')
  expect(await hand.inputValue()).toBe('−6')
  expect(await figure(page, 'rules-graph').getByTestId('code').count()).toBe(0)
  await open('#learn')
  const seed = figure(page, 'learn-network').getByTestId('train-seed')
  await seed.focus()
  await page.keyboard.type('7')
  expect(await seed.inputValue()).toBe('7')
})

test('by hand nothing shows what is asked for, until it is given or asked for', async ({ visit }) => {
  const { page, open } = await visit()
  await open('#rules')
  const graph = figure(page, 'rules-graph')
  expect(await next(graph).isDisabled()).toBe(true)
  expect(await graph.getByTestId('play').isDisabled()).toBe(true)
  for (const key of ['ArrowRight', 'End', ' ']) await graph.press(key)
  await graph.getByTestId('scrubber').fill('9')
  expect(Number(await graph.getByTestId('scrubber').inputValue())).toBe(0)
  const hand = graph.getByTestId('hand')
  for (const data of ['-6', '1', '-6', '1']) {
    await hand.getByRole('textbox').fill(data)
    await page.keyboard.press('Enter')
  }
  // f is about to pay: neither its edges nor their words tell what they will bring.
  expect(await hand.getByRole('textbox').count()).toBe(2)
  const pill = (edge: string) => graph.locator(`[data-testid=edge][aria-label^="${edge}"]`).getAttribute('data-edge').then((key) => graph.locator(`[data-testid=pill][data-edge="${key}"]`).textContent())
  expect(await pill('edge from d to f')).toBe('×?')
  expect(await pill('edge from a to d')).toMatch(/^×3/)
  await graph.locator('[data-testid=edge][aria-label^="edge from d to f"]').press('Enter')
  expect(await textOf(graph.getByTestId('edge-detail'))).toContain('Its number is the answer you are asked for.')
  await hand.getByRole('button', { name: 'show me' }).click()
  expect(await textOf(graph.getByTestId('story'))).toContain('d.grad += f.grad · e = 1 · 1 = +1')
})

test('one finger scrolls the page over a figure, two pan and zoom it', async ({ visit }) => {
  const { page, open } = await visit({ viewport: narrow, hasTouch: true })
  await open(`#own/own-graph?e=${encodeURIComponent('a=1;b=2;c=3;d=4;e=a*b+c*d;f=sin(a)*cos(b)-tanh(c)/exp(d);g=(e+f)*(e-f)+a*d')}`)
  const frame = figure(page, 'own-graph').getByTestId('graph')
  await frame.evaluate((one) => one.scrollIntoView({ block: 'start' }))
  const session = await page.context().newCDPSession(page)
  const box = (await frame.boundingBox())!
  const drag = async (from: [number, number][], to: [number, number][]) => {
    const at = (part: number) => from.map(([x, y], i) => ({ x: box.x + x + (to[i]![0] - x) * part, y: box.y + y + (to[i]![1] - y) * part, id: i }))
    await session.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: at(0) })
    for (let i = 1; i <= 8; i++) await session.send('Input.dispatchTouchEvent', { type: 'touchMove', touchPoints: at(i / 8) })
    await session.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] })
  }
  const state = () => frame.evaluate((one) => ({ left: one.scrollLeft, top: scrollY, wide: one.scrollWidth }))
  const before = await state()
  expect(before.wide).toBeGreaterThan(box.width + 60)
  await drag([[150, 300], [250, 300]], [[70, 300], [170, 300]])
  await expect.poll(async () => (await state()).left).toBeGreaterThan(before.left + 60)
  expect((await state()).wide).toBe(before.wide)
  const panned = await state()
  await drag([[150, 300], [190, 300]], [[110, 300], [230, 300]])
  await expect.poll(async () => (await state()).wide).toBeGreaterThan(1.5 * before.wide)
  expect((await state()).top).toBe(panned.top)
  await drag([[150, 400], [250, 400]], [[150, 250], [250, 250]])
  await expect.poll(async () => (await state()).top).toBeGreaterThan(panned.top + 100)
  const now = await state()
  await drag([[150, 400]], [[150, 250]])
  await expect.poll(async () => (await state()).top).toBeGreaterThan(now.top + 60)
})

test('a figure alone: for a slide or a frame, at the step its link says, and it goes on from there', async ({ visit }) => {
  const { page, open } = await visit()
  const alone: [chapter: string, figure: string][] = [['start', 'start-network'], ['fill', 'fill-nudge'], ['back', 'back-graph'], ['rules', 'rules-wiggle'], ['twice', 'twice-broken'], ['order', 'order-try'], ['sort', 'sort-steps'], ['own', 'own-graph'], ['own', 'own-quiz'], ['learn', 'learn-network'], ['tensors', 'tensors-layer'], ['practice', 'practice-go']]
  for (const [chapter, id] of alone) {
    await page.goto('about:blank')
    await open(`#embed/${chapter}/${id}`)
    await figure(page, id).waitFor()
    expect(`${id}: ${await page.locator('figure').count()} ${await page.locator('header, nav, footer, [data-testid=tasks]').count()}`).toBe(`${id}: 1 0`)
  }
  await page.goto('about:blank')
  await open('#embed/order/order-try?e=a=2%3B%20b=a%2B1%3B%20c=3*a%3B%20d=b*c&o=5,4,2,0&s=8')
  const order = figure(page, 'order-try')
  expect(await textOf(order.getByTestId('phase'))).toMatch(/^done/)
  await order.getByRole('button', { name: 'step back' }).click()
  await expect.poll(() => page.url()).toMatch(/#embed\/order\/order-try\?.*&s=7$/)
  // Its own link stands under "picture", with the state it has then.
  await open('#back')
  const graph = figure(page, 'back-graph')
  for (let i = 0; i < 4; i++) await next(graph).click()
  await show(graph, 'souvenir')
  await expect.poll(() => page.url()).toContain('s=4')
  const link = graph.getByRole('link', { name: 'this figure alone' })
  await link.focus()
  expect(await link.getAttribute('href')).toMatch(/^#embed\/back\/back-graph\?.*s=4$/)
  await open('#embed/order/nothing')
  expect(await textOf(page.getByTestId('link-problem'))).toContain('it names a figure that is not in this chapter')
})

test('the present step as SVG and PNG, and the walk as a film', { timeout: 120_000 }, async ({ visit }) => {
  const { page, open } = await visit()
  await open('#twice/twice-graph?s=3')
  const graph = figure(page, 'twice-graph')
  await show(graph, 'souvenir')
  const saved = async (name: string) => {
    const [download] = await Promise.all([page.waitForEvent('download', { timeout: 90_000 }), graph.getByRole('button', { name }).click()])
    const parts: Buffer[] = []
    for await (const part of await download.createReadStream()) parts.push(part as Buffer)
    return { name: download.suggestedFilename(), bytes: Buffer.concat(parts) }
  }
  const svg = await saved('this step as SVG')
  expect(svg.name).toBe('twice-graph-3.svg')
  const text = svg.bytes.toString()
  const seen = await page.evaluate((source) => {
    const picture = new DOMParser().parseFromString(source, 'image/svg+xml')
    return { isBad: picture.querySelector('parsererror') !== null, texts: [...picture.querySelectorAll('text')].map((one) => one.textContent!.trim()), scripts: picture.querySelectorAll('script, foreignObject, input').length }
  }, text)
  expect(seen).toMatchObject({ isBad: false, scripts: 0 })
  for (const one of ['1 × 3 = +3', '9', '+6', 'seed +1', 'paid +1']) expect(seen.texts).toContain(one)
  expect(seen.texts.filter((one) => one === '3')).toHaveLength(1) // a leaf's value, which is a field on the page
  const png = await saved('this step as PNG')
  expect(png.bytes.subarray(0, 8).toString('latin1')).toBe('\x89PNG\r\n\x1a\n')
  expect(png.bytes.readUInt32BE(16)).toBeGreaterThan(700)
  const film = await saved('the walk as a film (WebP)')
  expect(film.name).toBe('twice-graph.webp')
  expect(film.bytes.subarray(0, 4).toString()).toBe('RIFF')
  const { frames, seconds } = await page.evaluate(async (base64) => {
    const decoder = new ImageDecoder({ data: Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0)), type: 'image/webp' })
    await decoder.tracks.ready
    const frames = decoder.tracks.selectedTrack!.frameCount
    let seconds = 0
    for (let i = 0; i < frames; i++) {
      const { image } = await decoder.decode({ frameIndex: i })
      seconds += (image.duration ?? 0) / 1e6
      image.close()
    }
    return { frames, seconds }
  }, film.bytes.toString('base64'))
  expect(frames).toBeGreaterThan(30)
  expect(seconds).toBeGreaterThan(5)
  // The figure stands where it stood.
  expect(Number(await graph.getByTestId('scrubber').inputValue())).toBe(3)
})

test('on paper nothing sticks to a sheet, and networks with their planes are no wider than it', async ({ visit }) => {
  const { page, open } = await visit()
  // A browser that prints lays the page out anew and sends no event: observers of sizes are not called.
  await page.addInitScript(() => {
    const Observer = window.ResizeObserver
    window.ResizeObserver = class extends Observer {
      constructor(tell: ResizeObserverCallback) {
        super((entries, observer) => (window as unknown as { isPrinting?: boolean }).isPrinting || tell(entries, observer))
      }
    }
  })
  for (const chapter of ['back', 'learn']) {
    await open(`#${chapter}`)
    await page.locator(chapter === 'learn' ? '#learn-network canvas' : '#back-graph').first().waitFor()
    await page.evaluate(() => Object.assign(window, { isPrinting: true }))
    await page.emulateMedia({ media: 'print' })
    await page.setViewportSize({ width: 700, height: 990 })
    const paper = await page.evaluate(() => ({
      stuck: [...document.querySelectorAll('*')].filter((one) => ['sticky', 'fixed'].includes(getComputedStyle(one).position) && one.getClientRects().length).map((one) => one.className),
      networks: [...document.querySelectorAll('[data-testid=train-figure] canvas')].map((canvas) => {
        const [box, figure] = [canvas.getBoundingClientRect(), canvas.closest('figure')!.getBoundingClientRect()]
        let isCut = false
        for (let one = canvas.parentElement!; one !== canvas.closest('figure'); one = one.parentElement!) {
          const around = one.getBoundingClientRect()
          isCut ||= getComputedStyle(one).overflow === 'hidden' && (around.right < box.right - 1 || around.bottom < box.bottom - 1)
        }
        return { isInside: box.right <= figure.right && box.bottom <= figure.bottom, isCut, isDrawn: box.width > 300 && box.height > 100 }
      }),
      names: [...document.querySelectorAll('#learn-network .name')].map((name) => Math.round(name.getBoundingClientRect().right)).filter((right) => right > 700),
    }))
    expect({ chapter, ...paper }).toEqual({ chapter, stuck: [], networks: chapter === 'learn' ? Array(2).fill({ isInside: true, isCut: false, isDrawn: true }) : [], names: [] })
    await page.evaluate(() => Object.assign(window, { isPrinting: false }))
    await page.emulateMedia({ media: 'screen' })
    await page.setViewportSize({ width: 1280, height: 900 })
  }
})

test('on paper a chapter is a handout: nothing to press, light, no wider than the sheet, all questions, answers at the end', async ({ visit }) => {
  const { page, open } = await visit({ colorScheme: 'dark' })
  for (const chapter of chapters) {
    await open(`#${chapter}`)
    await page.locator('figure').first().waitFor()
    await page.emulateMedia({ media: 'print' })
    await page.setViewportSize({ width: 700, height: 990 })
    const paper = await page.evaluate(() => {
      const isSeen = (one: Element) => one.getClientRects().length > 0 && getComputedStyle(one).visibility === 'visible'
      const answers = document.querySelector('[data-testid=answers]')
      return {
        paper: getComputedStyle(document.body).backgroundColor,
        ink: getComputedStyle(document.body).color,
        pressed: [...document.querySelectorAll('button, select, input, summary, nav')].filter(isSeen).map((one) => one.outerHTML.slice(0, 80)),
        width: document.documentElement.scrollWidth,
        answers: answers && isSeen(answers) ? [...answers.querySelectorAll('li')].map((one) => one.textContent!) : [],
        isLast: answers === null || [...document.querySelectorAll('figure, p, [data-testid=tasks]')].every((one) => answers.contains(one) || !isSeen(one) || (answers.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_PRECEDING) !== 0),
        questions: [...document.querySelectorAll('.printed li')].filter(isSeen).length,
      }
    })
    expect({ chapter, ...paper }).toMatchObject({ chapter, paper: 'rgb(255, 255, 255)', ink: 'rgb(35, 34, 30)', pressed: [], width: 700, isLast: true })
    if (chapter === 'back') {
      expect(paper.questions).toBe(2)
      expect(paper.answers).toEqual([
        'a=2; b=−3; c=10; e=a+b; f=e*c. Gradients: a +10, b +10, e +10, c −1, f +1.',
        'a=2; b=−3; c=10; e=a+b; f=e*c. ∂f/∂a = 10.',
        'a=2; b=−3; c=10; e=a+b; f=e*c. ∂f/∂b = 10.',
      ])
    }
    await page.emulateMedia({ media: 'screen' })
    await page.setViewportSize({ width: 1280, height: 900 })
    expect(await page.getByTestId('answers').isVisible().catch(() => false)).toBe(false)
  }
})
