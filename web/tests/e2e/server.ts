// SPDX-License-Identifier: MIT
// The built lesson on a static host of the plainest kind, in a subfolder: nothing but files and their types.
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'

export const dist = fileURLToPath(new URL('../../dist/', import.meta.url))
const folder = '/some/sub/'
const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.wasm': 'application/wasm',
  '.woff2': 'font/woff2',
}

export async function serve(): Promise<{ address: string; close: () => void }> {
  const server = createServer(async (request, response) => {
    const path = new URL(request.url ?? '', 'http://localhost').pathname
    try {
      if (!path.startsWith(folder)) throw new Error('outside')
      const file = path === folder ? 'index.html' : normalize(path.slice(folder.length))
      const body = await readFile(join(dist, file))
      response.writeHead(200, { 'content-type': types[extname(file)] ?? 'application/octet-stream', 'cache-control': 'no-store' }).end(body)
    } catch {
      response.writeHead(404).end()
    }
  })
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  return { address: `http://127.0.0.1:${(server.address() as AddressInfo).port}${folder}`, close: () => server.closeAllConnections?.() ?? server.close() }
}
