// SPDX-License-Identifier: MIT
// Builds dist/show.html: one walker, with its engine, styles and script in one file that needs nothing beside it. In it the text
// "GRADWALK_GRAPH", quotes included, stands where a program puts its graph; docs/lesson.md says how.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig, type Plugin } from 'vite'

/** `file?packed`: the file as base64 of its gzip. */
const packed = (): Plugin => ({
  name: 'packed',
  enforce: 'pre',
  load(id) {
    if (id.endsWith('?packed')) return `export default ${JSON.stringify(gzipSync(readFileSync(id.slice(0, -7)), { level: 9 }).toString('base64'))}`
  },
})

/** Formulas are shown as code. */
const plainFormulas = (): Plugin => ({
  name: 'plain-formulas',
  enforce: 'pre',
  resolveId: (id) => (id.endsWith('/Formula.svelte') ? fileURLToPath(new URL('src/show/PlainFormula.svelte', import.meta.url)) : undefined),
})

/** The licence of the code of others in the page. musl's is the same as Svelte's; the engine's C library contains musl. */
const licence = `<!--
This page contains parts of Svelte and musl.
Copyright (c) 2005-2020 Rich Felker, et al. (musl)
${readFileSync(new URL('node_modules/svelte/LICENSE.md', import.meta.url), 'utf8')}-->
`

/** Script and style into the page itself. */
const inline = (): Plugin => ({
  name: 'inline',
  enforce: 'post',
  generateBundle(_, bundle) {
    const page = bundle['show.html']
    if (page?.type !== 'asset') throw new Error('inline: needs show.html, found none')
    let html = String(page.source)
    for (const [name, file] of Object.entries(bundle)) {
      if (file === page) continue
      const text = file.type === 'chunk' ? file.code : String(file.source)
      const isScript = file.type === 'chunk'
      const tag = isScript ? new RegExp(`\\s*<script[^>]*src="[^"]*${name}"[^>]*></script>`) : new RegExp(`\\s*<link[^>]*href="[^"]*${name}"[^>]*>`)
      if (!tag.test(html)) throw new Error(`inline: needs a tag for ${name}, found none`)
      // A script may not hold the end of its own element.
      html = html.replace(tag, '').replace(isScript ? '</body>' : '</head>', (end) => (isScript ? `<script type="module">${text.replaceAll('</script', '<\\/script')}</script>\n  ${end}` : `<style>${text}</style>\n  ${end}`))
      delete bundle[name]
    }
    page.source = html.replace('</html>', () => `${licence}</html>`)
  },
})

export default defineConfig({
  base: './',
  plugins: [packed(), plainFormulas(), svelte(), inline()],
  build: {
    target: 'es2022',
    emptyOutDir: false,
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
    rolldownOptions: { input: fileURLToPath(new URL('show.html', import.meta.url)), output: { codeSplitting: false } },
  },
})
