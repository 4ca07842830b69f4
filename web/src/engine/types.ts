// SPDX-License-Identifier: MIT
// The arguments and results of the engine. Walks, sorts, orders and explanations are docs/walk-format.md as TypeScript, field by
// field; the rest is described here. A node is its index in `nodes`, everywhere. Numbers are JavaScript numbers, also
// NaN and the infinities; counts without bounds are strings of digits.

/** A leaf and the value it is to have instead of the one in the text. */
export type Override = readonly [node: number, value: number]
export type Overrides = readonly Override[]

// ---------------------------------------------------------------- graphs

export interface LocalDerivative {
  /** As the op table writes it, in x, y and the result r. */
  formula: string
  /** The same with the nodes' names. */
  with_names: string
  value: number
}

export interface GraphNode {
  name: string
  /** Where a box around it says the rest: w₁ for the w₁ of h₄. The page gives it, the engine does not. */
  short?: string
  label: string
  /** 'leaf', 'constant', or the name of an op of the table: 'mul'. */
  op: string
  symbol: string
  data: number
  /** In operand order; a*a has the same node twice. */
  operands: number[]
  /** One per operand. */
  locals: LocalDerivative[]
}

export interface Graph {
  /** Each after its operands, the root last. */
  nodes: GraphNode[]
  root: number
}

export interface ParsedGraph extends Graph {
  ok: true
  /** Every name of the text that is part of the graph, in order of appearance, and its node. */
  names: [name: string, node: number][]
}

export interface ParseFailure {
  ok: false
  /** A sentence, then the line in question with a caret below the place. */
  message: string
  /** From 1; 0 where the text as a whole is refused. */
  line: number
  column: number
}

export type ParseResult = ParsedGraph | ParseFailure

// ---------------------------------------------------------------- walks

export const walkRules = ['right', 'overwrite', 'recursion', 'no-visited', 'forward', 'twice', 'no-zeroing'] as const
export type WalkRule = (typeof walkRules)[number]

export interface WalkOptions {
  overrides?: Overrides
  rule?: WalkRule
  /** Every node but the constants once, as they are to be visited; only with the rule 'right'. */
  order?: readonly number[] | null
  /** The learning rate of the training step of 'no-zeroing'; 0.1 unless given. */
  rate?: number
  /** Where 'recursion' and 'no-visited' are stopped; 10,000 unless given. */
  mostVisits?: number
}

export interface Deposit {
  from: number
  to: number
  /** Which operand of `from` the node `to` is. */
  operand: number
  formula: string
  local: number
  amount: number
  before: number
  after: number
  late: boolean
  /** The learner's own code wrote =, which erased the gradient before it. In the engine's walks, the rule says so. */
  replaces?: boolean
  /** The line of the learner's code that made it; 0 where it is not known. */
  line?: number
}

export type WalkStep =
  | { kind: 'forward'; pass: number; node: number; op: string; operands: number[]; data: number }
  | { kind: 'seed'; pass: number; node: number; before: number; after: number }
  | { kind: 'visit' | 'deposit'; pass: number; node: number; grad: number; deposits: Deposit[] }
  | { kind: 'update'; pass: number; node: number; before: number; after: number }
  /** The learner's own code wrote a gradient that nobody paid: a zero, mostly. */
  | { kind: 'set'; pass: number; node: number; before: number; after: number }
  | { kind: 'end'; nodes: { name: string; data: number; grad: number }[] }

export interface Outcome {
  visits: number
  /** Its gradient at its first visit in the last pass; null if it was never visited. */
  when_visited: number | null
  grad: number
  right_grad: number
  data: number
  right_data: number
}

export interface LateDeposit {
  step: number
  from: number
  to: number
  amount: number
  reason: string
  worth: { leaf: number; amount: number }[] | null
}

export interface Parting {
  step: number
  node: number
  wrong: number
  right: number
  reason: string
}

export interface Walk extends Graph {
  format: 'gradwalk-walk'
  version: 1
  /** 'code': the learner's own code walked it. */
  rule: WalkRule | 'code'
  order: number[] | null
  visits: number
  visits_needed: string
  complete: boolean
  /** One per node. */
  outcomes: Outcome[]
  late: LateDeposit[]
  parting: Parting | null
  /** The last one is of kind 'end'. */
  steps: WalkStep[]
}

export interface Sort extends Graph {
  format: 'gradwalk-sort'
  version: 1
  steps: { action: 'enter' | 'skip' | 'finish'; node: number }[]
  order: number[]
}

export interface Orders extends Graph {
  format: 'gradwalk-orders'
  version: 1
  orders: number
  leaves: number[]
  /** The right one first, then by number of orders. `grads` has one per leaf. */
  results: { right: boolean; orders: number; grads: number[]; example: number[] }[]
}

export interface Explanation extends Graph {
  format: 'gradwalk-explanation'
  version: 1
  node: number
  grad: number
  deposits: { from: number; operand: number; formula: string; grad: number; local: number; amount: number }[]
  path_count: string
  paths: { nodes: number[]; locals: number[]; product: number }[]
}

export interface Wiggle {
  /** The gradient of the leaf. */
  gradient: number
  /** The root's value. */
  root: number
  /** quotient = (root at leaf + h - root) / h; difference = quotient - gradient. */
  points: { h: number; root: number; quotient: number; difference: number }[]
}

export interface Nudge {
  leaf: number
  h: number
  /** One per node: its data before and after, how far it moved, and that divided by h. */
  nodes: { before: number; after: number; moved: number; rate: number }[]
}

export interface OpRule {
  name: string
  symbol: string
  operands: 1 | 2
  /** In x, y and the result r, as the op table writes them; dy is '' for one operand. */
  domain: string
  value: string
  dx: string
  dy: string
}

// ---------------------------------------------------------------- quizzes and code

export interface Mistake {
  rule: 'overwrite' | 'forward' | 'recursion' | 'no-visited'
  value: number
}

export interface Check {
  ask: string
  node: number
  answer: number
  /** The results of the broken rules there, without those that are right. */
  mistakes: Mistake[]
}

export interface Quiz extends Check {
  /** Text for parse() and walk(). */
  expression: string
}

export interface Listing {
  /** `node` is the node that a line makes; null where it makes none. */
  lines: { text: string; node: number | null }[]
  /** The line that calls backward: an index into `lines`. */
  backward: number
}

export interface Code {
  cpp: Listing
  /** micrograd's API, which gradwalk's Python package has too. */
  python: Listing
  pytorch: Listing
}

// ---------------------------------------------------------------- training

export type DataKind = 'neuron' | 'moons' | 'spiral'
export type Activation = 'relu' | 'tanh' | 'sigmoid' | 'linear'

export interface TrainingOptions {
  /** neuron: two clouds a line can part; moons: two half circles; spiral: three arms, three classes. */
  kind: DataKind
  /** At most 5,000. */
  samples: number
  noise: number
  seed: number
  /** At most three hidden layers of at most 64; [] is a single neuron (three for the spiral). */
  hidden: readonly number[]
  rate: number
  activation: Activation
}

export interface Points {
  x: Float64Array
  y: Float64Array
  /** 0 and 1; of the spiral 0, 1 and 2. */
  label: Uint8Array
}

export interface TrainingReport {
  /** Steps made. */
  step: number
  /** The loss of the last step, before it moved anything; NaN before the first step. */
  loss: number
  accuracy: number
}

/** A stretch of the plane and a grid of cells over it. */
export interface GridView {
  x0: number
  x1: number
  y0: number
  y1: number
  width: number
  height: number
}

export interface Regions extends GridView {
  /** By cell, row after row, the top row (the one at y1) first, as ImageData has them. */
  label: Uint8Array
  /** 0 to 1: the probability of that class. */
  confidence: Float64Array
}

/** A network drawn: layers of neurons, each with as many weights as the layer before has neurons, and a bias. */
export interface NetworkView {
  /** Neurons a layer, the inputs first. */
  sizes: number[]
  /** By layer, neuron and input, the bias last. */
  weights: Float64Array
  /** In the same order: the mean of the last steps. */
  gradients: Float64Array
  /** Cells a side of `seen`. */
  grid: number
  /** The output of each neuron over the view: neuron after neuron, row by row, the top row first. */
  seen: Float64Array
}

/** One point as the network has it now. */
export interface RingedPoint {
  index: number
  loss: number
  /** One with two classes, above 0 for the second; else one per class. */
  scores: number[]
}

/** A weight by its place; the bias is the input after the last. */
export type WeightPlace = readonly [layer: number, neuron: number, input: number]

export interface NodeGroup {
  /** 'input', 'loss', or 'neuron' with its place; layer 0 is the first hidden one. */
  part: 'input' | 'neuron' | 'loss'
  layer: number
  neuron: number
}

/** The walk of one point's own loss; parameters are named as the library names them: layers.0.neurons.3.w.1 */
export interface PointWalk extends Walk {
  /** One per node. */
  groups: NodeGroup[]
}

export interface LossHistory {
  /** Thinned evenly as they become many. */
  step: number[]
  loss: number[]
  accuracy: number[]
}

// ---------------------------------------------------------------- the training worker

/** `init` first, then `reset`; everything else needs both. */
export type TrainRequest =
  | { type: 'init'; module: WebAssembly.Module }
  | { type: 'reset'; options: TrainingOptions; points?: Points }
  | { type: 'start' }
  | { type: 'pause' }
  | { type: 'step'; count: number }
  | { type: 'setRate'; rate: number }
  | { type: 'setPoints'; points: Points }
  /** The view regions are posted for from now on; null: none. */
  | { type: 'regions'; view: GridView | null }
  /** Cells a side of what each neuron sees, posted with the regions from now on; 0: none. */
  | { type: 'network'; grid: number }
  /** The point that every state describes from now on; null: the one whose loss is largest, now and after 200 steps. */
  | { type: 'ring'; index: number | null }
  | { type: 'history' }
  | { type: 'walkPoint'; index: number }

export type TrainResponse =
  /** After every change, and at most 30 times a second while running. */
  | ({ type: 'state'; running: boolean; regions: Regions | null; network: NetworkView | null; ring: RingedPoint } & TrainingReport)
  /** After reset. */
  | { type: 'points'; points: Points }
  | ({ type: 'history' } & LossHistory)
  | { type: 'walk'; index: number; walk: PointWalk }
  /** The run stands still; after a loss that is not finite the network is fresh, the points are kept. */
  | { type: 'error'; message: string }
