// SPDX-License-Identifier: MIT
// The npm package as others use it: packed by tools/npm-package and installed by npm in a folder outside the project. A page there uses
// the web component <grad-walk> and the engine, from its own host and from another one; Node.js and TypeScript use the engine.
import { execFileSync, spawnSync } from 'node:child_process'
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
  // The scripts are files, because of the policy.
  for (const [name, from] of [['engine', '/'], ['far_engine', other]] as const) {
    writeFileSync(
      join(folder, `${name}.js`),
      `import { createEngine, EngineError } from '${from}node_modules/grad-walk/engine/package.js'
       const engine = await createEngine()
       let message = ''
       try { engine.evaluate('u=2; v=u*') } catch (error) { message = error instanceof EngineError ? error.message : 'another error' }
       document.body.textContent = JSON.stringify({ ...engine.evaluate('a=2; b=-3; c=10; f=(a+b)*c', { a: 4 }), message })`,
    )
    writeFileSync(join(folder, `${name}.html`), `<!doctype html><title>engine</title><link rel="icon" href="data:,"><body><script type="module" src="${name}.js"></script>`)
  }
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

const evaluated = { value: 10, data: { a: 4, b: -3, c: 10, f: 10 }, gradients: { a: 10, b: 10, c: 1, f: 1 } }
const unreadable = "expression: needs a number, a name or '(', got the end; write one here\n  u=2; v=u*\n"

test.each(['engine.html', 'far_engine.html'])('%s: a page evaluates an expression by the engine of the package', async (name) => {
  await visited(async (page) => {
    await page.goto(host + name)
    await page.waitForFunction(() => document.body.textContent!.startsWith('{'))
    const { message, ...given } = JSON.parse((await page.locator('body').textContent())!) as { message: string }
    expect(given).toEqual(evaluated)
    expect(message).toContain(unreadable)
  })
})

/** Runs a module in the folder, and returns what it prints. */
const inNode = (code: string) => execFileSync('node', ['--input-type=module', '--eval', code], { cwd: folder, encoding: 'utf8' })

test('Node.js evaluates, walks and trains by the engine of the package', () => {
  const printed = inNode(`
    import { createEngine, EngineError, walkRules } from 'grad-walk/engine'
    const engine = await createEngine()
    const failure = (call) => { try { call() } catch (error) { return error instanceof EngineError && error.message } }
    const training = engine.createTraining({ kind: 'moons', samples: 20, noise: 0.1, seed: 1, hidden: [4], rate: 0.1, activation: 'tanh' })
    const losses = [training.step(1).loss, training.step(50).loss]
    console.log(JSON.stringify({
      evaluated: engine.evaluate('a=2; b=-3; c=10; f=(a+b)*c', { a: 4 }),
      unreadable: failure(() => engine.evaluate('u=2; v=u*')),
      notALeaf: failure(() => engine.evaluate('a=2; b=a+1', { b: 1 })),
      wrong: engine.walk('a=3; b=a+a', { rule: walkRules[1] }).outcomes[0],
      hasLearned: losses[1] < losses[0],
      sum: engine.ops().find(({ name }) => name === 'add').dx,
    }))`)
  const { unreadable: message, ...given } = JSON.parse(printed) as { unreadable: string }
  expect(message).toContain(unreadable)
  expect(given).toEqual({
    evaluated,
    notALeaf: 'evaluate: needs the names of leaves, got b; assign a number to it in the expression',
    wrong: expect.objectContaining({ grad: 1, right_grad: 2 }) as unknown,
    hasLearned: true,
    sum: '1',
  })
})

test('the example of the README prints the numbers beside it', () => {
  const readme = readFileSync(join(folder, 'node_modules/grad-walk/README.md'), 'utf8')
  const code = /```js\n(.*?)```/s.exec(readme)![1]!
  const expected = [...code.matchAll(/\/\/ (.*)/g)].map(([, text]) => text)
  expect(inNode(code).trim().split('\n')).toEqual(expected)
})

test('TypeScript knows the functions of the engine, and refuses wrong arguments', () => {
  writeFileSync(
    join(folder, 'program.mts'),
    `import { createEngine, type Evaluation, type Walk } from 'grad-walk/engine'
     const engine = await createEngine()
     const evaluation: Evaluation = engine.evaluate('a=2; a*a', { a: 3 })
     const walk: Walk = engine.walk('a=2; a*a', { rule: 'overwrite' })
     export const numbers: number[] = [evaluation.gradients['a']!, walk.visits]
     // @ts-expect-error: there is no such rule
     engine.walk('a=2', { rule: 'none' })
     // @ts-expect-error: a text is no number
     engine.evaluate('a=2', { a: '3' })`,
  )
  const tsc = join(project, 'web/node_modules/.bin/tsc')
  const options = ['--noEmit', '--strict', '--target', 'es2022', '--module', 'nodenext', '--moduleResolution', 'nodenext', '--lib', 'es2023,dom', 'program.mts']
  expect(spawnSync(tsc, options, { cwd: folder, encoding: 'utf8' }).stdout).toBe('')
})
