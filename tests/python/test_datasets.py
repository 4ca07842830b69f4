# SPDX-License-Identifier: MIT
"""The made-up data without noise are scikit-learn's points; where there is no scikit-learn, this is skipped."""
import pytest

from oracle import TRAINING, ask, numbers

datasets = pytest.importorskip("sklearn.datasets")


def rows(command):
    x, labels = ask([command], TRAINING)
    x = numbers(x)
    return sorted(zip((int(word) for word in labels.split()), x[::2], x[1::2]))


def expected(x, labels):
    return sorted(zip(labels.tolist(), x[:, 0].tolist(), x[:, 1].tolist()))


def near(found, wanted):
    """The same points, each once; sorting alone would trip over a last bit."""
    assert len(found) == len(wanted)
    left = list(wanted)
    for label, a, b in found:
        match = min(left, key=lambda one: (one[0] != label, abs(one[1] - a) + abs(one[2] - b)))
        assert match[0] == label and abs(match[1] - a) < 1e-15 and abs(match[2] - b) < 1e-15
        left.remove(match)


@pytest.mark.parametrize("n", [2, 3, 100, 201])
def test_moons_lie_where_scikit_learn_has_them(n):
    near(rows(f"moons {n} 0 1"), expected(*datasets.make_moons(n, noise=None)))


@pytest.mark.parametrize("n", [2, 3, 100, 201])
def test_circles_lie_where_scikit_learn_has_them(n):
    near(rows(f"circles {n} 0 0.3 1"), expected(*datasets.make_circles(n, noise=None, factor=0.3)))
