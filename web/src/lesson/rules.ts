// SPDX-License-Identifier: MIT
// The broken rules in words. The engine applies them.
import type { WalkRule } from '../engine/types.ts'
import { words } from '../words/index.ts'

export type BrokenRule = Exclude<WalkRule, 'right'>

export const rules: Record<BrokenRule, { title: string; what: string; diagnosis: string }> = words.rules
export const brokenRules = Object.keys(rules) as BrokenRule[]
