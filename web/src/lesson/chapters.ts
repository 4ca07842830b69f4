// SPDX-License-Identifier: MIT
// The lesson as data: chapters of paragraphs, figures and tasks. The words themselves are in words/; here is what stands where.
// A task is done when the learner does something that matches; docs/lesson.md says how to add any of these.
import type { Deed } from '../lib/context.ts'
import { chapterWords } from '../words/index.ts'
import type { FigureSpec } from './figures.ts'
import { presets } from './presets.ts'

export type Block = string | FigureSpec

export interface Task {
  id: string
  text: string
  done: (deed: Deed) => boolean
}

export interface Chapter {
  id: string
  title: string
  /** The opening has a page of its own and no heading. */
  isOpening?: boolean
  blocks: Block[]
  tasks: Task[]
}

const answered = (question: string) => (deed: Deed) => deed.kind === 'answered' && deed.question === question
const walked = (figure: string) => (deed: Deed) => deed.kind === 'walked' && deed.figure === figure
const coded = (exercise: string) => (deed: Deed) => deed.kind === 'coded' && deed.exercise === exercise && deed.isChanged
const broke = (rule: string) => (deed: Deed) => deed.kind === 'rule-broken' && deed.rule === rule && deed.hasParted

/** A chapter's tasks: their words, and what each is waiting for. */
function tasks<Id extends string>(texts: Record<Id, string>, done: Record<NoInfer<Id>, Task['done']>): Task[] {
  return (Object.keys(texts) as Id[]).map((id) => ({ id, text: texts[id], done: done[id] }))
}

const { start, fill, back, rules, neuron, twice, order, sort, write, own, learn, tensors, digits, practice } = chapterWords
/** Small numbers, and no gradient that is 0. */
const layer = {
  x: [2, -1, 1, 3],
  w: [
    [1, -1, 3, -3],
    [0.5, -2, 2, -2],
    [2, -1, 1, -1],
    [-1, 1, -2, 2],
  ],
}
const ownText = 'x=0.5; y=3; p=x*y; q=exp(p)-y; L=q**2'

export const chapters: Chapter[] = [
  { id: 'start', title: start.title, isOpening: true, blocks: [{ figure: 'opening', id: 'start-network' }], tasks: [] },
  {
    id: 'fill',
    title: fill.title,
    blocks: [
      fill.graph,
      fill.forward,
      { figure: 'graph', id: 'fill-graph', preset: 'sum-times', choice: ['sum-times', 'product-of-both'], hasLegend: true, isForward: true },
      fill.change,
      fill.nudge,
      { figure: 'nudge', id: 'fill-nudge', preset: 'sum-times' },
      fill.why,
    ],
    tasks: tasks(fill.tasks, {
      'fill-forward': (deed) => deed.kind === 'forward-done' && deed.figure === 'fill-graph',
      'fill-edit': (deed) => deed.kind === 'leaf-edited' && deed.figure === 'fill-graph',
      'fill-nudge': (deed) => deed.kind === 'nudged',
    }),
  },
  {
    id: 'back',
    title: back.title,
    blocks: [
      back.local,
      back.sweep,
      { figure: 'sweep', id: 'back-sweep', preset: 'sum-times' },
      back.chain,
      { tex: back.chainTex },
      back.cost,
      back.seed,
      { tex: back.tex },
      back.walk,
      { figure: 'graph', id: 'back-graph', preset: 'sum-times', hasLegend: true },
      back.ledger,
      {
        figure: 'quiz',
        id: 'back-quiz',
        questions: [
          { preset: 'sum-times', name: 'a' },
          { preset: 'sum-times', name: 'b' },
        ],
      },
      back.name,
    ],
    tasks: tasks(back.tasks, {
      'back-nudge': (deed) => deed.kind === 'both-ways',
      'back-walk': walked('back-graph'),
      'back-ledger': (deed) => deed.kind === 'node-opened' && deed.figure === 'back-graph',
      'back-a': answered('sum-times.a'),
      'back-b': answered('sum-times.b'),
    }),
  },
  {
    id: 'rules',
    title: rules.title,
    blocks: [
      rules.rules,
      { figure: 'rules', id: 'rules-table', ops: ['add', 'mul', 'tanh'] },
      rules.table,
      rules.hand,
      { figure: 'graph', id: 'rules-graph', preset: 'product-of-both', byHand: true },
      rules.trust,
      { figure: 'wiggle', id: 'rules-wiggle', preset: 'shared' },
    ],
    tasks: tasks(rules.tasks, {
      'rules-edge': (deed) => deed.kind === 'edge-opened',
      'rules-hand': (deed) => deed.kind === 'predicted' && deed.figure === 'rules-graph',
      'rules-wiggle': (deed) => deed.kind === 'wiggled' && deed.h < 1e-3,
    }),
  },
  {
    id: 'neuron',
    title: neuron.title,
    blocks: [
      neuron.neuron,
      neuron.tanh,
      neuron.bias,
      { figure: 'graph', id: 'neuron-graph', preset: 'neuron', choice: ['neuron'], hasLegend: true },
      neuron.zero,
      {
        figure: 'quiz',
        id: 'neuron-quiz',
        questions: [
          { preset: 'neuron', name: 'w1' },
          { preset: 'neuron', name: 'x1' },
        ],
      },
    ],
    tasks: tasks(neuron.tasks, { 'neuron-walk': walked('neuron-graph'), 'neuron-w1': answered('neuron.w1') }),
  },
  {
    id: 'twice',
    title: twice.title,
    blocks: [
      twice.both,
      { figure: 'square', id: 'twice-square', side: 3 },
      twice.deposits,
      { figure: 'graph', id: 'twice-graph', preset: 'square', choice: ['square', 'double', 'shared', 'diamond'], hasLegend: true },
      twice.wiped,
      { figure: 'broken', id: 'twice-broken', preset: 'square', rule: 'overwrite', choice: ['overwrite', 'twice'] },
      twice.passes,
      {
        figure: 'quiz',
        id: 'twice-quiz',
        questions: [
          { preset: 'diamond', name: 'a' },
          { preset: 'shared', name: 'a' },
        ],
      },
      twice.paths,
      { figure: 'paths', id: 'twice-paths', most: 10 },
    ],
    tasks: tasks(twice.tasks, {
      'twice-walk': (deed) => walked('twice-graph')(deed) && deed.kind === 'walked' && /a\s*\*\s*a/.test(deed.text),
      'twice-overwrite': broke('overwrite'),
      'twice-twice': broke('twice'),
      'twice-diamond': answered('diamond.a'),
      'twice-paths': (deed) => deed.kind === 'lined-up',
    }),
  },
  {
    id: 'order',
    title: order.title,
    blocks: [
      order.pays,
      order.try,
      { figure: 'order', id: 'order-try', preset: 'diamond', choice: ['diamond', 'deep-diamond'] },
      order.deep,
      order.recursion,
      { figure: 'broken', id: 'order-broken', preset: 'deep-diamond', rule: 'recursion', choice: ['recursion', 'no-visited', 'forward'] },
    ],
    tasks: tasks(order.tasks, {
      'order-wrong': (deed) => deed.kind === 'order-run' && !deed.isRight,
      'order-right': (deed) => deed.kind === 'order-run' && deed.isRight && /x\s*=/.test(deed.text),
      'order-recursion': broke('recursion'),
    }),
  },
  {
    id: 'sort',
    title: sort.title,
    blocks: [
      sort.share,
      sort.search,
      { figure: 'sort', id: 'sort-steps', preset: 'diamond' },
      sort.visited,
      { figure: 'broken', id: 'sort-broken', preset: 'deep-diamond', rule: 'no-visited', choice: ['no-visited'] },
    ],
    tasks: tasks(sort.tasks, { 'sort-done': (deed) => deed.kind === 'sorted', 'sort-broken': broke('no-visited') }),
  },
  {
    id: 'write',
    title: write.title,
    blocks: [write.value, write.run, { figure: 'write', id: 'write-value' }, write.free],
    tasks: tasks(write.tasks, {
      'write-rules': coded('tanh'),
      'write-double': coded('double'),
      'write-backward': coded('backward'),
      'write-both': coded('both'),
      'write-reduce': coded('reduce'),
      'write-random': coded('random'),
      'write-own': coded('own'),
    }),
  },
  {
    id: 'own',
    title: own.title,
    blocks: [own.type, { figure: 'own', id: 'own-graph', text: ownText }, own.fresh, { figure: 'quiz', id: 'own-quiz', isEndless: true }],
    tasks: tasks(own.tasks, {
      'own-walk': (deed) =>
        deed.kind === 'walked' && deed.figure === 'own-graph' && !deed.text.startsWith('x=0.5; y=3; p=') && !presets.some((one) => one.text === deed.text),
      'own-quiz': answered('fresh'),
    }),
  },
  {
    id: 'learn',
    title: learn.title,
    blocks: [
      learn.loss,
      learn.neuron,
      { figure: 'train', id: 'learn-neuron', data: 'neuron' },
      learn.network,
      { figure: 'train', id: 'learn-network', data: 'moons' },
      learn.zero,
      { figure: 'broken', id: 'learn-broken', preset: 'square', rule: 'no-zeroing', choice: ['no-zeroing'] },
    ],
    tasks: tasks(learn.tasks, {
      'learn-neuron': (deed) => deed.kind === 'trained' && deed.data === 'neuron',
      'learn-network': (deed) => deed.kind === 'trained' && (deed.data === 'moons' || deed.data === 'spiral'),
      'learn-inside': (deed) => deed.kind === 'neuron-opened',
      'learn-point': (deed) => deed.kind === 'point-walked',
      'learn-zero': broke('no-zeroing'),
    }),
  },
  {
    id: 'tensors',
    title: tensors.title,
    blocks: [
      tensors.layer,
      tensors.fold,
      { tex: tensors.tex },
      { figure: 'layer', id: 'tensors-layer', ...layer },
      tensors.back,
      { tex: tensors.inputTex },
      { tex: tensors.weightTex },
      tensors.name,
    ],
    tasks: tasks(tensors.tasks, {
      'tensors-neurons': (deed) => deed.kind === 'layer-walked' && !deed.isFolded,
      'tensors-matrix': (deed) => deed.kind === 'layer-walked' && deed.isFolded,
      'tensors-cell': walked('tensors-layer-cell'),
    }),
  },
  {
    id: 'digits',
    title: digits.title,
    blocks: [digits.network, digits.train, { figure: 'digits', id: 'digits-live' }, digits.why, digits.source],
    tasks: tasks(digits.tasks, {
      'digits-train': (deed) => deed.kind === 'trained' && deed.data === 'digits',
      'digits-draw': (deed) => deed.kind === 'digit-drawn',
      'digits-why': (deed) => deed.kind === 'digit-asked',
      'digits-neuron': (deed) => deed.kind === 'neuron-opened' && deed.figure === 'digits-live',
    }),
  },
  {
    id: 'practice',
    title: practice.title,
    blocks: [practice.what, { figure: 'practice', id: 'practice-go' }, practice.link],
    tasks: tasks(practice.tasks, {
      'practice-first': (deed) => deed.kind === 'practised' && deed.isFirst,
      'practice-spot': (deed) => deed.kind === 'practised' && deed.exercise === 'spot',
    }),
  },
]

export const taskCount = chapters.reduce((sum, chapter) => sum + chapter.tasks.length, 0)
