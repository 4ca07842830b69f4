// SPDX-License-Identifier: MIT
// <grad-walk expression="a=3; b=a*a"></grad-walk>: a graph to walk in a page of your own. The walker is in a frame, so the styles and
// scripts of the two pages never meet. Everything is loaded from the folder of this file.
//
// Attributes: `expression`, `rule` (a broken rule to begin with), `step` (where to begin), `label` (the name of the frame). The property
// `graph` takes a graph that gradwalk has written, in place of an expression.
const walker = new URL('walker.html', import.meta.url)
const sheet = new CSSStyleSheet()
sheet.replaceSync(':host { display: block } :host([hidden]) { display: none }')

export class GradWalk extends HTMLElement {
  static observedAttributes = ['expression', 'rule', 'step', 'label']
  #frame = document.createElement('iframe')
  #graph = null
  #isDue = false

  constructor() {
    super()
    this.#frame.loading = 'lazy'
    this.#frame.style.cssText = 'display: block; width: 100%; height: 480px; border: 0'
    const shadow = this.attachShadow({ mode: 'open' })
    shadow.adoptedStyleSheets = [sheet]
    shadow.append(this.#frame)
  }

  get expression() {
    return this.getAttribute('expression') ?? ''
  }
  set expression(text) {
    this.setAttribute('expression', text)
  }
  get graph() {
    return this.#graph
  }
  set graph(graph) {
    this.#graph = graph
    this.#change()
  }

  connectedCallback() {
    addEventListener('message', this.#fit)
    this.#change()
  }
  disconnectedCallback() {
    removeEventListener('message', this.#fit)
  }
  attributeChangedCallback() {
    this.#change()
  }

  /** Several changes at once load the walker once. */
  #change() {
    if (this.#isDue) return
    this.#isDue = true
    queueMicrotask(() => {
      this.#isDue = false
      if (this.isConnected) this.#show()
    })
  }
  #show() {
    const given = this.#graph ? { graph: this.#graph } : { expression: this.expression }
    const [rule, step] = [this.getAttribute('rule'), Number(this.getAttribute('step'))]
    if (rule) given.rule = rule
    if (step > 0) given.step = step
    this.#frame.title = this.getAttribute('label') ?? this.expression
    this.#frame.src = `${walker}#${encodeURIComponent(JSON.stringify(given))}`
  }
  /** The frame says how high it is. */
  #fit = ({ source, data }) => {
    if (source === this.#frame.contentWindow && typeof data?.gradwalkHeight === 'number') this.#frame.style.height = `${data.gradwalkHeight}px`
  }
}

if (!customElements.get('grad-walk')) customElements.define('grad-walk', GradWalk)
