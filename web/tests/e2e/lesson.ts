// SPDX-License-Identifier: MIT
// Shared by the tests of the page: a browser, a fresh visit for every test, and reading figures as a person would. A visit
// during which the page threw, logged anything, missed a file or asked another host for anything fails its test.
import { chromium, type Browser, type BrowserContextOptions, type Locator, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test as plainTest } from 'vitest'
import { serve } from './server.ts'

const flags = ['no-sandbox', 'disable-gpu', 'disable-quic', 'no-first-run', 'disable-background-networking', 'disable-component-update', 'disable-sync']

let browser: Browser
let server: Awaited<ReturnType<typeof serve>>
beforeAll(async () => {
  server = await serve()
  browser = await chromium.launch({
    executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
    args: flags.map((flag) => `--${flag}`),
  })
})
afterAll(async () => {
  await browser?.close()
  server?.close()
})

export const wide = { width: 1280, height: 900 }
export const narrow = { width: 380, height: 800 }
export const middle = { width: 768, height: 1024 }
export const sizes = [wide, narrow]
export const chapters = ['fill', 'back', 'rules', 'neuron', 'twice', 'order', 'sort', 'write', 'own', 'learn', 'tensors', 'digits', 'practice']

export interface Visit {
  page: Page
  /** Opens an address such as '#order'; '' is the lesson's first page. */
  open(hash?: string): Promise<void>
  address: string
}
/** `isLocal`: files are opened, and no server is asked for anything. `mayComplain`: the browser is expected to log something. */
type Visiting = (options?: BrowserContextOptions, where?: { isLocal?: boolean; mayComplain?: boolean }) => Promise<Visit>

/** `visit()` begins a visit of its own: nothing is remembered from any other. */
export const test = plainTest.extend<{ visit: Visiting }>({
  visit: async ({}, use) => {
    const problems: string[] = []
    const closers: (() => Promise<void>)[] = []
    await use(async (options = {}, { isLocal = false, mayComplain = false } = {}) => {
      // Stills unless a test is about motion: a step then takes no time.
      const context = await browser.newContext({ viewport: wide, reducedMotion: 'reduce', ...options })
      closers.push(() => context.close())
      context.setDefaultTimeout(30_000)
      const page = await context.newPage()
      page.on('pageerror', (error) => problems.push(`thrown: ${error.message}`))
      page.on('console', (message) => mayComplain || problems.push(`console: ${message.text()}`))
      page.on('crash', () => problems.push('the page crashed'))
      page.on('response', (response) => response.status() >= 400 && problems.push(`${response.status()} for ${response.url()}`))
      page.on('request', (request) => {
        const ours = isLocal ? ['file:', 'about:srcdoc'] : [server.address, 'data:']
        if (!ours.some((one) => request.url().startsWith(one))) problems.push(`asked for ${request.url()}`)
      })
      return {
        page,
        address: server.address,
        async open(hash = '') {
          await page.goto(server.address + hash)
          await page.getByRole('heading', { level: 2 }).first().waitFor()
          // In a page that is open already, the event that turns to the chapter comes after the address.
          const chapter = hash.match(/^#(\w+)/)?.[1] ?? ''
          if (chapters.includes(chapter)) await page.locator(`[data-chapter=${chapter}]`).waitFor()
          await page.evaluate(() => new Promise((drawn) => setTimeout(() => setTimeout(drawn))))
          // Some figures are loaded with their chapter.
          await expect.poll(() => page.getByTestId('loading-figure').count(), { timeout: 60_000 }).toBe(0)
        },
      }
    })
    for (const close of closers) await close()
    expect(problems).toEqual([])
  },
})

export const figure = (page: Page, id: string) => page.locator(`[id="${id}"]`)

export const next = (figure: Locator) => figure.getByRole('button', { name: /^step forward/ })

/** Steps to the end with the button, one press per step; gives the number of steps. */
export async function walkToEnd(figure: Locator): Promise<number> {
  const button = next(figure)
  let steps = 0
  while (await button.isEnabled()) {
    await button.click()
    if (++steps > 400) throw new Error('the walk does not end')
  }
  return steps
}

/** By its title in the figure's list of graphs. */
export const choose = (figure: Locator, graph: string) => figure.getByRole('combobox', { name: /^graph/ }).selectOption({ label: graph })

/** The menu of a figure's bar, opened. */
export async function menuOf(figure: Locator): Promise<Locator> {
  const menu = figure.getByTestId('menu')
  if (!(await menu.count())) await figure.getByTestId('more').click()
  return menu
}
/** Opens the graph as code, as a table, or as pictures, and closes the menu again. */
export async function show(figure: Locator, view: 'code' | 'table' | 'souvenir', isOpen = true) {
  await (await menuOf(figure)).getByTestId(`menu-${view}`).setChecked(isOpen)
  await figure.getByTestId('more').click()
}

export type Row = { made: string; data: string; grad: string }

/** "The graph as a table", by node name; opens it if need be. */
export async function tableOf(figure: Locator): Promise<Record<string, Row>> {
  const view = figure.getByTestId('table-view')
  // Where there is no walk, there is no menu either.
  if (await view.locator('summary').count()) {
    if (!(await view.getByRole('table').count())) await view.locator('summary').click()
  } else if (!(await view.count())) await show(figure, 'table')
  await view.getByRole('table').waitFor()
  const rows = await view
    .locator('tbody tr')
    .evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent!.trim())))
  return Object.fromEntries(rows.map(([name, made, data, grad]) => [name, { made: made!, data: data!, grad: grad! }]))
}

/** The contents of a card: its numbers, and the same in its accessible name. */
export async function cardOf(figure: Locator, name: string) {
  const card = figure.locator(`[data-testid=node][data-node="${name}"]`)
  return { grad: (await card.getByTestId('grad').textContent())!, name: (await card.getByRole('button').getAttribute('aria-label'))! }
}

/** A table's body, cell by cell. */
export const cellsOf = (table: Locator) =>
  table.locator('tbody tr').evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent!.replace(/\s+/g, ' ').trim())))

export const textOf = async (locator: Locator) => (await locator.innerText()).replace(/\s+/g, ' ').trim()
export const count = async (figure: Locator) => Number(await figure.getByTestId('scrubber').inputValue())

/** For `addInitScript` or `evaluate`: time stands still but for advance(ms), which runs one frame. */
export function virtualClock() {
  let now = 0
  let waiting: [number, FrameRequestCallback][] = []
  let last = 0
  Object.assign(window, {
    requestAnimationFrame: (run: FrameRequestCallback) => {
      waiting.push([++last, run])
      return last
    },
    cancelAnimationFrame: (id: number) => (waiting = waiting.filter(([one]) => one !== id)),
    advance: (ms: number) => {
      now += ms
      const due = waiting
      waiting = []
      for (const [, run] of due) run(now)
    },
  })
  performance.now = () => now
}

/** One frame of a page with a virtual clock, and what follows from it. */
export const advance = (page: Page, ms: number) =>
  page.evaluate(async (by) => {
    ;(window as unknown as { advance(ms: number): void }).advance(by)
    await new Promise((done) => setTimeout(done))
  }, ms)

/** The main thread's own time for what `act` sets off, in milliseconds: tasks counted by the browser, not by the wall. */
export async function busy(page: Page, act: () => Promise<unknown>): Promise<number> {
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable', { timeDomain: 'threadTicks' })
  const taken = async () => (await session.send('Performance.getMetrics')).metrics.find((one) => one.name === 'TaskDuration')!.value
  const before = await taken()
  await act()
  await page.evaluate(() => new Promise((painted) => requestAnimationFrame(() => setTimeout(painted))))
  const time = 1000 * ((await taken()) - before)
  await session.detach()
  return time
}
