// SPDX-License-Identifier: MIT
// The web component <grad-walk>, as others use it: packed by tools/npm-package, installed by npm in a folder outside the project, and
// used by a page there, from its own host and from another one.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium, type Browser, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'

const project = fileURLToPath(new URL('../../../', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'grad-walk-'))
const types: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript' }
/** No script may run inside a page, as on many hosts. */
const policy = "script-src 'self' 'wasm-unsafe-eval' http://127.0.0.1:*"
const servers: Server[] = []
async function serve(): Promise<string> {
  const server = createServer((request, response) => {
    const path = new URL(request.url!, 'http://localhost').pathname
    try {
      const body = readFileSync(join(folder, path))
      response.writeHead(200, { 'content-type': types[extname(path)] ?? 'application/octet-stream', 'content-security-policy': policy, 'access-control-allow-origin': '*' }).end(body)
    } catch {
      response.writeHead(404).end()
    }
  })
  servers.push(server)
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

let browser: Browser
let host: string
let other: string
beforeAll(async () => {
  const made = execFileSync(join(project, 'tools/npm-package'), { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim().split('\n').at(-1)!
  writeFileSync(join(folder, 'package.json'), '{"private": true}')
  execFileSync('npm', ['install', '--offline', '--no-audit', '--no-fund', join(project, made)], { cwd: folder, stdio: 'ignore' })
  host = await serve()
  other = await serve()
  const page = (from: string) =>
    `<!doctype html><meta charset="utf-8"><title>elsewhere</title><link rel="icon" href="data:,"><style>button { display: none }</style><script type="module" src="${from}node_modules/grad-walk/grad-walk.js"></script>
    <p>Before.</p><grad-walk id="one" expression="a=3; b=a*a" label="a square"></grad-walk><grad-walk id="two" expression="a=2; b=a+1; c=3*a; d=b*c" rule="overwrite" step="3"></grad-walk><p>After.</p>`
  writeFileSync(join(folder, 'index.html'), page('/'))
  writeFileSync(join(folder, 'far.html'), page(other))
  browser = await chromium.launch({ executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] })
}, 600_000)
afterAll(async () => {
  await browser?.close()
  for (const server of servers) server.close()
  rmSync(folder, { recursive: true })
})

async function visited(work: (page: Page) => Promise<void>) {
  const problems: string[] = []
  const context = await browser.newContext({ viewport: { width: 1000, height: 900 }, reducedMotion: 'reduce' })
  const page = await context.newPage()
  page.on('pageerror', (error) => problems.push(error.message))
  page.on('console', (message) => problems.push(message.text()))
  await work(page)
  await context.close()
  expect(problems).toEqual([])
}
const walkerIn = (page: Page, id: string) => page.locator(`#${id}`).locator('iframe').contentFrame()

test.each(['index.html', 'far.html'])('%s: it walks its graph, as high as it needs to be, whatever the page around it looks like', async (name) => {
  await visited(async (page) => {
    await page.goto(host + name)
    const walker = walkerIn(page, 'one')
    const next = walker.getByRole('button', { name: /^step forward/ }).first()
    await next.waitFor()
    while (await next.isEnabled()) await next.click()
    expect(await walker.locator('[data-testid=node][data-node=a]').getByTestId('grad').textContent()).toBe('+6')
    const frame = page.locator('#one').locator('iframe')
    expect(await frame.getAttribute('title')).toBe('a square')
    const inside = () => walker.locator('html').evaluate((root) => Math.ceil(root.getBoundingClientRect().height))
    await expect.poll(async () => (await frame.boundingBox())!.height - (await inside())).toBe(0)
    // The second begins with a broken rule, at a step.
    const broken = walkerIn(page, 'two')
    await page.locator('#two').scrollIntoViewIfNeeded()
    await broken.getByTestId('phase').first().waitFor()
    expect(await broken.locator('[id=shown-broken]').count()).toBe(1)
  })
})

test('a new expression or graph is shown at once, and an unreadable one gives an error message', async () => {
  await visited(async (page) => {
    await page.goto(`${host}index.html`)
    const walker = walkerIn(page, 'one')
    await walker.locator('[data-testid=node][data-node=b]').waitFor()
    await page.evaluate(() => document.getElementById('one')!.setAttribute('expression', 'u=2; v=u+u'))
    await walker.locator('[data-testid=node][data-node=v]').waitFor()
    await page.evaluate(() => ((document.getElementById('one') as unknown as { expression: string }).expression = 'u=2; v=u*'))
    await expect.poll(() => walker.locator('#page').textContent()).toContain('This graph cannot be shown: expression: needs')
    const node = (name: string, op: string, data: number, operands: number[], locals: number[]) => ({ name, label: name, op, symbol: op, data, operands, locals: locals.map((value) => ({ formula: 'given', with_names: 'given', value })) })
    const graph = { nodes: [node('x', 'leaf', 4, [], []), node('y', 'sqrt', 2, [0], [0.25])], root: 1 }
    await page.evaluate((given) => ((document.getElementById('one') as unknown as { graph: unknown }).graph = given), graph)
    await walker.locator('[data-testid=node][data-node=y]').waitFor()
  })
})
