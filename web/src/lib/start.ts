// SPDX-License-Identifier: MIT
// A figure's walker as the page's link wants it, or as the figure begins. What the link says and the engine refuses is
// told and left out.
import type { Lesson } from './context.ts'
import { Walker } from './walker.svelte.ts'

export function startWalker(lesson: Lesson, figure: string, text: string): Walker {
  const link = lesson.linkOf(figure)
  if (!link) return new Walker(lesson.engine, text)
  let wanted = link.text ?? text
  if (link.text !== undefined && !lesson.engine.parse(link.text).ok) {
    lesson.warn('its expression cannot be read')
    wanted = text
  }
  const walker = new Walker(lesson.engine, wanted, link.rule, link.order ?? null)
  if (!walker.walk) {
    lesson.warn('its order does not fit its graph')
    walker.order = null
    walker.rule = 'right'
  }
  const step = link.step ?? 0
  if (step > walker.steps.length) lesson.warn(`its walk has ${walker.steps.length} steps, not ${step}`)
  walker.position = Math.min(step, walker.steps.length)
  return walker
}
