# SPDX-License-Identifier: MIT
"""compile(), Program and Trainer: compiled programs equal eager graphs, and can be trained."""

import random
import threading

import numpy
import pytest

import gradwalk
from gradwalk import Value


def moons():
    random.seed(1)
    model = gradwalk.MLP(2, [8, 1])
    X, y = gradwalk.make_moons(40, 0.1, 1)
    return model, numpy.column_stack([X, 2.0 * y - 1])


def row_loss(model):
    return lambda row: (1 - row[2] * model(row[:2])).relu()


def test_compiled_programs_equal_eager_graphs():
    model, rows = moons()
    program = gradwalk.compile(row_loss(model), rows[:2], parameters=model.parameters())
    total = program.run(rows, mean=True)
    compiled = [p.grad for p in model.parameters()]
    model.zero_grad()
    loss = sum(row_loss(model)([Value(x) for x in row]) for row in rows) / len(rows)
    loss.backward()
    assert total == pytest.approx(loss.data) and compiled == pytest.approx([p.grad for p in model.parameters()])
    value, gradients = program.gradients(rows, mean=True)
    assert value == total and gradients == pytest.approx(compiled)
    assert program.evaluate(rows).shape == (40, 1) and program.evaluate(rows).mean() == pytest.approx(total)
    assert program.run(rows[::2].copy(order="F")) == pytest.approx(program.run(rows[::2]))
    assert program.describe()["layers"] and (program.inputs, program.outputs) == (3, 1)
    with pytest.raises(ValueError, match=r"rows of 3 numbers, got an array of shape \[40, 2\]"):
        program.run(rows[:, :2])


def test_compile_accepts_a_recorded_value():
    x, w = Value(1.0), Value(2.0)
    program = gradwalk.compile((w * x) ** 2, inputs=[x], parameters=[w])
    assert program.run([1.0, 2.0, 3.0]) == 56 and w.grad == 56
    both = gradwalk.compile([w * x, w + x], inputs=[x], parameters=[w])
    assert both.evaluate([[1.0], [2.0]]).tolist() == [[2, 3], [4, 4]]


def test_a_row_that_takes_another_branch_is_an_error():
    def f(row):
        return row[0] * 2 if row[0] > 0 else row[0] * 3

    program = gradwalk.compile(f, [[1.0], [2.0]])
    assert program.evaluate([[5.0]]).tolist() == [[10.0]]
    with pytest.raises(ValueError):
        program.evaluate([[-5.0]])


def test_a_trainer_reduces_the_loss():
    model, rows = moons()
    trainer = gradwalk.Trainer(gradwalk.compile(row_loss(model), rows[:2], parameters=model.parameters()), gradwalk.Adam(lr=0.02),
                               lambda k: 0.02 if k < 50 else 0.01)
    losses = [trainer.step(rows, mean=True) for _ in range(100)]
    assert losses[-1] < losses[0] / 2 and trainer.steps == 100
    before = [p.data for p in model.parameters()]
    trainer.write_back()
    assert before != [p.data for p in model.parameters()]


def test_a_trainer_trains_several_programs():
    """Trains w so that w times a sum of two or three numbers is 1: one parameter, and one program per length."""
    w = Value(0.0)

    def program(length):
        inputs = [Value(0.0) for _ in range(length)]
        return gradwalk.compile((w * sum(inputs[1:], inputs[0]) - 1) ** 2, inputs=inputs, parameters=[w])

    programs = [program(2), program(3)]
    trainer = gradwalk.Trainer(programs, gradwalk.SGD(lr=0.01))
    assert trainer.step([[[1.0, 1.0]], [[1.0, 1.0, 2.0]]], mean=True) == 1
    trainer.write_back()
    assert w.data == pytest.approx(0.01 * (4 + 8) / 2)  # minus the learning rate times the mean of -2 times the sum of a row
    trainer.step([None, [[1.0, 1.0, 2.0], [0.0, 0.0, 4.0]]])
    trainer.write_back()
    assert w.data == pytest.approx(0.06 - 0.01 * 2 * 2 * 4 * (4 * 0.06 - 1))
    assert programs[0].evaluate([[1.0, 1.0]]) == pytest.approx((2 * w.data - 1) ** 2)  # the programs can still be used
    with pytest.raises(ValueError, match="^Trainer.step: needs an array of rows, or None, for each of 2 programs, got 1 of them; give them in the order"):
        trainer.step([[[1.0, 1.0]]])
    with pytest.raises(ValueError):
        trainer.step([[[1.0]], None])
    with pytest.raises(ValueError, match="at least one program"):
        gradwalk.Trainer([], gradwalk.SGD())
    with pytest.raises(ValueError):
        gradwalk.Trainer([programs[0], gradwalk.compile(Value(1.0) * 2)], gradwalk.SGD())
    with pytest.raises(ValueError, match="^Trainer: needs each program once, got the same program twice; list it once, and give it all its rows$"):
        gradwalk.Trainer([programs[0], programs[0]], gradwalk.SGD())
    assert programs[0].evaluate([[1.0, 1.0]]) == pytest.approx((2 * w.data - 1) ** 2)


def test_programs_run_in_parallel_with_other_threads():
    model, rows = moons()
    program = gradwalk.compile(row_loss(model), rows[:2], parameters=model.parameters())
    expected, many, got = program.gradients(rows)[0], numpy.tile(rows, (200, 1)), []

    def work():
        for _ in range(10):
            program.gradients(many)
            got.append((Value(2.0) * 3).data)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == [6.0] * 40 and program.gradients(rows)[0] == expected
