// SPDX-License-Identifier: MIT
// Trains on digits away from the page.
import { digitsServer } from './server.ts'
import type { DigitsRequest } from './types.ts'

const receive = digitsServer((response) => self.postMessage(response))
self.onmessage = ({ data }: MessageEvent<DigitsRequest>) => receive(data)
