// SPDX-License-Identifier: MIT
// A drawing as a file: the SVG of the page with the colours it has now, and the same as PNG. Values that can be typed over have
// an input before them on the page; without its classes the picture shows their text.

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
  for (const one of copy.querySelectorAll('[data-testid], [tabindex], [class]'))
    for (const attribute of ['data-testid', 'tabindex', 'class', 'role', 'aria-label', 'aria-pressed']) one.removeAttribute(attribute)
  return new XMLSerializer().serializeToString(copy).replaceAll(/<!--.*?-->/g, '')
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
