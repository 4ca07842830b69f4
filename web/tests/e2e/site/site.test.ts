// SPDX-License-Identifier: MIT
// The documentation site as `./run docs` serves it: every link leads somewhere, and every page loads without a message of the
// browser's; search, the walkers in the pages and the lesson at /lesson/ work, wide and narrow. Needs tools/build-docs.
import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import type axe from 'axe-core'
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../../../', import.meta.url))
const folder = `${root}build/docs/site/`
const tool = process.env['GRADWALK'] ?? `${root}build/release/gradwalk`
const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core'), 'utf8')
const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
const pages = files.filter((name) => name.endsWith('.html') && !/^(lesson|walkers)\//.test(name)).sort()
const sizes = [
  { width: 1280, height: 900 },
  { width: 380, height: 800 },
]

let server: ChildProcess
let browser: Browser
let address = ''
beforeAll(async () => {
  server = spawn(tool, ['lesson', '--folder', folder, '--port', '0'], { stdio: ['ignore', 'pipe', 'inherit'] })
  address = await new Promise<string>((done, fail) => {
    server.on('exit', () => fail(new Error('the server ended')))
    server.stdout!.on('data', (text: Buffer) => {
      const found = /http:\S+/.exec(String(text))
      if (found) done(found[0])
    })
  })
  browser = await chromium.launch({ executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] })
})
afterAll(async () => {
  await browser?.close()
  server?.kill()
})

/** Visits the site; what the browser reports meanwhile is a problem. */
async function visit(options: BrowserContextOptions, use: (page: Page) => Promise<void>) {
  const problems: string[] = []
  const context = await browser.newContext({ reducedMotion: 'reduce', ...options })
  context.setDefaultTimeout(15_000)
  const page = await context.newPage()
  page.on('pageerror', (error) => problems.push(`${page.url()} threw: ${error.message}`))
  page.on('console', (message) => problems.push(`${page.url()} logged: ${message.text()}`))
  page.on('response', (response) => response.status() >= 400 && problems.push(`${response.status()} for ${response.url()}`))
  page.on('request', (request) => !/^(data:|blob:)/.test(request.url()) && !request.url().startsWith(address) && problems.push(`asked for ${request.url()}`))
  await use(page)
  await context.close()
  expect(problems).toEqual([])
}
const isReady = (page: Page) => page.waitForFunction(() => document.querySelector<HTMLElement & { __vue_app__?: unknown }>('#app')?.__vue_app__)
const widthOf = (page: Page) => page.evaluate(() => document.documentElement.scrollWidth)

test('every link and picture of every page leads to a file, and every #anchor to an element of it', () => {
  const idsOf = new Map<string, Set<string>>()
  const ids = (file: string) => {
    if (!idsOf.has(file)) idsOf.set(file, new Set([...readFileSync(folder + file, 'utf8').matchAll(/\sid="([^"]*)"/g)].map((match) => match[1]!)))
    return idsOf.get(file)!
  }
  const dead: string[] = []
  let count = 0
  for (const file of pages)
    for (const [, link] of readFileSync(folder + file, 'utf8').matchAll(/\s(?:href|src)="([^"]*)"/g)) {
      if (/^[a-z]+:/.test(link!) || file === '404.html') continue
      const [path, anchor] = link!.replaceAll('&amp;', '&').split('#') as [string, string?]
      let target = path === '' ? file : path.startsWith('/') ? path.slice(1) : posix.join(posix.dirname(file), path)
      if (target === '' || target.endsWith('/')) target += 'index.html'
      if (!existsSync(folder + target) && existsSync(`${folder}${target}.html`)) target += '.html'
      count++
      if (!existsSync(folder + target)) dead.push(`${file} links to ${link}, and there is no such file`)
      else if (anchor && target.endsWith('.html') && !ids(target).has(decodeURIComponent(anchor))) dead.push(`${file} links to ${link}, and that page has no such place`)
    }
  expect(dead).toEqual([])
  expect(count).toBeGreaterThan(1000)
})

test('every page loads, and is no wider than a phone', async () => {
  expect(pages.length).toBeGreaterThan(60)
  await visit({ viewport: sizes[1]! }, async (page) => {
    const wide: string[] = []
    for (const file of pages) {
      await page.goto(address + file)
      await isReady(page)
      if ((await widthOf(page)) > 380) wide.push(`${file}: ${await widthOf(page)} px`)
    }
    expect(wide).toEqual([])
  })
})

describe.each(sizes)('at $width px', (viewport) => {
  test('the first page opens with what gradwalk is, the film and the program', async () => {
    await visit({ viewport }, async (page) => {
      await page.goto(address)
      await isReady(page)
      expect(await page.locator('.vp-doc h1 + p').innerText()).toContain('gradwalk is a scalar autograd engine in C++20')
      const film = page.locator('.vp-doc img').first()
      expect(await film.evaluate((image: HTMLImageElement) => image.decode().then(() => image.naturalWidth))).toBeGreaterThan(300)
      expect(await page.locator('div.language-cpp').first().innerText()).toContain('g.backward();')
      expect(await page.locator('.vp-doc').innerText()).toContain('./run')
    })
  })

  test('search finds a name of the reference and goes there', async () => {
    await visit({ viewport }, async (page) => {
      await page.goto(`${address}tutorial.html`)
      await isReady(page)
      await page.locator('.DocSearch-Button, #local-search button').first().click()
      await page.locator('.VPLocalSearchBox input').fill('clip_gradient_norm')
      await page.locator('.VPLocalSearchBox .result').first().click()
      await page.waitForURL(/reference\/.*#clip_gradient_norm$/)
      await page.locator('#clip_gradient_norm').waitFor()
    })
  })

  test('a walker in a page walks its graph to the end, as high as it needs to be', async () => {
    await visit({ viewport }, async (page) => {
      await page.goto(`${address}tutorial.html`)
      await isReady(page)
      const element = page.locator('grad-walk').first().locator('iframe')
      await element.scrollIntoViewIfNeeded()
      const frame = (await (await element.elementHandle())!.contentFrame())!
      const button = frame.getByRole('button', { name: /^step forward/ }).first()
      await button.waitFor()
      let steps = 0
      for (; await button.isEnabled(); steps++) await button.click()
      expect(steps).toBeGreaterThan(3)
      expect(await frame.getByTestId('grad').allTextContents()).toContain('+6')
      await expect.poll(() => element.evaluate((one: HTMLIFrameElement) => one.clientHeight - one.contentDocument!.documentElement.scrollHeight)).toBe(0)
      expect(await widthOf(page)).toBe(viewport.width)
    })
  })

  test('the lesson is at /lesson/, one click away', async () => {
    await visit({ viewport }, async (page) => {
      await page.goto(`${address}tutorial.html`)
      await isReady(page)
      if (viewport.width < 768) await page.getByRole('button', { name: 'mobile navigation' }).click()
      await page.locator('a[href="/lesson/"]:visible').first().click()
      await page.waitForURL(`${address}lesson/`)
      await page.getByRole('heading', { level: 2 }).first().waitFor()
    })
  })

  test('words and code have the contrast that reading needs, in light and dark', async () => {
    const wrong: string[] = []
    for (const colorScheme of ['light', 'dark'] as const)
      await visit({ viewport, colorScheme }, async (page) => {
        for (const file of ['', 'tape.html', 'csv.html', 'reference/cpp/loss.html', 'reference/ops.html']) {
          await page.goto(address + file)
          await isReady(page)
          expect(await page.evaluate(() => document.documentElement.classList.contains('dark'))).toBe(colorScheme === 'dark')
          await page.evaluate(`${axeSource}\n;0`) // a script tag would be refused
          const { violations } = await page.evaluate(() => (window as unknown as { axe: typeof axe }).axe.run({ runOnly: ['color-contrast'], resultTypes: ['violations'] }))
          wrong.push(...violations.map(({ id, nodes }) => `/${file}, ${colorScheme}: ${id} at ${nodes.slice(0, 3).map((node) => node.target.join(' ')).join(', ')}`))
        }
      })
    expect(wrong).toEqual([])
  })
})
