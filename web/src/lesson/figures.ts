// SPDX-License-Identifier: MIT
// Which component draws which kind of figure, and what each kind is told. `id` is unique in the lesson: links use it.
import type { ComponentProps } from 'svelte'
import BrokenFigure from '../figures/BrokenFigure.svelte'
import GraphFigure from '../figures/GraphFigure.svelte'
import NudgeFigure from '../figures/NudgeFigure.svelte'
import OpeningFigure from '../figures/OpeningFigure.svelte'
import OrderFigure from '../figures/OrderFigure.svelte'
import OwnExpressionFigure from '../figures/OwnExpressionFigure.svelte'
import PathsFigure from '../figures/PathsFigure.svelte'
import QuizFigure from '../figures/QuizFigure.svelte'
import RulesFigure from '../figures/RulesFigure.svelte'
import SortFigure from '../figures/SortFigure.svelte'
import SquareFigure from '../figures/SquareFigure.svelte'
import SweepFigure from '../figures/SweepFigure.svelte'
import TrainFigure from '../figures/TrainFigure.svelte'
import WiggleFigure from '../figures/WiggleFigure.svelte'
import WriteFigure from '../figures/WriteLoader.svelte'
import FormulaFigure from '../parts/Formula.svelte'

export const figures = {
  graph: GraphFigure,
  order: OrderFigure,
  broken: BrokenFigure,
  sort: SortFigure,
  wiggle: WiggleFigure,
  nudge: NudgeFigure,
  sweep: SweepFigure,
  square: SquareFigure,
  paths: PathsFigure,
  opening: OpeningFigure,
  quiz: QuizFigure,
  rules: RulesFigure,
  own: OwnExpressionFigure,
  train: TrainFigure,
  write: WriteFigure,
}
type Kinds = typeof figures

export type FigureSpec =
  | { [Kind in keyof Kinds]: { figure: Kind } & ComponentProps<Kinds[Kind]> }[keyof Kinds]
  | ({ figure?: undefined } & Pick<ComponentProps<typeof FormulaFigure>, 'tex'>)
