// SPDX-License-Identifier: MIT
// Trains away from the page: new Worker(new URL('./train.worker.ts', import.meta.url), { type: 'module' }).
import { trainServer } from './train_server.ts'
import type { TrainRequest } from './types.ts'

const receive = trainServer((response) => self.postMessage(response))
let before = Promise.resolve() // init takes a moment; what comes after it waits

self.onmessage = ({ data }: MessageEvent<TrainRequest>) => {
  before = before.then(() => receive(data))
}
