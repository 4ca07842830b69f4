// SPDX-License-Identifier: MIT
// The component that draws each kind of figure, and its properties. `id` is unique in the lesson: links use it.
import type { ComponentProps } from 'svelte'
import BrokenFigure from '../figures/BrokenFigure.svelte'
import GraphFigure from '../figures/GraphFigure.svelte'
import NudgeFigure from '../figures/NudgeFigure.svelte'
import PathsFigure from '../figures/PathsFigure.svelte'
import QuizFigure from '../figures/QuizFigure.svelte'
import RulesFigure from '../figures/RulesFigure.svelte'
import SquareFigure from '../figures/SquareFigure.svelte'
import SweepFigure from '../figures/SweepFigure.svelte'
import FormulaFigure from '../parts/Formula.svelte'

export const figures = {
  graph: GraphFigure,
  broken: BrokenFigure,
  nudge: NudgeFigure,
  sweep: SweepFigure,
  square: SquareFigure,
  paths: PathsFigure,
  quiz: QuizFigure,
  rules: RulesFigure,
}

/** These are loaded when their chapter is opened, beside the engine. */
export const loaders = {
  opening: () => import('../figures/OpeningFigure.svelte'),
  order: () => import('../figures/OrderFigure.svelte'),
  sort: () => import('../figures/SortFigure.svelte'),
  wiggle: () => import('../figures/WiggleFigure.svelte'),
  write: () => import('../figures/WriteFigure.svelte'),
  own: () => import('../figures/OwnExpressionFigure.svelte'),
  train: () => import('../figures/TrainFigure.svelte'),
  layer: () => import('../figures/LayerFigure.svelte'),
  digits: () => import('../figures/DigitsFigure.svelte'),
  practice: () => import('../figures/PracticeFigure.svelte'),
}
type Loaded = { [Kind in keyof typeof loaders]: Awaited<ReturnType<(typeof loaders)[Kind]>>['default'] }
type Kinds = typeof figures & Loaded

/** Loads a kind of figure, if it is not there yet. If that fails, Loader shows the error in place of the figure. */
export async function preload(kind: string): Promise<void> {
  if (kind in loaders) await loaders[kind as keyof typeof loaders]().catch(() => {})
}

export type FigureSpec =
  | { [Kind in keyof Kinds]: { figure: Kind } & ComponentProps<Kinds[Kind]> }[keyof Kinds]
  | ({ figure?: undefined } & Pick<ComponentProps<typeof FormulaFigure>, 'tex'>)
