// SPDX-License-Identifier: MIT
// The English words of "Write it yourself", apart: they are loaded with the chapter. A translation has both files.
import type { MistakeName } from '../python/codewalk.ts'

/** The names and numbers in the words about a mistake, as the page shows them. */
export interface Facts {
  /** The node that is wrong, and the one that paid it. */
  node: string
  by: string
  got: string
  right: string
  /** " (line 12)", or nothing. */
  at: string
  /** Of `node`, when it was visited. */
  visits: number
}

const mistakes: Record<MistakeName, { title: string; why: (facts: Facts) => string }> = {
  overwrite: {
    title: '= where += belongs',
    why: ({ node, by, got, right, at }) => `${node} already had a deposit when ${by} paid it${at}. Your = replaced it: ${node} has ${got}, and should have ${right}. A node that is used twice is paid twice, and both count.`,
  },
  'no-visited': {
    title: 'The sort has no visited set',
    why: ({ node, at }) => `${node} is in your list once for every path to it, so it pays again and again${at}. Put each node into a visited set when you meet it, and skip it the next time.`,
  },
  'double-visit': {
    title: 'A node is visited twice',
    why: ({ node, at }) => `${node} has paid already, and now pays the same gradient a second time${at}. Each node is visited once.`,
  },
  recursion: {
    title: 'Naive recursion',
    why: ({ node }) => `${node} pays its operands as soon as it is paid, before its other users have paid it. Then it pays again, with all it has so far. Sort the nodes first, and visit each of them once.`,
  },
  preorder: {
    title: 'The list is in preorder',
    why: ({ node, at }) => `${node} is visited before all of its users have paid it${at}. Deposits that arrive later are never passed on. Append a node after its operands, and read the list backwards.`,
  },
  'forward-order': {
    title: 'The list is read forward',
    why: ({ node, at }) => `The walk begins at the leaves: ${node} is visited when nobody has paid it${at}. The root comes first. Did you forget reversed()?`,
  },
  order: {
    title: 'The order is wrong',
    why: ({ node, at }) => `${node} is visited before all of its users have paid it${at}. Deposits that arrive later are never passed on.`,
  },
  'no-seed': {
    title: 'The seed is missing',
    why: ({ node }) => `${node} is the root, and its gradient is still 0 when the walk begins. Every deposit is 0 times something. Set self.grad to 1 first.`,
  },
  'seed-value': {
    title: 'The seed is not 1',
    why: ({ node, got, at }) => `${node} begins with ${got}${at}. The root moves one for one with itself, so its gradient is 1.`,
  },
  swapped: {
    title: 'The factors are swapped',
    why: ({ node, by, got, right, at }) => `${by} pays ${node} its gradient times ${node}’s own value: ${got}${at}. In a product, each factor gets the gradient times the other factor: ${right}.`,
  },
  'missing-operand': {
    title: 'One operand is not paid',
    why: ({ node, by, right }) => `${by} pays only one of its operands. ${node} gets nothing from it, and should get ${right}.`,
  },
  'pays-nobody': {
    title: 'Nobody is paid',
    why: ({ node, by, right }) => `${by} is visited and makes no deposit. ${node} should get ${right}. Write the body of _backward: add to the grad of each operand, and set out._backward to it.`,
  },
  'paid-again': {
    title: 'One operand is paid too often',
    why: ({ node, by, at }) => `${by} makes one deposit too many at ${node}${at}. Check self and other: each is paid once.`,
  },
  zeroing: {
    title: 'A gradient is set to zero during the walk',
    why: ({ node, right, at }) => `${node} had ${right}, and it is set to 0${at}. Set gradients to zero before the walk begins, never inside the loop.`,
  },
  'no-upstream': {
    title: 'out.grad is missing',
    why: ({ node, by, got, right, at }) => `${by} pays ${node} the local derivative alone: ${got}${at}. Multiply it by what ${by} has, out.grad: ${right}.`,
  },
  'no-local': {
    title: 'The local derivative is missing',
    why: ({ node, by, got, right, at }) => `${by} hands on what it has, ${got}, as it is${at}. Multiply it by the number on the edge to ${node}: ${right}.`,
  },
  'own-grad': {
    title: 'The operand’s own gradient is used',
    why: ({ node, by, right, at }) => `${node} is paid with its own gradient${at}. The payer is ${by}, so use out.grad. Then ${node} gets ${right}.`,
  },
  'data-for-grad': {
    title: 'data where grad belongs',
    why: ({ node, by, right, at }) => `${by} pays ${node} with its data${at}. A node passes on its gradient: out.grad. Then ${node} gets ${right}.`,
  },
  'tanh-input': {
    title: 'self.data where out.data belongs',
    why: ({ node, right, at }) => `The derivative of tanh is 1 − t², and t is the result: out.data, not self.data${at}. Then ${node} gets ${right}.`,
  },
  'tanh-square': {
    title: 'The derivative of tanh is 1 − t²',
    why: ({ node, got, right, at }) => `${node} gets ${got}${at}, and should get ${right}. t is out.data; square it, and subtract the square from 1.`,
  },
  sign: {
    title: 'The sign is wrong',
    why: ({ node, by, got, right, at }) => `${by} pays ${node} ${got}${at}. It should be ${right}.`,
  },
  amount: {
    title: 'A deposit is wrong',
    why: ({ node, by, got, right, at }) => `${by} pays ${node} ${got}${at}. It should be ${right}: what ${by} has, times the number on the edge.`,
  },
  unvisited: {
    title: 'A node is never visited',
    why: ({ node }) => `${node} is not in your list, so it pays nobody. The search has to go into the operands of every node it meets.`,
  },
  'forward-data': {
    title: 'The forward pass is wrong',
    why: ({ node, got, right }) => `${node} has the data ${got}. It should be ${right}.`,
  },
  written: {
    title: 'A gradient is set, not paid',
    why: ({ node, got, at }) => `The gradient of ${node} becomes ${got}${at}, but no node that uses ${node} has paid that.`,
  },
  gradient: {
    title: 'A gradient is wrong',
    why: ({ node, got, right }) => `${node} ends with ${got}. It should be ${right}.`,
  },
}

export const enWrite = {
  label: 'write the Value class yourself',
  keys: 'your code and what it does; arrow keys step',
  exercises: {
    add: { title: 'add', task: 'f is a sum: it moves one for one with each of its operands. Replace `pass` in `__add__`: pay `self` and `other` with what `out` has.' },
    mul: { title: 'multiply', task: 'Multiply swaps: each factor gets the gradient times the other factor. Write `_backward` in `__mul__`. You need `self.data`, `other.data` and `out.grad`.' },
    tanh: { title: 'tanh', task: 'tanh lets part of the gradient through: 1 − t², where t is its result. Write `_backward` in `tanh`, and walk the neuron.' },
    double: { title: 'a + a', task: 'Now one node is used twice. Does `a` get 2? If not, look at how you write to `grad`.' },
    backward: { title: 'backward()', task: 'So far the page found the order and called each `_backward`. Now write `backward` yourself: sort the graph, seed the root, visit every node. `self._prev` has the operands of a node.' },
    both: { title: 'a and b, used twice', task: 'Here `a` and `b` each feed two nodes. Walk the graph with your own `backward`.' },
    reduce: { title: '− and /', task: 'You need no new rule for these. Write −x, x − y and x / y with the operations you have, and their gradients come for free.' },
    random: { title: 'random graphs', task: 'Is your class right on every graph? It runs on forty random graphs, and each gradient is compared with the engine’s.' },
    own: { title: 'your own program', task: 'Write or paste any program that builds Values. It may bring a `Value` class of its own, such as micrograd’s, as long as the rules are in `_backward`.' },
  },
  exercise: 'exercise',
  done: 'done',
  editor: 'value.py, your class',
  program: 'program.py',
  programLabel: 'program.py, the program that tries your class',
  pageWalks: (root: string) => `# the page walks back from ${root}`,
  run: 'run',
  running: 'running…',
  runKeys: 'Ctrl+Enter runs it. Tab indents; Esc, then Tab, leaves the editor.',
  solution: 'Show me one way to write it',
  take: 'put it into my class',
  startOver: 'start the class over',
  startOverSure: 'throw my class away',
  keepIt: 'keep it',
  download: 'download value.py',
  loading: 'Python is loading',
  loadFailed: (why: string) => `Python could not be loaded: ${why}.`,
  again: 'try again',
  begin: 'Run your class, and watch its deposits.',
  graph: 'the graph that your program built, walked by your code',
  graphBefore: 'the graph of the exercise, before your code has run',
  phase: 'your code',
  phaseRight: 'done: right',
  phaseWrong: 'done: wrong',
  isRight: 'Right.',
  rightWhy: (gradients: string) => `Your code gives every node the engine’s gradient: ${gradients}.`,
  allRight: (n: number) => `${n} of ${n} random graphs are right.`,
  allRightWhy: 'Your class gives every node of every graph the same gradient as the engine.',
  someRight: (right: number, all: number) => `${right} of ${all} random graphs came out right. Then this one did not.`,
  wrongGraph: (text: string) => `Your program does not compute ${text}.`,
  nextExercise: (title: string) => `Next: ${title} →`,
  at: (line: number) => ` (line ${line})`,
  mistakes,
  printed: 'printed',
  errorAt: (kind: string, message: string, file: string, line: number) => `${kind} in ${file}, line ${line}: ${message}`,
  error: (kind: string, message: string) => `${kind}: ${message}`,
  errorTitle: 'Python stopped',
  limitTitle: 'Stopped: too much work',
  limitAt: (message: string, file: string, line: number) => `In ${file}, line ${line}: ${message}.`,
  tooLongTitle: 'Stopped: it takes too long',
  tooLong: (seconds: number) => `Your program was still running after ${seconds} seconds. Is there a loop that does not end?`,
  brokenTitle: 'Python could not go on',
  broken: (why: string) => `The program needed more than the page can give (${why}). Python has been started again.`,
  tooMuchText: (most: string, got: string) => `The editor takes up to ${most} characters, got ${got}. Paste less text.`,
  noBackwardTitle: 'There is nothing to walk',
  noBackward: 'The program ended without calling backward() on a Value. Add a line such as f.backward().',
  refused: 'This graph cannot be walked',
  sign: (sign: string) => (sign === '' ? 'A Value with operands needs the sign of its operation, as in Value(data, (self, other), ‘+’).' : `The engine needs an operation it knows, got ‘${sign}’. It knows +, −, *, /, **, tanh, exp, log, relu and more.`),
  operands: (sign: string, needs: number, got: number) => `‘${sign}’ needs ${needs === 1 ? 'one operand' : `${needs} operands`}, got ${got}.`,
  large: (nodes: number, most: number) => `The graph has ${nodes} nodes; up to ${most} are drawn.`,
  same: 'The same program in PyTorch and in gradwalk',
  bounds: 'A program may run for 2 seconds and build 10,000 Values. Graphs of up to 2,000 nodes are checked, and up to 120 are drawn. Functions can call themselves about 100 levels deep. Only the first backward() is walked.',
}
