// SPDX-License-Identifier: MIT
// The exercises of "Write it yourself": the class the learner completes, and the programs it is tried on. Each program is Python;
// `text` is the same graph for the engine, which knows the right gradients. The words are in words/en.write.ts.
import { preset } from './presets.ts'

export interface Exercise {
  id: 'add' | 'mul' | 'tanh' | 'double' | 'backward' | 'both' | 'reduce' | 'random' | 'own'
  /** Run after the class. '' where the page makes programs of its own. */
  program: string
  /** The same for the engine; '' where the program alone says what it computes. */
  text: string
  /** The page walks back from this name, until the learner has written backward(). */
  root: string
  /** The gap that the learner fills, and one way to fill it, which is shown on request. */
  gap: string
  solution: string
}

const addPays = `        def _backward():
            self.grad += out.grad
            other.grad += out.grad`
const mulPays = `        def _backward():
            self.grad += other.data * out.grad
            other.grad += self.data * out.grad`
const tanhPays = `        def _backward():
            self.grad += (1 - out.data ** 2) * out.grad`
const walksBack = `    def backward(self):
        topo, visited = [], set()

        def build_topo(v):
            if v not in visited:
                visited.add(v)
                for child in v._prev:
                    build_topo(child)
                topo.append(v)

        build_topo(self)
        self.grad = 1.0
        for v in reversed(topo):
            v._backward()`
const reduced = `    def __neg__(self):
        return self * -1

    def __sub__(self, other):
        return self + (-other)

    def __truediv__(self, other):
        return self * other ** -1`

const gap = {
  add: `        def _backward():
            pass  # 1. pay self and other`,
  mul: `        def _backward():
            pass  # 2. pay self and other`,
  tanh: `        def _backward():
            pass  # 3. pay self`,
  backward: `    def backward(self):
        pass  # 5. sort, seed, visit`,
  reduce: `    def __neg__(self):
        pass  # 7. from what you have: * and a number

    def __sub__(self, other):
        pass  # 7. from + and neg

    def __truediv__(self, other):
        pass  # 7. from * and **`,
}

/** The class as the learner finds it. */
export const starter = `import math


class Value:
    """A number that remembers how it was made."""

    def __init__(self, data, _children=(), _op=''):
        self.data = data
        self.grad = 0.0
        self._backward = lambda: None
        self._prev = set(_children)
        self._op = _op

    def __repr__(self):
        return f'Value(data={self.data}, grad={self.grad})'

    def __add__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        out = Value(self.data + other.data, (self, other), '+')

${gap.add}

        out._backward = _backward
        return out

    def __mul__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        out = Value(self.data * other.data, (self, other), '*')

${gap.mul}

        out._backward = _backward
        return out

    def tanh(self):
        out = Value(math.tanh(self.data), (self,), 'tanh')

${gap.tanh}

        out._backward = _backward
        return out

    def __pow__(self, k):
        out = Value(self.data ** k, (self,), f'**{k}')

        def _backward():
            self.grad += k * self.data ** (k - 1) * out.grad

        out._backward = _backward
        return out

${gap.backward}

${gap.reduce}

    def __radd__(self, other):
        return self + other

    def __rmul__(self, other):
        return self * other
`

const leaf = (name: string, value: string) => `${name} = Value(${value})`

export const exercises: Exercise[] = [
  { id: 'add', program: [leaf('a', '2.0'), leaf('b', '-3.0'), 'f = a + b'].join('\n'), text: 'a=2; b=-3; f=a+b', root: 'f', gap: gap.add, solution: addPays },
  {
    id: 'mul',
    program: [leaf('a', '2.0'), leaf('b', '-3.0'), leaf('c', '10.0'), 'e = a + b', 'f = e * c'].join('\n'),
    text: preset('sum-times').text,
    root: 'f',
    gap: gap.mul,
    solution: mulPays,
  },
  {
    id: 'tanh',
    program: [leaf('x1', '2.0'), leaf('x2', '0.0'), leaf('w1', '-3.0'), leaf('w2', '1.0'), leaf('b', '6.8813735870195432'), 'n = x1*w1 + x2*w2 + b', 'o = n.tanh()'].join('\n'),
    text: preset('neuron').text,
    root: 'o',
    gap: gap.tanh,
    solution: tanhPays,
  },
  { id: 'double', program: [leaf('a', '3.0'), 'f = a + a'].join('\n'), text: preset('double').text, root: 'f', gap: '', solution: '' },
  {
    id: 'backward',
    program: [leaf('x', '2.0'), 'a = x * x', 'b = a + 1', 'c = 3 * a', 'd = b * c', 'd.backward()'].join('\n'),
    text: preset('deep-diamond').text,
    root: '',
    gap: gap.backward,
    solution: walksBack,
  },
  {
    id: 'both',
    program: [leaf('a', '-2.0'), leaf('b', '3.0'), 'd = a * b', 'e = a + b', 'f = d * e', 'f.backward()'].join('\n'),
    text: preset('product-of-both').text,
    root: '',
    gap: '',
    solution: '',
  },
  {
    id: 'reduce',
    program: [leaf('a', '2.0'), leaf('b', '5.0'), leaf('c', '4.0'), 'd = a - b', 'f = d / c', 'f.backward()'].join('\n'),
    text: 'a=2; b=5; c=4; d=a-b; f=d/c',
    root: '',
    gap: gap.reduce,
    solution: reduced,
  },
  { id: 'random', program: '', text: '', root: '', gap: '', solution: '' },
  { id: 'own', program: '', text: '', root: '', gap: '', solution: '' },
]

/** The class with every gap filled. */
export const solved = exercises.reduce((text, { gap, solution }) => (gap ? text.replace(gap, solution) : text), starter)

/** A program to begin with, where the learner writes their own. */
export const ownProgram = `# Any program that builds Values and calls backward() once.
x = Value(0.5)
y = Value(-1.5)
p = (x * y + 2).tanh()
q = p * p + x
q.backward()
print(x, y)
`
