// SPDX-License-Identifier: MIT
// A walk as a short film: the drawing at one moment after the other, each a picture by the browser's own WebP encoder, put
// together into one animated WebP (a RIFF of ANMF chunks; https://developers.google.com/speed/webp/docs/riff_container).
import { tick } from 'svelte'
import { duration } from './beats.ts'
import { toCanvas, toSvgText } from './snapshot.ts'
import type { Walking } from './walker.svelte.ts'

const perSecond = 14
/** How much faster than on the page. */
const haste = 1.6
const rest = 350
const mostFrames = 900

interface Picture {
  webp: Blob
  ms: number
}

const encode = (canvas: HTMLCanvasElement) =>
  new Promise<Blob>((done, fail) => canvas.toBlob((blob) => (blob?.type === 'image/webp' ? done(blob) : fail(new Error('no WebP'))), 'image/webp', 0.75))

export async function hasWebp(): Promise<boolean> {
  const canvas = document.createElement('canvas')
  canvas.width = canvas.height = 1
  return encode(canvas).then(
    () => true,
    () => false,
  )
}

/** Moves the walk through all its moments; `drawing` gives what is on the page then. */
export async function film(walking: Walking, drawing: () => SVGSVGElement, told: (part: number) => void): Promise<Blob> {
  const pictures: Picture[] = []
  let last = ''
  let size = { width: 0, height: 0 }
  const take = async (at: number, ms: number) => {
    walking.play.seek(at)
    await tick()
    const svg = drawing()
    size = { width: svg.width.baseVal.value, height: svg.height.baseVal.value }
    const text = toSvgText(svg)
    const before = pictures.at(-1)
    if (text === last && before) before.ms += ms
    else pictures.push({ webp: await encode(await toCanvas(text, size.width, size.height, 1)), ms })
    last = text
    told(at / walking.steps.length)
  }
  const whole = walking.steps.reduce((sum, step) => sum + duration(step), 0)
  const frame = Math.max(1000 / perSecond, whole / haste / mostFrames)
  await take(0, 900)
  for (const [position, step] of walking.steps.entries()) {
    const length = duration(step) / haste
    for (let ms = frame; ms < length; ms += frame) await take(position + ms / length, frame)
    await take(position + 1, rest)
  }
  await take(walking.steps.length, 1800)
  return join(pictures, Math.round(size.width), Math.round(size.height))
}

const little = (value: number, bytes: number) => Uint8Array.from({ length: bytes }, (_, i) => (value >>> (8 * i)) & 255)
const letters = (text: string) => new TextEncoder().encode(text)

function chunk(name: string, ...parts: Uint8Array[]): Uint8Array[] {
  const size = parts.reduce((sum, part) => sum + part.length, 0)
  return [letters(name), little(size, 4), ...parts, ...(size % 2 ? [new Uint8Array(1)] : [])]
}

/** The picture's own chunks, behind RIFF's size and, in extended files, their header. */
function imageData(file: Uint8Array): Uint8Array[] {
  const parts: Uint8Array[] = []
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength)
  for (let at = 12; at + 8 <= file.length; ) {
    const name = new TextDecoder().decode(file.subarray(at, at + 4))
    const size = view.getUint32(at + 4, true)
    if (name === 'VP8 ' || name === 'VP8L' || name === 'ALPH') parts.push(...chunk(name, file.subarray(at + 8, at + 8 + size)))
    at += 8 + size + (size % 2)
  }
  return parts
}

async function join(pictures: Picture[], width: number, height: number): Promise<Blob> {
  const animated = 2
  const body: Uint8Array[] = [
    ...chunk('VP8X', little(animated, 4), little(width - 1, 3), little(height - 1, 3)),
    ...chunk('ANIM', little(0xffffffff, 4), little(0, 2)),
  ]
  for (const { webp, ms } of pictures) {
    const place = [little(0, 3), little(0, 3), little(width - 1, 3), little(height - 1, 3), little(Math.round(ms), 3), little(2, 1)]
    body.push(...chunk('ANMF', ...place, ...imageData(new Uint8Array(await webp.arrayBuffer()))))
  }
  const size = body.reduce((sum, part) => sum + part.length, 4)
  return new Blob([letters('RIFF'), little(size, 4), letters('WEBP'), ...body] as BlobPart[], { type: 'image/webp' })
}
