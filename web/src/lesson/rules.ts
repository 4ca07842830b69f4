// SPDX-License-Identifier: MIT
// The broken rules in words. What each does to a graph is the engine's to say.
import type { WalkRule } from '../engine/types.ts'

export type BrokenRule = Exclude<WalkRule, 'right'>

export const rules: Record<BrokenRule, { title: string; what: string; diagnosis: string }> = {
  overwrite: {
    title: '= instead of +=',
    what: 'Each deposit replaces the gradient it finds. A node with one user never notices.',
    diagnosis: 'That is what overwriting gives: a deposit replaced another instead of adding to it.',
  },
  recursion: {
    title: 'naive recursion',
    what: 'No order at all: as soon as a deposit is made, its receiver pays on. A shared node pays on once for every deposit, each time with all it has so far.',
    diagnosis: 'That is what naive recursion gives: a shared node paid on before it was paid in full, and then again.',
  },
  'no-visited': {
    title: 'the sort without its visited set',
    what: 'The search forgets where it has been, so a shared node stands in the list once for every path to it, and pays each time.',
    diagnosis: 'That is what a sort without its visited set gives: a shared node is in the list twice and pays twice.',
  },
  forward: {
    title: 'forward order',
    what: 'Visits run from the leaves to the root. Almost every node pays before anyone has paid it.',
    diagnosis: 'That is what forward order gives: the nodes paid before they had been paid.',
  },
  twice: {
    title: 'backward twice, nothing zeroed',
    what: 'The second pass starts on top of the gradients of the first, as in micrograd.',
    diagnosis: 'That is what a second backward pass on top of the first gives.',
  },
  'no-zeroing': {
    title: 'a training step repeated without zeroing',
    what: 'The leaves move against their gradients, forward and backward run again, and the old gradients are still there.',
    diagnosis: 'That is what a second training step without zeroing gives.',
  },
}
export const brokenRules = Object.keys(rules) as BrokenRule[]
