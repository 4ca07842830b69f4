// SPDX-License-Identifier: MIT
// The documentation site, as VitePress builds it from the pages that site/pages.py has put into build/docs.
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitepress'

const built = (name: string) => fileURLToPath(new URL(`../../build/docs/${name}`, import.meta.url))
const icon =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Crect width='32' height='32' rx='7' fill='%231d6b57'/%3E%3Cpath d='M24 10H12m0 0 5-5m-5 5 5 5M8 23h16' stroke='%23fff' stroke-width='3' fill='none' stroke-linecap='round' stroke-linejoin='round'/%3E%3C/svg%3E"

/** The anchor that GitHub gives to a heading, so that the links of the repository hold here, too. */
const slugify = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_\- ]/gu, '')
    .replaceAll(' ', '-')

/** Scripts inside a page go to files of their own: the page server lets no others run. The style sheet of icons is empty. */
function withoutInlineScripts(html: string): string {
  return html.replace(/<link [^>]*vp-icons\.css[^>]*>/, '').replace(/<script id="[\w-]+">(.*?)<\/script>/gs, (_, code: string) => {
    const name = `assets/inline.${createHash('sha1').update(code).digest('hex').slice(0, 8)}.js`
    mkdirSync(built('site/assets'), { recursive: true })
    writeFileSync(built(`site/${name}`), code)
    return `<script src="/${name}"></script>`
  })
}

export default defineConfig({
  title: 'gradwalk',
  description: 'A scalar autograd engine in C++20: write plain arithmetic, call backward(), and every gradient is there.',
  lang: 'en',
  srcDir: built('pages'),
  outDir: built('site'),
  cacheDir: built('cache'),
  appearance: 'force-auto',
  metaChunk: true,
  head: [
    ['link', { rel: 'icon', href: icon }],
    ['meta', { name: 'color-scheme', content: 'light dark' }],
    ['script', { type: 'module', src: '/walkers/grad-walk.js' }],
  ],
  markdown: {
    anchor: { slugify },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    // Vue takes {{ }} in the words of a page for its own, and code may hold them.
    config(md) {
      const rule = md.renderer.rules.code_inline!
      md.renderer.rules.code_inline = (...given) => rule(...given).replace('<code', '<code v-pre')
    },
  },
  vue: { template: { compilerOptions: { isCustomElement: (tag) => tag === 'grad-walk' } } },
  transformHtml: withoutInlineScripts,
  themeConfig: {
    logo: icon,
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Tutorial', link: '/tutorial' },
      { text: 'Lesson', link: '/lesson/', target: '_self' },
      { text: 'Guides', link: '/see', activeMatch: '^/(install|see|train|csv|compile|solve|custom-op|python|eigen)' },
      { text: 'Reference', link: '/reference/cpp/', activeMatch: '^/(reference/|value|semantics)' },
      { text: 'How it works', link: '/tape', activeMatch: '^/(tape|architecture|performance)' },
    ],
    sidebar: JSON.parse(readFileSync(built('sidebar.json'), 'utf8')),
  },
})
