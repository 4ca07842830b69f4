// SPDX-License-Identifier: MIT
// Fetches a file and reports how much of it has come, for a progress bar.

/** `size`: the bytes of the file, because a server that compresses does not say it. */
export async function fetchWithProgress(address: string, size: number, report: (part: number) => void): Promise<ArrayBuffer> {
  const response = await fetch(new URL(address, document.baseURI))
  if (!response.ok || !response.body) throw new Error(`${response.status} for ${address}`)
  const parts: Uint8Array[] = []
  let come = 0
  const reader = response.body.getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    parts.push(value)
    come += value.length
    report(Math.min(1, come / size))
  }
  return new Blob(parts as Uint8Array<ArrayBuffer>[]).arrayBuffer()
}
