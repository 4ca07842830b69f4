// SPDX-License-Identifier: MIT
// The training worker's protocol, without the worker around it.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { trainServer } from '../src/engine/train_server.ts'
import type { TrainRequest, TrainResponse } from '../src/engine/types.ts'

const module = new WebAssembly.Module(readFileSync(new URL('../src/engine/gradwalk.wasm', import.meta.url)))
const options = {
  ...({ kind: 'moons', samples: 50, noise: 0.1, seed: 1, hidden: [8], rate: 0.2, activation: 'relu' } as const),
}
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

function server() {
  const got: TrainResponse[] = []
  const receive = trainServer((response) => got.push(response))
  const send = async (request: TrainRequest) => {
    await receive(request)
    return got.splice(0)
  }
  return { got, send }
}

test('it trains between start and pause, and posts at most 30 times a second', async () => {
  const { got, send } = server()
  await send({ type: 'init', module })
  expect((await send({ type: 'reset', options })).map(({ type }) => type)).toEqual(['points', 'state'])
  await send({ type: 'regions', view: { x0: -1, x1: 2, y0: -1, y1: 1, width: 10, height: 10 } })
  const begin = performance.now()
  await send({ type: 'start' })
  await sleep(1000)
  const seconds = (performance.now() - begin) / 1000 // more than one where the machine is busy
  expect(got.length).toBeGreaterThan(5)
  expect(got.length).toBeLessThanOrEqual(1 + 30 * seconds)
  const [last] = (await send({ type: 'pause' })).slice(-1)
  if (last?.type !== 'state') throw new Error('no state')
  expect(last.running).toBe(false)
  expect(last.step).toBeGreaterThan(20)
  expect(last.regions!.label).toHaveLength(100)
  await sleep(100)
  expect(got).toEqual([])
  expect(await send({ type: 'step', count: 2 })).toMatchObject([{ type: 'state', step: last.step + 2, running: false }])
  expect(await send({ type: 'history' })).toMatchObject([{ type: 'history' }])
  expect(await send({ type: 'walkPoint', index: 3 })).toMatchObject([{ type: 'walk', index: 3 }])
})

test('errors stop the run and are reported', async () => {
  const { got, send } = server()
  expect(await send({ type: 'start' })).toMatchObject([{ type: 'error' }])
  await send({ type: 'init', module })
  await send({ type: 'reset', options })
  await send({ type: 'setRate', rate: 1e300 })
  await send({ type: 'start' })
  await expect.poll(() => got.at(-1)?.type).toBe('error')
  const told = got.splice(0)
  expect(told.at(-1)).toMatchObject({ type: 'error' })
  expect((told.at(-1) as { message: string }).message).toContain('a loss that is finite')
  await send({ type: 'setRate', rate: 0.1 })
  expect(await send({ type: 'step', count: 1 })).toMatchObject([{ type: 'state', step: 1 }])
})
