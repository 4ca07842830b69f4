// SPDX-License-Identifier: MIT
// A figure's walker as the page's link wants it, or as the figure begins. Parts of the link that the
// engine refuses are reported and left out.
import { words } from '../words/index.ts'
import type { Lesson } from './context.ts'
import type { Engine } from '../engine/engine.ts'
import { Walker } from './walker.svelte.ts'

/** More cards than anyone follows; past it a graph is drawn folded, or not at all. */
export const mostDrawn = 120

/** Why a link's expression is not followed, before anything of it is walked or drawn; null: it is. */
export function refusal(engine: Engine, text: string): string | null {
  const parsed = engine.parse(text)
  if (!parsed.ok) return words.link.expression
  return parsed.nodes.length > mostDrawn ? words.link.large(parsed.nodes.length, mostDrawn) : null
}

export function startWalker(lesson: Lesson, figure: string, text: string, isForward = false): Walker {
  const link = lesson.linkOf(figure)
  if (!link) return new Walker(lesson.engine, text, 'right', null, isForward)
  let wanted = link.text ?? text
  const problem = link.text === undefined ? null : refusal(lesson.engine, link.text)
  if (problem !== null) {
    lesson.warn(problem)
    wanted = text
  }
  const walker = new Walker(lesson.engine, wanted, link.rule, link.order ?? null, isForward)
  if (!walker.walk) {
    lesson.warn(words.link.order)
    walker.order = null
    walker.rule = 'right'
  }
  const step = link.step ?? 0
  if (step > walker.steps.length) lesson.warn(words.link.steps(walker.steps.length, step))
  walker.play.at = Math.min(step, walker.steps.length)
  return walker
}
