# SPDX-License-Identifier: MIT
"""Losses and optimizers agree with PyTorch; modules can be subclassed; parameters can be saved and loaded."""

import math
import pickle

import numpy
import pytest

import gradwalk
from gradwalk import Value


@pytest.mark.torch
def test_losses_and_optimizers_agree_with_torch():
    import torch

    numbers = [0.3, -0.7, 1.1]
    for config, rule in [(gradwalk.SGD(lr=0.1, momentum=0.9), lambda p: torch.optim.SGD(p, 0.1, momentum=0.9)),
                         (gradwalk.Adam(lr=0.1), lambda p: torch.optim.Adam(p, 0.1)),
                         (gradwalk.AdamW(lr=0.1), lambda p: torch.optim.AdamW(p, 0.1))]:
        ours = [Value(n) for n in numbers]
        theirs = torch.tensor(numbers, dtype=torch.float64, requires_grad=True)
        optimizer, reference = gradwalk.Optimizer(ours, config), rule([theirs])
        for _ in range(5):
            optimizer.zero_grad()
            reference.zero_grad()
            loss = gradwalk.mean_squared_error([p.tanh() for p in ours], [1, 2, 3])
            expected = ((theirs.tanh() - torch.tensor([1.0, 2.0, 3.0])) ** 2).mean()
            assert loss.data == pytest.approx(expected.item(), rel=1e-9)
            loss.backward()
            expected.backward()
            optimizer.step()
            reference.step()
        assert [p.data for p in ours] == pytest.approx(theirs.tolist(), rel=1e-9)


def test_hinge_cross_entropies_and_penalties_are_right():
    assert gradwalk.hinge(Value(0.5), 1).data == 0.5
    assert gradwalk.binary_cross_entropy([Value(0.0)], [1]).data == pytest.approx(math.log(2))
    assert gradwalk.softmax_cross_entropy([Value(1.0), Value(1.0)], 0).data == pytest.approx(math.log(2))
    assert gradwalk.l2_penalty([Value(3.0), Value(4.0)]).data == 25
    with pytest.raises(ValueError, match="hinge"):
        gradwalk.hinge([Value(1.0)], [3])


def test_old_keywords_still_work_and_warn():
    y = [Value(3.0), Value(1.0)]
    with pytest.warns(DeprecationWarning, match="^hinge: needs the keyword target, got targets, its old name; write target=$"):
        assert gradwalk.hinge(y, targets=[-1, 1]).data == gradwalk.hinge(y, target=[-1, 1]).data == 2
    with pytest.warns(DeprecationWarning) as warned:
        assert gradwalk.mean_squared_error(outputs=y, targets=[1, 1]).data == 2
        gradwalk.softmax_cross_entropy([y, y], labels=[0, 1])
        program = gradwalk.compile(y[0] * y[0], parameters=y[:1])
        gradwalk.Trainer(programs=[program], config=gradwalk.SGD())
    assert [str(w.message).split(", ")[1] for w in warned] == ["got outputs", "got targets", "got labels", "got programs"]
    assert all(w.filename == __file__ for w in warned)
    with pytest.raises(TypeError, match="^hinge: needs target once, got it twice; call "):
        gradwalk.hinge(y, target=[1, 1], targets=[1, 1])
    with pytest.raises(TypeError, match="^hinge: needs only arguments that it has, got 'weights'; call "), pytest.warns(DeprecationWarning):
        gradwalk.hinge(y, targets=[1, 1], weights=1)


def test_modules_can_be_subclassed():
    class Scaled(gradwalk.Module):
        def __init__(self):
            self.inner, self.scale = gradwalk.Neuron(1, nonlin=False), Value(2.0)

        def __call__(self, x):
            return self.inner(x) * self.scale

        def parameters(self):
            return self.inner.parameters() + [self.scale]

    model = Scaled()
    model([1.0]).backward()
    assert model.inner.b.grad == 2
    model.zero_grad()
    assert all(p.grad == 0 for p in model.parameters())


def test_save_and_load_restore_the_parameters(tmp_path):
    model = gradwalk.MLP(2, [8, 1])
    gradwalk.save(tmp_path / "model.safetensors", model)
    numbers = [p.data for p in model.parameters()]
    for p in model.parameters():
        p.data = 0
    gradwalk.load(tmp_path / "model.safetensors", model)
    assert [p.data for p in model.parameters()] == numbers
    with pytest.raises(ValueError, match="load: needs a file with 1 parameters, got 33; load it into a model of the same sizes"):
        gradwalk.load(tmp_path / "model.safetensors", [Value(0.0)])


class Scaled(gradwalk.Module):
    """A module without parameters() of its own."""

    def __init__(self):
        self.inner, self.scale = gradwalk.Neuron(2, nonlin=False), Value(2.0)
        self.table, self.pairs = {"a": Value(1.0), "b": [Value(3.0)]}, (Value(4.0), self.scale)
        self.grid = numpy.array([Value(5.0), Value(6.0)], dtype=object)
        self._hidden, self.number = Value(0.0), 3
        self.output = self.scale * 2  # no leaf

    def __call__(self, x):
        return self.inner(x) * self.scale


def test_a_module_finds_its_parameters_by_attribute():
    model = Scaled()
    assert [name for name, _ in model.named_parameters()] == ["inner.w.0", "inner.w.1", "inner.b", "scale", "table.a", "table.b.0", "pairs.0", "grid.0", "grid.1"]
    assert [p.data for p in model.parameters()][2:] == [0, 2, 1, 3, 4, 5, 6]
    model([1.0, 1.0]).backward()
    model.zero_grad()
    assert all(p.grad == 0 for p in model.parameters())
    assert [name for name, _ in gradwalk.MLP(1, [2, 1]).named_parameters()][:3] == ["layers.0.neurons.0.w.0", "layers.0.neurons.0.b", "layers.0.neurons.1.w.0"]


def test_state_dicts_of_modules_and_optimizers_are_restored():
    model = Scaled()
    state = pickle.loads(pickle.dumps(model.state_dict()))
    assert state["scale"] == 2.0 and list(state) == [name for name, _ in model.named_parameters()]
    for p in model.parameters():
        p.data = 9
    model.load_state_dict(state)
    assert model.state_dict() == state
    with pytest.raises(ValueError, match=r"load_state_dict: needs a number for each of 9 parameters, got 1 missing \['scale'\], 1 unknown \['x'\]; give the state of"):
        model.load_state_dict({"x": 1.0, **{k: v for k, v in state.items() if k != "scale"}})

    def steps(optimizer, count):
        for _ in range(count):
            optimizer.zero_grad()
            gradwalk.l2_penalty(optimizer.parameters).backward()
            optimizer.step()
        return [p.data for p in optimizer.parameters]

    whole, first = (gradwalk.Optimizer([Value(1.0), Value(2.0)], gradwalk.Adam(lr=0.1)) for _ in range(2))
    expected = steps(whole, 6)
    steps(first, 3)
    second = gradwalk.Optimizer(first.parameters, gradwalk.Adam(lr=0.1))
    second.load_state_dict(first.state_dict())
    copied = pickle.loads(pickle.dumps(first))
    assert copied.config.lr == 0.1 and copied.state_dict() == first.state_dict() and steps(copied, 3) == expected
    assert steps(second, 3) == expected and second.state_dict()["steps"] == 6


def test_modules_and_configs_can_be_pickled():
    model = gradwalk.MLP(2, [3, 1], activation="tanh", seed=3)
    copied = pickle.loads(pickle.dumps(model))
    assert copied.state_dict() == model.state_dict() and copied([1.0, 2.0]).data == model([1.0, 2.0]).data
    for config in (gradwalk.SGD(0.1, 0.2, 0.3), gradwalk.Adam(0.1), gradwalk.AdamW(0.1, weight_decay=0.5), gradwalk.RMSprop(0.1), gradwalk.Adagrad(0.1)):
        again = pickle.loads(pickle.dumps(config))
        assert type(again) is type(config) and again.lr == 0.1


def test_an_mlp_has_an_activation_and_a_seed():
    first, second, other = (gradwalk.MLP(2, [4, 1], activation="tanh", seed=seed) for seed in (1, 1, 2))
    assert first.state_dict() == second.state_dict() != other.state_dict()
    hidden = [n.w[0] * 0.5 + n.w[1] * -1.0 + n.b for n in first.layers[0].neurons]
    expected = sum(math.tanh(h.data) * w.data for h, w in zip(hidden, first.layers[1].neurons[0].w))
    assert first([0.5, -1.0]).data == pytest.approx(expected)
    assert repr(gradwalk.MLP(1, [1, 1], activation=lambda x: x.sin()).layers[0].neurons[0]).endswith("Neuron(1)")
    with pytest.raises(ValueError, match="Neuron: needs activation to be a function of a Value or the name of one, such as 'relu' or 'tanh', got 'step'; choose one"):
        gradwalk.MLP(2, [1, 1], activation="step")


def test_a_model_of_a_batch_returns_an_array_of_predictions():
    X = numpy.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    one, two = gradwalk.MLP(2, [3, 1], seed=0), gradwalk.MLP(2, [3, 2], seed=0)
    assert one(X).shape == (3,) and two(X).shape == (3, 2) and one(X)[1].data == one(X[1]).data
    (one(X) ** 2).mean().backward()
    assert any(p.grad != 0 for p in one.parameters())
    for work, message in [(lambda: one([1, 2, 3, 4]), "MLP: needs 2 numbers, got 4; give one number per input"),
                          (lambda: one(numpy.ones((3, 4))), "MLP: needs 2 numbers, got 4; give one number per input"),
                          (lambda: one([[1, 2], [3, 4]]), r"MLP: needs the numbers of one row, got a list of rows; give an array, numpy.array\(rows\)"),
                          (lambda: one(1.0), "MLP: needs a list of 2 numbers, got one number; put it into a list"),
                          (lambda: gradwalk.Neuron(2)([1.0]), "Neuron: needs 2 numbers, got 1; give one number per input")]:
        with pytest.raises(ValueError, match=message):
            work()
