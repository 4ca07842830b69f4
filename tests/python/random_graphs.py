# SPDX-License-Identifier: MIT
"""Builds random graphs in PyTorch, and describes them for the oracle.

Values and local derivatives stay small and operands stay away from kinks, so the two engines can differ only by
rounding. Sums of products, consumed operands and constants are frequent, as they are in users' code.
"""
import torch

from oracle import op_table
from torch_ops import IMPRECISE, KINKS, TORCH, WITHOUT_SLOPE

# Most graphs are small, because PyTorch takes about 50 microseconds per node.
SIZES = [10_000] * 10 + [3_000] * 20 + [1_000] * 70 + [300] * 200 + [100] * 300 + [30] * 200 + [10] * 200


class RandomGraph:
    """A random graph: `lines` for the oracle, and `nodes` as tensors, one per line. The last node is the root."""

    largest_value = 10.0
    largest_derivative = 1.5
    smallest_derivative = 1e-3  # or 0; 1 - r*r of a saturated tanh has few correct digits in either engine

    def __init__(self, rng, size, leaves=None):
        self.rng, self.size = rng, size
        self.lines, self.nodes = [], []
        self.live, self.unused = [], {}  # nodes with a live handle; nodes that no other node uses, in order
        self.edges = []  # (user, operand, local derivative)
        for _ in range(leaves or rng.randint(1, max(2, size // 5))):
            self.leaf()
        while self.has_room():
            rng.choice([self.any_op, self.any_op, self.product_and_sum, self.sum_of_products])()
        self.join()

    def has_room(self):
        return len(self.nodes) + len(self.unused) < self.size

    def leaf(self):
        data = self.rng.uniform(-2, 2)
        self.lines.append(f"leaf {data.hex()}")
        self.take(torch.tensor(data, requires_grad=True))

    def take(self, tensor):
        self.nodes.append(tensor)
        number = len(self.nodes) - 1
        self.live.append(number)
        self.unused[number] = True
        return number

    def some(self):
        """Chooses a node, often a recent one, so that graphs are deep as well as wide."""
        return self.rng.choice(self.live[-10:] if self.rng.random() < 0.4 else self.live)

    def operand(self):
        return self.rng.uniform(-2, 2) if self.rng.random() < 0.1 else self.some()

    def add(self, op, spelling, *operands, dying=()):
        """Adds a node if its value and derivatives are moderate. Returns its number, or None. A float operand is a constant."""
        tensors = [self.nodes[operand] if isinstance(operand, int) else torch.tensor(operand) for operand in operands]
        if op in IMPRECISE or KINKS.get(op, lambda *_: 1)(*(float(x) for x in tensors)) < 1e-6:
            return None
        result = TORCH[op](*tensors)
        by = [i for i, operand in enumerate(operands) if isinstance(operand, int)]
        detached = [x.detach().requires_grad_() for x in tensors]
        locals_ = torch.autograd.grad(TORCH[op](*detached), [detached[i] for i in by])
        if not abs(float(result)) <= self.largest_value:
            return None
        slopes = [abs(float(x)) for x in locals_]
        if not all(x == 0 or self.smallest_derivative <= x <= self.largest_derivative for x in slopes):
            return None
        result.retain_grad()
        for operand in operands:
            self.unused.pop(operand, None)
        self.live = [node for node in self.live if node not in dying] if dying else self.live
        number = self.take(result)
        self.edges += [(number, operands[i], float(x)) for i, x in zip(by, locals_)]
        words = [f"{operand}{'!' * (operand in dying)}" if isinstance(operand, int) else "=" + operand.hex() for operand in operands]
        self.lines.append(" ".join([op, spelling, *words]))
        return number

    def any_op(self):
        op = self.rng.choice([op for op in op_table() if op not in WITHOUT_SLOPE])
        if op_table()[op] == 1:
            self.add(op, "f", self.some())
            return
        first, second = self.rng.choice([(self.some(), self.operand()), (self.operand(), self.some())])
        is_operator = op in ("add", "sub", "mul", "div")
        self.add(op, self.rng.choice("fo") if is_operator else "f", first, second)

    def product(self):
        return self.add("mul", "o", self.some(), self.operand())

    def product_and_sum(self):
        addend, product = self.some(), self.product()
        if product is not None:
            pair = self.rng.choice([(product, addend), (addend, product)])
            self.add("add", "o", *pair, dying=(product,))

    def sum_of_products(self):
        total = self.product()
        for _ in range(self.rng.randint(1, 10)):
            term = self.operand() if self.rng.random() < 0.3 else self.product()
            if total is None or term is None or term == total or not self.has_room():
                return
            fresh = isinstance(term, int) and term == len(self.nodes) - 1 and term > total
            dying = (total, term) if fresh else (total,)
            total = self.add("add", self.rng.choice("oc"), total, term, dying=dying)

    def join(self):
        """Adds up all nodes that no other node uses, so that the root reaches the whole graph."""
        self.largest_value = float("inf")
        while len(self.unused) > 1:
            first, second, *_ = self.unused
            self.add("add", "o", *self.rng.choice([(first, second), (second, first)]))

    def scales(self):
        """Returns for each node the largest deposit that its gradient would have if nothing cancelled.

        Where large deposits cancel, rounding noise remains, and it is passed on to nodes whose own deposits are small.
        """
        largest = [0.0] * len(self.nodes)
        largest[-1] = abs(float(self.nodes[-1].grad))
        for user, operand, local in reversed(self.edges):
            largest[operand] = max(largest[operand], largest[user] * abs(local))
        return largest
