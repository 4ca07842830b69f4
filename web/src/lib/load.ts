// SPDX-License-Identifier: MIT
// Fetches the engine. `npm run wasm` builds it; the build gives it a name of its own in dist/assets.
import module from '../engine/gradwalk.wasm?url'
import { createEngine, type Engine } from '../engine/engine.ts'

export const loadEngine = (): Promise<Engine> => createEngine(new URL(module, document.baseURI))
