// SPDX-License-Identifier: MIT
// The lesson as data: chapters of words (one paragraph a line, with `code`, *emphasis* and $TeX$), figures and tasks.
// A task is done when the learner does something that matches; docs/lesson.md tells how to add any of these.
import type { Deed } from '../lib/context.ts'
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
  blocks: Block[]
  tasks: Task[]
}

const answered = (question: string) => (deed: Deed) => deed.kind === 'answered' && deed.question === question
const walked = (figure: string) => (deed: Deed) => deed.kind === 'walked' && deed.figure === figure
const broke = (rule: string) => (deed: Deed) => deed.kind === 'rule-broken' && deed.rule === rule && deed.hasParted

export const chapters: Chapter[] = [
  {
    id: 'fill',
    title: 'Fill in the data',
    blocks: [
      'Any formula is a graph. The numbers you start from are its *leaves*; every operation makes a new node from the nodes it uses; the last node, the one everything leads to, is the *root*.',
      'Here is $f = (a + b) \\cdot c$. Only the leaves have values so far. Step forward, and watch each node take its `data` from its operands. A node can be computed as soon as all its operands are, never before: that is the whole *forward pass*.',
      { figure: 'graph', id: 'fill-graph', preset: 'sum-times', choice: ['sum-times', 'product-of-both', 'neuron'] },
      'Now change a leaf: type another number over its value. Everything above it is computed again, everything beside it stays. Which nodes move, and how far? That is the question the rest of this lesson answers.',
    ],
    tasks: [
      {
        id: 'fill-forward',
        text: 'Step forward until the root has its data.',
        done: (deed) => deed.kind === 'forward-done' && deed.figure === 'fill-graph',
      },
      {
        id: 'fill-edit',
        text: 'Type another value over a leaf.',
        done: (deed) => deed.kind === 'leaf-edited' && deed.figure === 'fill-graph',
      },
    ],
  },
  {
    id: 'back',
    title: 'Seed the root and walk back',
    blocks: [
      'A node’s *gradient*, its `grad`, says how fast the root moves when the node moves: nudge the node by a little, and the root goes `grad` times as far.',
      'For the root itself that is easy: it moves one for one with itself, so its gradient is 1. We write that in first, and call it the *seed*. From there we walk back. Each node we visit *pays* its operands: its own gradient, times the *local derivative* of its operation.',
      {
        tex: '\\text{operand}.\\mathrm{grad} \\;\\text{+=}\\; \\text{node}.\\mathrm{grad} \\cdot \\frac{\\partial\\,\\text{node}}{\\partial\\,\\text{operand}}',
      },
      'One such payment is a *deposit*. Walk the whole graph: forward to the root, start backward, and visit node after node. Each deposit is written out with its numbers.',
      { figure: 'graph', id: 'back-graph', preset: 'sum-times' },
      'Select a node to open its ledger: every deposit its gradient is the sum of, and the paths back to the root that stand behind them. Then say, without looking, how fast $f$ moves with $a$ and with $b$:',
      {
        figure: 'quiz',
        id: 'back-quiz',
        questions: [
          { preset: 'sum-times', name: 'a' },
          { preset: 'sum-times', name: 'b' },
        ],
      },
    ],
    tasks: [
      { id: 'back-walk', text: 'Walk the graph to its end, seeing every step.', done: walked('back-graph') },
      {
        id: 'back-ledger',
        text: 'Open the ledger of a node.',
        done: (deed) => deed.kind === 'node-opened' && deed.figure === 'back-graph',
      },
      { id: 'back-a', text: 'Answer: ∂f/∂a.', done: answered('sum-times.a') },
      { id: 'back-b', text: 'Answer: ∂f/∂b.', done: answered('sum-times.b') },
    ],
  },
  {
    id: 'rules',
    title: 'Add copies, multiply swaps and scales',
    blocks: [
      'The backward rule of every operation fits on one line. A sum moves exactly as far as either of its terms, so *add copies* its gradient to both operands. In a product, each factor is scaled by the other one, so *multiply swaps* the factors’ values and scales by them.',
      'Every other operation follows the same pattern: upstream gradient times local derivative. This is the engine’s own table; the page has no second copy of it.',
      { figure: 'rules', id: 'rules-table', ops: ['add', 'sub', 'mul', 'div', 'pow', 'exp', 'tanh', 'relu'] },
      'Now do it by hand. Below, the page asks for each number before it shows it. An edge, when you select it, tells you its local derivative.',
      { figure: 'graph', id: 'rules-graph', preset: 'product-of-both', byHand: true },
      'Can we trust these numbers? There is an experiment that needs no rules at all: move one leaf by a small $h$, compute the root again, and see how far it went. Drag $h$ toward zero.',
      { figure: 'wiggle', id: 'rules-wiggle', preset: 'shared' },
    ],
    tasks: [
      {
        id: 'rules-edge',
        text: 'Select an edge and read its local derivative.',
        done: (deed) => deed.kind === 'edge-opened',
      },
      {
        id: 'rules-hand',
        text: 'Fill in the numbers of a step yourself.',
        done: (deed) => deed.kind === 'predicted' && deed.figure === 'rules-graph',
      },
      {
        id: 'rules-wiggle',
        text: 'Wiggle a leaf by less than a thousandth.',
        done: (deed) => deed.kind === 'wiggled' && deed.h < 1e-3,
      },
    ],
  },
  {
    id: 'neuron',
    title: 'A neuron',
    blocks: [
      'A neuron weighs its inputs, adds a bias, and squashes the sum: $o = \\tanh(x_1 w_1 + x_2 w_2 + b)$. It is a graph like any other, made of three kinds of nodes you know and one new one.',
      'The local derivative of tanh is $1 - o^2$: it needs only the result. Here $o$ is about 0.7071, so its square is a half, and half of the gradient passes through. Follow it down to the weights.',
      { figure: 'graph', id: 'neuron-graph', preset: 'neuron', choice: ['neuron'] },
      'Look at $w_2$. Its input $x_2$ is 0, so whatever $w_2$ does, the neuron does not notice: its gradient is 0. A weight learns only from inputs that are there.',
      {
        figure: 'quiz',
        id: 'neuron-quiz',
        questions: [
          { preset: 'neuron', name: 'w1' },
          { preset: 'neuron', name: 'x1' },
        ],
      },
    ],
    tasks: [
      { id: 'neuron-walk', text: 'Walk the neuron to its end, seeing every step.', done: walked('neuron-graph') },
      { id: 'neuron-w1', text: 'Answer: ∂o/∂w₁.', done: answered('neuron.w1') },
    ],
  },
  {
    id: 'twice',
    title: 'One node used twice',
    blocks: [
      'In $a \\cdot a$ the same node is both factors. There are two edges, and two deposits come back along them. Both count: if $a$ moves, both factors move. That is why the rule says `+=`.',
      { figure: 'graph', id: 'twice-graph', preset: 'square', choice: ['square', 'double', 'shared', 'diamond'] },
      'It is easy to get wrong. Write `=` where `+=` belongs, and each deposit wipes out the one before: $a \\cdot a$ at 3 then gets 3 instead of 6, and $a + a$ gets 1 instead of 2. Break it yourself, and look for the first node where wrong and right part.',
      { figure: 'broken', id: 'twice-broken', preset: 'square', rule: 'overwrite', choice: ['overwrite', 'twice'] },
      'What adds up within a pass must not add up across passes. Try the second switch on $c = ab,\\ d = c + a,\\ e = d^2$: backward run twice with nothing zeroed in between. The inner nodes still hold the gradients of the first pass, and pay them out again.',
      {
        figure: 'quiz',
        id: 'twice-quiz',
        questions: [
          { preset: 'diamond', name: 'a' },
          { preset: 'shared', name: 'a' },
        ],
      },
    ],
    tasks: [
      {
        id: 'twice-walk',
        text: 'Walk a · a to its end.',
        done: (deed) => walked('twice-graph')(deed) && deed.kind === 'walked' && /a\s*\*\s*a/.test(deed.text),
      },
      { id: 'twice-overwrite', text: 'Run “= instead of +=” on a graph where it shows.', done: broke('overwrite') },
      { id: 'twice-twice', text: 'Run backward twice without zeroing, where it shows.', done: broke('twice') },
      { id: 'twice-diamond', text: 'Answer: ∂d/∂a for the diamond.', done: answered('diamond.a') },
    ],
  },
  {
    id: 'order',
    title: 'The order matters',
    blocks: [
      'A node pays with what it has when it is visited. If someone still owes it a deposit then, that deposit comes too late: it sits on the node, and is never passed on.',
      'So in which order should the nodes be visited? Try. Put the nodes of the diamond into an order of your own and run it. You are told what each node had when its turn came, and what was lost, to whom, and why. (Constants take no gradient, so they have no place in an order.)',
      { figure: 'order', id: 'order-try', preset: 'diamond', choice: ['diamond', 'deep-diamond'] },
      'Then choose the deep diamond and find an order that gives $x$ its 108. Only a few do; what do they have in common?',
      'Do we need an order at all? It is the question most learners ask. Why not let each node pay on at once, whenever it receives something? Try that: *naive recursion*. On the deep diamond, $a$ is paid twice, and pays on twice; the second time it passes the first deposit on again.',
      {
        figure: 'broken',
        id: 'order-broken',
        preset: 'deep-diamond',
        rule: 'recursion',
        choice: ['recursion', 'no-visited', 'forward'],
      },
    ],
    tasks: [
      {
        id: 'order-wrong',
        text: 'Run an order that loses gradient, and read why.',
        done: (deed) => deed.kind === 'order-run' && !deed.isRight,
      },
      {
        id: 'order-right',
        text: 'Find a right order of the deep diamond.',
        done: (deed) => deed.kind === 'order-run' && deed.isRight && /x\s*=/.test(deed.text),
      },
      { id: 'order-recursion', text: 'Run naive recursion where it goes wrong.', done: broke('recursion') },
    ],
  },
  {
    id: 'sort',
    title: 'The sort that finds it',
    blocks: [
      'What the right orders share: no node is visited before everything that uses it. Such an order is called *topological*, and a depth-first search finds one.',
      'From the root, go into the operands first; when all operands of a node are done, append it to a list. So each node stands in the list after its operands. Read from its end, each stands after its users: backward’s order.',
      { figure: 'sort', id: 'sort-steps', preset: 'diamond' },
      'The *visited set* keeps a shared node from being listed twice. Leave it out, and the node is visited once for every path to it, each time paying all it has:',
      { figure: 'broken', id: 'sort-broken', preset: 'deep-diamond', rule: 'no-visited', choice: ['no-visited'] },
    ],
    tasks: [
      { id: 'sort-done', text: 'Follow the sort until the list is reversed.', done: (deed) => deed.kind === 'sorted' },
      { id: 'sort-broken', text: 'Run the sort without its visited set.', done: broke('no-visited') },
    ],
  },
  {
    id: 'own',
    title: 'Your own expression',
    blocks: [
      'Now type what you like: names, numbers, `+ - * / **`, parentheses, and functions such as `tanh`, `exp`, `log`, `relu`, `sin`. A name given to a number is a leaf; numbers elsewhere are constants and take no gradient. The address of this page always holds your graph and your step: a link to it opens the same.',
      { figure: 'own', id: 'own-graph', text: 'x=0.5; y=3; p=x*y+1; q=exp(x)/p; L=(q-y)**2' },
      'And when you want to know whether it has all settled: fresh questions on random graphs, as many as you like. Fractions are fine.',
      { figure: 'quiz', id: 'own-quiz', isEndless: true },
    ],
    tasks: [
      {
        id: 'own-walk',
        text: 'Type an expression of your own and walk it to its end.',
        done: (deed) =>
          deed.kind === 'walked' &&
          deed.figure === 'own-graph' &&
          !deed.text.startsWith('x=0.5; y=3; p=') &&
          !presets.some((one) => one.text === deed.text),
      },
      { id: 'own-quiz', text: 'Answer a fresh question.', done: answered('fresh') },
    ],
  },
  {
    id: 'learn',
    title: 'From a neuron to a network that learns',
    blocks: [
      'Put a neuron’s output beside what it should have been, and the distance between them is one more node: the *loss*. Backward gives every weight its gradient, the direction in which the loss grows. Move each weight a little the other way, and do it again. That is training; there is nothing else to it.',
      'Start with a single neuron and two clouds of points. It can only draw a straight line, and here a line is enough.',
      { figure: 'train', id: 'learn-neuron', data: 'neuron' },
      'Moons need a bend, so they need layers: neurons that read neurons. The graph grows to hundreds of nodes for every point, and it is walked exactly as yours was. Pick a point and see; the layers are boxes that open.',
      { figure: 'train', id: 'learn-network', data: 'moons' },
      'Last, the mistake everyone makes once: gradients *add up*, so before each new step they have to be set to zero. Here is a training step repeated without that.',
      { figure: 'broken', id: 'learn-broken', preset: 'square', rule: 'no-zeroing', choice: ['no-zeroing'] },
    ],
    tasks: [
      {
        id: 'learn-neuron',
        text: 'Train a neuron until 95 % of the clouds are right.',
        done: (deed) => deed.kind === 'trained' && deed.data === 'neuron',
      },
      {
        id: 'learn-network',
        text: 'Train a network until 95 % of the moons or the spiral are right.',
        done: (deed) => deed.kind === 'trained' && deed.data !== 'neuron',
      },
      {
        id: 'learn-point',
        text: 'Walk the graph of one point to its end.',
        done: (deed) => deed.kind === 'point-walked',
      },
      { id: 'learn-zero', text: 'Run a training step without zeroing.', done: broke('no-zeroing') },
    ],
  },
]

export const taskCount = chapters.reduce((sum, chapter) => sum + chapter.tasks.length, 0)
