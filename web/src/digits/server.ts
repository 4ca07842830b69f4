// SPDX-License-Identifier: MIT
// The work of the digits' worker: it takes DigitsRequests and gives DigitsResponses. While it trains, it answers about ten times a second,
// and reads the digit on the page again with the new weights.
import { DigitsNetwork } from './network.ts'
import { mostSteps, type DigitsReport, type DigitsRequest, type DigitsResponse } from './types.ts'

/** Milliseconds from one answer to the next, and steps for each: as many as can be watched. */
const pause = 100
const stepsAtOnce = 20

/** Gives the function that takes requests; answers go to `post`. */
export function digitsServer(post: (response: DigitsResponse) => void) {
  let network: DigitsNetwork | null = null
  let report: DigitsReport | null = null
  let seed = 1
  let timer: ReturnType<typeof setTimeout> | undefined
  let pixels: Float64Array | null = null
  let asked: number | null = null
  let labels = new Float64Array()
  let seen = new Float64Array()
  let held = -1

  const postReading = () => {
    if (pixels) post({ type: 'reading', reading: network!.read(pixels, asked) })
  }
  const postState = () => {
    ;({ seen, labels } = network!.check() as { seen: Float64Array<ArrayBuffer>; labels: Float64Array<ArrayBuffer> })
    const right = seen.filter((one, i) => one === labels[i]).length / seen.length
    // Weights after a step are floats, in 64 bits as in 32.
    post({ type: 'state', report: report!, running: timer !== undefined, right, weights: Float32Array.from(network!.weights()) })
  }
  const stop = () => {
    clearTimeout(timer)
    timer = undefined
  }
  const work = () => {
    const begin = performance.now()
    guarded(() => {
      report = network!.step(stepsAtOnce)
      if (report.step >= mostSteps) stop()
      if (timer !== undefined) timer = setTimeout(work, Math.max(0, begin + pause - performance.now()))
      postState()
      // The digit is read between two states, so that the page has one thing to draw at a time.
      setTimeout(() => guarded(postReading), pause / 2)
    })
  }
  const start = () => {
    if (timer === undefined) timer = setTimeout(work)
  }
  const nextHeld = (isWrong: boolean) => {
    for (let tried = 0; tried < labels.length; tried++) {
      held = (held + 1) % labels.length
      if (!isWrong || seen[held] !== labels[held]) break
    }
    post({ type: 'held', index: held, ...network!.held(held) })
  }
  const guarded = (act: () => void) => {
    try {
      act()
    } catch (error) {
      stop()
      post({ type: 'error', message: error instanceof Error ? error.message : String(error) })
    }
  }

  return (request: DigitsRequest) =>
    guarded(() => {
      if (request.type === 'init') {
        network = new DigitsNetwork(request.module, request.file)
        report = network.begin(seed)
        return postState()
      }
      if (!network) throw new Error('digits: needs a network, got none; send init first')
      switch (request.type) {
        case 'start':
          return start()
        case 'pause':
          stop()
          postState()
          return postReading()
        case 'reset':
          stop()
          report = network.begin(++seed)
          postState()
          return postReading()
        case 'read':
          ;({ pixels, asked } = request)
          return postReading()
        case 'neuron':
          if (pixels) post({ type: 'neuron', place: request.place, inside: network.neuron(pixels, request.asked, request.place) })
          return
        case 'held':
          return nextHeld(request.isWrong)
      }
    })
}
