// SPDX-License-Identifier: MIT
// The language of the page. A translation is one more file of the shape of en.ts, and its name here.
import { en, enChapters, enFigures } from './en.ts'

export type Words = typeof en
export const words: Words = en
export const chapterWords: typeof enChapters = enChapters
export const figureWords: typeof enFigures = enFigures
