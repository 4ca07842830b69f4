// SPDX-License-Identifier: MIT
// When the page's colours change: from light to dark, onto paper and back. A painter of a canvas reads `changes`, and so it is
// painted anew.

export class Looks {
  changes = $state(0)

  /** Belongs to the component it is made in. */
  constructor() {
    $effect(() => {
      const change = () => (this.changes += 1)
      const queries = ['(prefers-color-scheme: dark)', 'print'].map((query) => matchMedia(query))
      for (const query of queries) query.addEventListener('change', change)
      return () => {
        for (const query of queries) query.removeEventListener('change', change)
      }
    })
  }
}
