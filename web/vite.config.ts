// SPDX-License-Identifier: MIT
/// <reference types="vitest/config" />
// Builds the lesson into dist/. Every address in it is relative, so the folder works on any static host, at any path.
import { statSync } from 'node:fs'
import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig, type Plugin } from 'vite'

/** The families our formulas use; tests/e2e/access.test.ts sees that they are enough. */
const families = ['Main-Regular', 'Math-Italic', 'Size1-Regular', 'Size2-Regular', 'Size3-Regular', 'Size4-Regular']

/** KaTeX's style sheet names sixty font files in three formats: keep the few we need, as woff2. */
function katexFonts(): Plugin {
  return {
    name: 'katex-fonts',
    enforce: 'pre',
    transform(code, id) {
      if (!id.includes('katex') || !/\.css(\?|$)/.test(id)) return
      return code.replace(/@font-face\{[^}]*\}/g, (face) => {
        const woff2 = /url\(([^)]*\/KaTeX_([\w-]+)\.woff2)\)/.exec(face)
        if (!woff2 || !families.includes(woff2[2]!)) return ''
        return face.replace(/src:[^;}]*/, `src:url(${woff2[1]}) format("woff2")`)
      })
    },
  }
}

/** The sizes of files that are loaded with their chapter, for the bar that shows how much of them has come. */
const bytesOf = (path: string) => statSync(new URL(path, import.meta.url)).size

export default defineConfig({
  base: './',
  define: {
    __PYTHON_BYTES__: bytesOf('node_modules/@micropython/micropython-webassembly-pyscript/micropython.wasm'),
    __DIGITS_BYTES__: bytesOf('src/digits/digits.bin'),
    __DIGITS_ENGINE_BYTES__: bytesOf('src/digits/digits.wasm'),
  },
  assetsInclude: ['**/*.bin'],
  plugins: [katexFonts(), svelte()],
  worker: { format: 'es' },
  server: { fs: { allow: ['..'] } },
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // One file for what chapters share, and not one for every set of chapters that share something.
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: 'shared', minShareCount: 2, test: /^(?!.*(netpaint|netshape|heat|trainer|training|NetworkStage|groups|pointnames)\.)/ }] } } },
  },
  // For a machine that has much else to do.
  test: { testTimeout: 300_000 },
})
