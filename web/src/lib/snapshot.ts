// SPDX-License-Identifier: MIT
// A drawing as a file: the SVG of the page with the colours it has now, and the same as PNG. Values typed over leaves are
// inputs on the page; in the picture they are text again.

const names = [
  ...['paper', 'stage', 'card', 'leaf', 'ink', 'soft', 'line', 'wire', 'data', 'grad', 'gneg', 'gwash', 'nwash', 'ok', 'okwash', 'wrong', 'wwash', 'focus'],
]

export function toSvgText(drawing: SVGSVGElement): string {
  const copy = drawing.cloneNode(true) as SVGSVGElement
  const style = getComputedStyle(document.documentElement)
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg')
  copy.setAttribute('style', `${names.map((name) => `--${name}:${style.getPropertyValue(`--${name}`).trim()}`).join(';')};font-family:${drawing.style.fontFamily};font-variant-numeric:tabular-nums`)
  const ground = document.createElementNS('http://www.w3.org/2000/svg', 'rect')
  ground.setAttribute('width', '100%')
  ground.setAttribute('height', '100%')
  ground.setAttribute('fill', 'var(--stage)')
  copy.prepend(ground)
  for (const input of drawing.parentElement!.querySelectorAll('input')) copy.append(typed(input))
  for (const one of copy.querySelectorAll('[data-testid], [tabindex], [class]'))
    for (const attribute of ['data-testid', 'tabindex', 'class', 'role', 'aria-label', 'aria-pressed']) one.removeAttribute(attribute)
  return new XMLSerializer().serializeToString(copy).replaceAll(/<!--.*?-->/g, '')
}

function typed(input: HTMLInputElement): SVGTextElement {
  const text = document.createElementNS('http://www.w3.org/2000/svg', 'text')
  const { left, top, fontSize } = input.style.cssText ? { left: input.style.left, top: input.style.top, fontSize: getComputedStyle(input).fontSize } : { left: '0', top: '0', fontSize: '17px' }
  text.setAttribute('x', String(parseFloat(left) + 7))
  text.setAttribute('y', String(parseFloat(top) + 18))
  text.setAttribute('font-size', fontSize)
  text.setAttribute('font-weight', '600')
  text.setAttribute('fill', 'var(--data)')
  text.textContent = input.value
  return text
}

export async function toCanvas(text: string, width: number, height: number, scale: number): Promise<HTMLCanvasElement> {
  const image = new Image(width, height)
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`
  await image.decode()
  const canvas = document.createElement('canvas')
  canvas.width = Math.round(width * scale)
  canvas.height = Math.round(height * scale)
  canvas.getContext('2d')!.drawImage(image, 0, 0, canvas.width, canvas.height)
  return canvas
}

export async function toPng(drawing: SVGSVGElement): Promise<Blob> {
  const canvas = await toCanvas(toSvgText(drawing), drawing.width.baseVal.value, drawing.height.baseVal.value, 2)
  return new Promise((done, fail) => canvas.toBlob((blob) => (blob ? done(blob) : fail(new Error('no picture was made'))), 'image/png'))
}

export function save(blob: Blob, name: string) {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(blob)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}
