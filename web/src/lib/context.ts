// SPDX-License-Identifier: MIT
// The page as every figure sees it: the engine, the link that was opened, and a function to report the learner's deeds.
import { createContext } from 'svelte'
import type { Engine } from '../engine/engine.ts'
import type { FigureLink } from './link.ts'

/** Something the learner did. Tasks are detected from these and from nothing else. */
export type Deed =
  | { kind: 'forward-done' | 'walked'; figure: string; text: string }
  | { kind: 'leaf-edited' | 'node-opened' | 'edge-opened' | 'predicted'; figure: string; name: string }
  | { kind: 'order-run'; figure: string; text: string; isRight: boolean }
  | { kind: 'rule-broken'; figure: string; rule: string; hasParted: boolean }
  | { kind: 'sorted'; figure: string }
  | { kind: 'wiggled'; figure: string; h: number }
  | { kind: 'nudged' | 'neuron-opened' | 'both-ways' | 'lined-up' | 'digit-drawn' | 'digit-asked'; figure: string }
  | { kind: 'answered'; figure: string; question: string }
  | { kind: 'trained'; figure: string; data: string; accuracy: number }
  | { kind: 'point-walked'; figure: string }
  /** `isFirst`: at the first try. */
  | { kind: 'practised'; figure: string; exercise: 'gradient' | 'spot'; isFirst: boolean }
  | { kind: 'layer-walked'; figure: string; isFolded: boolean }
  /** Their own class did an exercise right. `isChanged`: with a program of their own, not the one it begins with. */
  | { kind: 'coded'; figure: string; exercise: string; isChanged: boolean }

/** A task that was done just now, and what it was the last of. */
export interface News {
  task: string
  /** After the last task of a chapter, or of the lesson: where to go. */
  next: { title: string; hash: string } | null
  /** The number of tasks, after the last one of the lesson. */
  all: number | null
}

export interface Lesson {
  engine: Engine
  did(deed: Deed): void
  /** The last task that was done in a figure, since the page was opened. */
  newsOf(figure: string): News | null
  /** The link the page was opened with, if it is this figure's. */
  linkOf(figure: string): FigureLink | null
  /** Puts a figure's state into the address. */
  setLink(link: FigureLink): void
  /** The address of the page with a figure's state in it. */
  linkWith(link: FigureLink): string
  /** Says that a link could not be followed. */
  warn(problem: string): void
  /** Adds lines about a figure to the last page of a printed handout. */
  answer(figure: string, lines: string[]): void
  /** The address of a figure alone; null where there is no page around it. */
  linkAlone(figure: string): string | null
}

export const [useLesson, provideLesson] = createContext<Lesson>()
