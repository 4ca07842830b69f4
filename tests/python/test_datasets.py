# SPDX-License-Identifier: MIT
"""Synthetic data without noise lies on the curves of scikit-learn, at the same distances."""
from math import cos, pi, sin

import pytest

from oracle import TRAINING, ask, numbers


def rows(command):
    x, labels = ask([command], TRAINING)
    x = numbers(x)
    return list(zip((int(word) for word in labels.split()), x[::2], x[1::2]))


def linspace(stop, n, endpoint=True):
    return [stop * i / max(1, n - endpoint) for i in range(n)]


def assert_same_points(found, wanted):
    """Checks that both have the same points in any order. Sorting would fail on a difference in the last bit."""
    assert len(found) == len(wanted)
    left = list(wanted)
    for label, a, b in found:
        match = min(left, key=lambda point: (point[0] != label, abs(point[1] - a) + abs(point[2] - b)))
        assert match == (label, pytest.approx(a, abs=2e-15), pytest.approx(b, abs=2e-15))
        left.remove(match)


SIZES = pytest.mark.parametrize("n", [2, 3, 100, 201])


@SIZES
def test_moons_are_two_half_circles(n):
    outer = [(0, cos(t), sin(t)) for t in linspace(pi, n // 2)]
    inner = [(1, 1 - cos(t), 1 - sin(t) - 0.5) for t in linspace(pi, n - n // 2)]
    assert_same_points(rows(f"moons {n} 0 1"), outer + inner)


@SIZES
def test_one_circle_is_inside_the_other(n):
    outer = [(0, cos(t), sin(t)) for t in linspace(2 * pi, n // 2, False)]
    inner = [(1, 0.3 * cos(t), 0.3 * sin(t)) for t in linspace(2 * pi, n - n // 2, False)]
    assert_same_points(rows(f"circles {n} 0 0.3 1"), outer + inner)


@pytest.mark.parametrize("n, classes", [(3, 3), (100, 3), (101, 2), (7, 1)])
def test_the_arms_of_a_spiral_turn_three_quarters(n, classes):
    points = []
    for arm in range(classes):
        for r in linspace(1, n // classes + (arm < n % classes)):
            t = 2 * pi * (arm / classes + 0.75 * r)
            points.append((arm, r * cos(t), r * sin(t)))
    assert_same_points(rows(f"spiral {n} {classes} 0 1"), points)
