// SPDX-License-Identifier: MIT
// Which tasks are done, kept between visits. Tabs add to the same record: each writes what it knows and what is there, and
// listens for the others. A browser without storage, or a record that cannot be read, starts empty;
// a record of another version is left behind.

const key = 'gradwalk-lesson'
const version = 1

function load(): string[] {
  try {
    const record: unknown = JSON.parse(localStorage.getItem(key) ?? 'null')
    const { version: of, done } = (record ?? {}) as { version?: unknown; done?: unknown }
    return of === version && Array.isArray(done) ? done.filter((one) => typeof one === 'string') : []
  } catch {
    return []
  }
}

/** A record that is there and empty: someone has started over. */
function isCleared(): boolean {
  try {
    return localStorage.getItem(key) !== null
  } catch {
    return false
  }
}

export class Progress {
  #done: string[] = $state(load())

  has(task: string): boolean {
    return this.#done.includes(task)
  }

  /** True if it was not done before. */
  add(task: string): boolean {
    if (this.has(task)) return false
    this.merge()
    this.#done.push(task)
    this.#save()
    return true
  }

  /** Reads the tasks that other tabs have written since. A record cleared there is cleared here. */
  merge() {
    const kept = load()
    if (kept.length === 0 && isCleared()) this.#done = []
    else this.#done = [...new Set([...this.#done, ...kept])]
  }

  clear() {
    this.#done = []
    this.#save()
  }

  #save() {
    try {
      localStorage.setItem(key, JSON.stringify({ version, done: this.#done }))
    } catch {
      // Private windows and full disks: the lesson works, it only forgets.
    }
  }
}
