# SPDX-License-Identifier: MIT
"""Compares the random generator with a second implementation, written from docs/random.md in Python."""
import re

import pytest

from oracle import ROOT, TRAINING, ask, numbers

MASK = (1 << 64) - 1


def rotl(word, by):
    return (word << by | word >> (64 - by)) & MASK


class Random:
    def __init__(self, seed):
        self.state = []
        for _ in range(4):
            seed = (seed + 0x9E3779B97F4A7C15) & MASK
            z = (seed ^ seed >> 30) * 0xBF58476D1CE4E5B9 & MASK
            z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
            self.state.append(z ^ z >> 31)

    def next(self):
        s0, s1, s2, s3 = self.state
        t = s1 << 17 & MASK
        s2 ^= s0
        s3 ^= s1
        self.state = [s0 ^ s3, s1 ^ s2, s2 ^ t, rotl(s3, 45)]
        return rotl(s1 * 5 & MASK, 7) * 9 & MASK

    def uniform(self):
        return (self.next() >> 11) * 2.0**-53

    def below(self, n):
        while (word := self.next()) < 2**64 % n:
            pass
        return word % n

    def shuffle(self, items):
        for k in range(len(items), 1, -1):
            other = self.below(k)
            items[k - 1], items[other] = items[other], items[k - 1]

    def falls_evenly(self, start, goes_on):
        falls = 0
        while (u := self.uniform()) < start and goes_on():
            start, falls = u, falls + 1
        return falls % 2 == 0

    def h(self):
        return self.falls_evenly(0.5, lambda: True)

    def b(self, k, x):
        return self.falls_evenly(x, lambda: self.uniform() < (2 * k + x) / (2 * k + 2))

    def normal(self):
        while True:
            k = 0
            while self.h():
                k += 1
            if not all(self.h() for _ in range(k * (k - 1))):
                continue
            x = self.uniform()
            if not all(self.b(k, x) for _ in range(k + 1)):
                continue
            return -(k + x) if self.next() >> 63 else k + x


@pytest.mark.parametrize("seed", [0, 1, 42, 1337, 2**63, 2**64 - 1])
def test_the_same_seed_gives_the_same_numbers_in_python(seed):
    words, uniforms, belows, normals, order, state = ask([f"random {seed}"], TRAINING)
    random = Random(seed)
    assert [int(word) for word in words.split()] == [random.next() for _ in range(300)]
    assert numbers(uniforms) == [random.uniform() for _ in range(300)]
    expected = [random.below(n) for n in range(1, 301)] + [random.below(2**63 + 1) for _ in range(10)]
    assert [int(word) for word in belows.split()] == expected
    assert numbers(normals) == [random.normal() for _ in range(3000)]
    shuffled = list(range(300))
    random.shuffle(shuffled)
    assert [int(word) for word in order.split()] == shuffled
    assert [int(word) for word in state.split()] == random.state


def test_the_numbers_in_the_documentation_are_those_of_seed_42():
    text = (ROOT / "docs/random.md").read_text()
    rows = {call: line for call, line in re.findall(r"^(\w+\(\)): +(.*)$", text, re.MULTILINE)}
    words, uniforms, normals = Random(42), Random(42), Random(42)
    assert rows["next()"].split() == [str(words.next()) for _ in range(5)]
    assert rows["uniform()"].split() == [repr(uniforms.uniform()) for _ in range(5)]
    assert rows["normal()"].split() == [repr(normals.normal()) for _ in range(5)]
