// SPDX-License-Identifier: MIT
// The work of the training worker: it takes TrainRequests and gives TrainResponses (types.ts). While it runs it works in slices
// of a thirtieth of a second and answers once after each, so the page draws at its own pace and messages get through.
import { createEngine, EngineError, type Engine, type Training } from './engine.ts'
import type { GridView, TrainingReport, TrainRequest, TrainResponse } from './types.ts'

const slice = 1000 / 30

/** Gives the function that takes requests; answers go to `post`. */
export function trainServer(post: (response: TrainResponse) => void) {
  let engine: Engine | null = null
  let training: Training | null = null
  let view: GridView | null = null
  let grid = 0
  /** null: whichever is worst, chosen at the start and once more when the first shape is learned. */
  let ring: number | null = null
  let worst = 0
  const settled = 200
  let lastStep = 0
  let timer: ReturnType<typeof setTimeout> | undefined

  const present = (): Training => {
    if (!training) throw new EngineError('train: needs a network, got none; send init, then reset')
    return training
  }

  const postState = (report: TrainingReport) => {
    if (ring === null && (report.step === 0 || (report.step >= settled && lastStep < settled))) worst = present().point(null).index
    lastStep = report.step
    post({ type: 'state', running: timer !== undefined, regions: view ? present().regions(view) : null, network: view && grid ? present().network(view, grid) : null, ring: present().point(ring ?? worst), ...report })
  }

  const pause = () => {
    clearTimeout(timer)
    timer = undefined
  }

  const run = () => {
    timer = setTimeout(() => {
      const begin = performance.now()
      guarded(() => {
        // Drawing the regions takes time, too. The rest of the slice is for steps, at least one.
        let report = present().step(1)
        while (performance.now() - begin < slice / 2) report = present().step(1)
        postState(report)
        if (timer !== undefined) run()
      })
    }, nextTick())
  }

  let last = -Infinity
  /** Until a slice has passed since the last one began. */
  const nextTick = () => {
    const now = performance.now()
    const wait = Math.max(0, last + slice - now)
    last = now + wait
    return wait
  }

  const guarded = (act: () => void) => {
    try {
      act()
    } catch (error) {
      pause()
      post({ type: 'error', message: error instanceof Error ? error.message : String(error) })
    }
  }

  const answer = (request: TrainRequest) => {
    switch (request.type) {
      case 'init':
        return // in receive()
      case 'reset':
        pause()
        if (!engine) throw new EngineError('train: needs the engine, got none; send init first')
        training = engine.createTraining(request.options, request.points)
        ring = null
        worst = 0
        post({ type: 'points', points: training.points() })
        return postState(training.step(0))
      case 'start':
        present()
        if (timer === undefined) run()
        return
      case 'pause':
        pause()
        return postState(present().step(0))
      case 'step':
        return postState(present().step(request.count))
      case 'setRate':
        return present().setRate(request.rate)
      case 'setPoints':
        present().setPoints(request.points)
        ring = null
        worst = present().point(null).index
        return postState(present().step(0))
      case 'regions':
        view = request.view
        if (training) postState(training.step(0))
        return
      case 'ring':
        ring = request.index
        if (ring === null) worst = present().point(null).index
        return postState(present().step(0))
      case 'network':
        grid = request.grid
        if (training) postState(training.step(0))
        return
      case 'history':
        return post({ type: 'history', ...present().history() })
      case 'walkPoint':
        return post({ type: 'walk', index: request.index, walk: present().walkPoint(request.index) })
    }
  }

  return async (request: TrainRequest) => {
    if (request.type === 'init') engine = await createEngine(request.module)
    else guarded(() => answer(request))
  }
}
