// SPDX-License-Identifier: MIT
// Fetches the engine, and the fonts of formulas beside it. `npm run wasm` builds the engine; the build gives it a name of its own in
// dist/assets.
import module from '../engine/gradwalk.wasm?url'
import { createEngine, type Engine } from '../engine/engine.ts'

const fonts = ['16px KaTeX_Main', 'italic 16px KaTeX_Math', '16px KaTeX_Size1', '16px KaTeX_Size2', '16px KaTeX_Size3', '16px KaTeX_Size4']
/** Formulas in another font are better than none. */
const longestWait = 2000

/** A formula set before its fonts have come moves everything after it when they do. */
async function loadFonts(): Promise<void> {
  const late = new Promise((done) => setTimeout(done, longestWait))
  await Promise.race([Promise.allSettled(fonts.map((font) => document.fonts.load(font))), late])
}

export async function loadEngine(): Promise<Engine> {
  const [engine] = await Promise.all([createEngine(new URL(module, document.baseURI)), loadFonts()])
  return engine
}
