// SPDX-License-Identifier: MIT
// The npm package's engine in Node.js, which reads the module from a file: fetch() there knows no files.
import { readFile } from 'node:fs/promises'
import { createEngine as createFrom, type EngineSource, type PackagedEngine } from './package.ts'

export * from './package.ts'

/** Starts the engine. Without a source, it loads gradwalk.wasm from the folder of this file. */
export async function createEngine(source?: EngineSource): Promise<PackagedEngine> {
  return createFrom(source ?? (await readFile(new URL('gradwalk.wasm', import.meta.url))))
}
