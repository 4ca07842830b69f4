// SPDX-License-Identifier: MIT
// Starts a page that is one block of HTML: its engine and its graph are in it, and nothing is fetched. Programs fill in the graph
// (docs/lesson.md): an expression, or a graph as gradwalk writes it, and where the walk begins.
import { mount } from 'svelte'
import module from '../engine/gradwalk.wasm?packed'
import { createEngine } from '../engine/engine.ts'
import type { Graph, WalkRule } from '../engine/types.ts'
import { toListing } from '../lib/listing.ts'
import { words } from '../words/index.ts'
import '../page.css'
import Show from './Show.svelte'

interface Given {
  expression?: string
  graph?: Graph
  rule?: WalkRule
  step?: number
}
const example: Given = { expression: 'a=2; b=-3; c=10; e=a+b; f=e*c' }

/** In the page, put there by a program; or in its address, put there by the web component. */
function given(): Given {
  const texts = [document.getElementById('given')!.textContent!, decodeURIComponent(location.hash.slice(1))]
  for (const text of texts) {
    const value: unknown = text === '' ? null : JSON.parse(text)
    if (typeof value === 'object' && value !== null) return value
  }
  return example
}

async function unpacked(text: string): Promise<ArrayBuffer> {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).arrayBuffer()
}

/** Keeps the frame around this page as high as its content. In a frame of the same origin, as in a notebook, this page sets the
    height. In any other, it sends the height to the page around it. */
function fitFrame() {
  const { frameElement } = window
  if (parent === window) return
  const fit = () => {
    const height = Math.ceil(document.documentElement.getBoundingClientRect().height)
    if (frameElement) (frameElement as HTMLElement).style.height = `${height}px`
    else parent.postMessage({ gradwalkHeight: height }, '*')
  }
  new ResizeObserver(fit).observe(document.documentElement)
}

const target = document.getElementById('page')!
addEventListener('hashchange', () => location.reload())
try {
  const { expression, graph, rule, step } = given()
  const engine = await createEngine(await unpacked(module))
  const text = graph ? toListing(graph) : (expression ?? '')
  const parsed = engine.parse(text)
  if (!parsed.ok) throw new Error(parsed.message)
  mount(Show, { target, props: { engine, text, graph: parsed, rule, step } })
  fitFrame()
} catch (error) {
  target.textContent = words.show.failed(error instanceof Error ? error.message : String(error))
}
