// SPDX-License-Identifier: MIT
// Mistakes that learners make, each as a change to the right class, the exercise where it shows, and the name it is to be given.
import type { MistakeName } from '../src/python/codewalk.ts'

export interface WrongCode {
  name: MistakeName
  what: string
  change: (right: string) => string
  on: string
  /** A part of the line that is to be marked. */
  line?: string
}

const replacing = (from: string, to: string) => (text: string) => text.replace(from, to)
const search = 'for child in v._prev:\n                    build_topo(child)\n                topo.append(v)'

export const wrongCodes: WrongCode[] = [
  { name: 'overwrite', what: '= instead of +=', change: (text) => text.replaceAll('.grad += ', '.grad = '), on: 'double', line: 'other.grad = out.grad' },
  { name: 'no-visited', what: 'no visited set', change: replacing('if v not in visited:', 'if True:'), on: 'backward', line: 'v._backward()' },
  { name: 'preorder', what: 'appended before its operands', change: (text) => text.replace(search, 'topo.append(v)\n                for child in v._prev:\n                    build_topo(child)').replace('reversed(topo)', 'topo'), on: 'backward', line: 'v._backward()' },
  { name: 'forward-order', what: 'reversed() forgotten', change: replacing('reversed(topo)', 'topo'), on: 'backward' },
  { name: 'no-seed', what: 'the seed forgotten', change: replacing('        self.grad = 1.0\n', ''), on: 'backward' },
  { name: 'seed-value', what: 'a seed of 2', change: replacing('self.grad = 1.0', 'self.grad = 2.0'), on: 'backward', line: 'self.grad = 2.0' },
  { name: 'swapped', what: 'each factor times itself', change: (text) => text.replace('+= other.data * out', '+= SELF * out').replace('+= self.data * out', '+= other.data * out').replace('SELF', 'self.data'), on: 'mul', line: 'self.grad += self.data' },
  { name: 'missing-operand', what: 'the other operand unpaid', change: replacing('            other.grad += self.data * out.grad\n', ''), on: 'mul' },
  { name: 'zeroing', what: 'set to zero inside the loop', change: replacing('            v._backward()', '            v.grad = 0.0\n            v._backward()'), on: 'backward', line: 'v.grad = 0.0' },
  { name: 'zeroing', what: 'operands set to zero at each visit', change: replacing('            v._backward()', '            for child in v._prev:\n                child.grad = 0.0\n            v._backward()'), on: 'both', line: 'child.grad = 0.0' },
  { name: 'double-visit', what: 'every node visited twice', change: replacing('            v._backward()', '            v._backward()\n            v._backward()  # again'), on: 'backward', line: '# again' },
  { name: 'recursion', what: 'operands visited as they are paid', change: (text) => text.replaceAll(/( +)out\._backward = _backward/g, '$1def pay():\n$1    _backward()\n$1    for child in out._prev:\n$1        child._backward()\n$1out._backward = pay').replace('for v in reversed(topo):\n            v._backward()', 'self._backward()'), on: 'backward' },
  { name: 'no-upstream', what: 'out.grad forgotten', change: replacing('other.data * out.grad', 'other.data'), on: 'backward', line: 'self.grad += other.data' },
  { name: 'no-local', what: 'the other factor forgotten', change: replacing('other.data * out.grad', 'out.grad'), on: 'mul' },
  { name: 'tanh-input', what: 'tanh with its input for its result', change: replacing('1 - out.data ** 2', '1 - self.data ** 2'), on: 'tanh', line: '1 - self.data' },
  { name: 'tanh-square', what: 'the square forgotten', change: replacing('1 - out.data ** 2', '1 - out.data'), on: 'tanh' },
  { name: 'sign', what: 'a minus too much', change: replacing('(1 - out.data ** 2)', '(out.data ** 2 - 1)'), on: 'tanh' },
  { name: 'data-for-grad', what: 'data where grad belongs', change: replacing('self.grad += out.grad\n', 'self.grad += out.data\n'), on: 'mul' },
  { name: 'own-grad', what: 'self.grad where out.grad belongs', change: replacing('other.data * out.grad', 'other.data * self.grad'), on: 'mul' },
  { name: 'paid-again', what: 'self typed twice', change: replacing('other.grad += self.data', 'self.grad += self.data'), on: 'mul', line: 'self.grad += self.data' },
  { name: 'unvisited', what: 'the search stops one level down', change: replacing('                    build_topo(child)\n', '                    visited.add(child)\n'), on: 'backward' },
  { name: 'forward-data', what: 'a sum that subtracts', change: replacing('self.data + other.data', 'self.data - other.data'), on: 'add' },
  { name: 'pays-nobody', what: 'a _backward that is never set', change: replacing('        out._backward = _backward\n', ''), on: 'add' },
]
