# SPDX-License-Identifier: MIT
"""compile(), Program and Trainer: compiled programs equal eager graphs, and can be trained."""

import pickle
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


def test_programs_are_functions():
    x, y, w = Value(1.0), Value(2.0), Value(3.0)
    program = gradwalk.compile(w * x + y, inputs=[x, y], parameters=[w])
    assert program([[1.0, 2.0], [3.0, 4.0]]).tolist() == [5, 13] and program([1.0, 2.0]) == 5
    alone = gradwalk.compile(w * w, parameters=[w])
    assert alone() == 9
    of_one = gradwalk.compile(x * x, inputs=[x])
    assert of_one([1.0, 2.0, 3.0]).tolist() == [1, 4, 9] and of_one(3.0) == 9


def test_functions_return_lists_tuples_arrays_and_dicts():
    rows = numpy.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    total, product = rows.sum(axis=1), rows.prod(axis=1)
    listed = gradwalk.compile(lambda row: [row[0] + row[1], row[0] * row[1]], rows)
    assert [column.tolist() for column in listed(rows)] == [total.tolist(), product.tolist()] and listed(rows[0]) == [3, 2]
    pair = gradwalk.compile(lambda row: (row[0] + row[1], row[0] * row[1]), rows)(rows[0])
    assert pair == (3, 2)
    array = gradwalk.compile(lambda row: numpy.array([[row[0], row[1]], [row[0] * 2, row[1] * 2]]), rows)
    assert array(rows).shape == (3, 2, 2) and array(rows)[1].tolist() == [[3, 4], [6, 8]] and array(rows[1]).tolist() == [[3, 4], [6, 8]]
    named = gradwalk.compile(lambda row: {"sum": row[0] + row[1], "both": [row[0], row[0] * row[1]]}, rows)
    assert named(rows)["sum"].tolist() == total.tolist() and named(rows)["both"][1].tolist() == product.tolist() and named.outputs == 3
    with pytest.raises(TypeError, match="compile: needs Values, or lists, tuples, dicts and arrays of them, got str; return Values"):
        gradwalk.compile(lambda row: "x", rows)


def test_functions_return_arrays_of_other_libraries():
    class Table:
        """Has nothing but the method by which NumPy converts it."""

        def __init__(self, values):
            self.values = values

        def __array__(self, dtype=None, copy=None):
            return numpy.array(self.values, dtype=object)

    rows = numpy.array([[1.0, 2.0], [3.0, 4.0]])
    assert gradwalk.compile(lambda row: Table([row[0] * 2, row[1]]), rows)(rows).tolist() == [[2, 2], [6, 4]]
    with pytest.raises(TypeError, match="compile: needs Values, or lists, tuples, dicts and arrays of them, got str; return Values"):
        gradwalk.compile(lambda row: Table(["x"]), rows)


def test_rows_given_as_arrays_arrive_as_arrays():
    rows = numpy.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    assert gradwalk.compile(lambda row: (row**2).sum(), rows)(rows).tolist() == [5, 25, 61]
    assert gradwalk.compile(lambda row: row + [1.0], rows.tolist())(rows.tolist())[2].tolist() == [1, 1, 1]
    scaled = gradwalk.compile(lambda row: row * numpy.array([2.0, 3.0]))
    assert scaled(rows).tolist() == (rows * [2, 3]).tolist() and scaled(rows[0]).tolist() == [2, 6]
    assert pickle.loads(pickle.dumps(gradwalk.compile(lambda row: (row**2).sum(), rows)))(rows).tolist() == [5, 25, 61]


def test_compile_is_a_decorator():
    w = Value(2.0)

    @gradwalk.compile
    def distance(x, y):
        """The distance from the origin."""
        return (x * x + y * y).sqrt()

    assert distance(3.0, 4.0) == 5 and distance.program is None
    assert distance([3.0, 6.0], [4.0, 8.0]).tolist() == [5, 10] and distance.program is not None
    assert distance(5.0, 12.0) == 13 and distance([3.0, 6.0], 0.0).tolist() == [3, 6] and distance.__doc__ == "The distance from the origin."

    @gradwalk.compile(parameters=[w])
    def loss(row):
        return (w * row[0] - row[1]) ** 2

    rows = numpy.array([[1.0, 1.0], [2.0, 5.0]])
    assert loss(rows).tolist() == [1, 1] and loss(rows[0]) == 1 and loss.run(rows) == 2 and w.grad == -2
    assert loss.gradients(rows)[1].tolist() == [-2] and loss.evaluate(rows).shape == (2, 1)
    with pytest.raises(ValueError, match=r"distance: needs arrays of one length, got \(2,\) and \(3,\); give one number per row"):
        distance([1.0, 2.0], [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="distance: needs 2 arguments, got 1; give an array or a number for each"):
        distance(1.0)


def test_gradients_of_each_row():
    model, rows = moons()
    program = gradwalk.compile(row_loss(model), rows[:2], parameters=model.parameters())
    values, gradients = program.gradients(rows, per_row=True)
    assert values == pytest.approx(program.evaluate(rows)[:, 0]) and gradients.shape == (40, len(model.parameters()))
    assert gradients[3] == pytest.approx(program.gradients(rows[3:4])[1]) and gradients.sum(axis=0) == pytest.approx(program.gradients(rows)[1])
    with pytest.raises(ValueError, match="Program.gradients: needs rows alone with per_row, got mean or weights, too; scale the gradients of each row yourself"):
        program.gradients(rows, per_row=True, mean=True)


def test_compile_derivatives_gives_the_derivatives_of_each_row():
    x, a, b = Value(1.0), Value(2.0), Value(3.0)
    program = gradwalk.compile_derivatives((a * x).sin() * b, inputs=[x], parameters=[a, b])
    expected = [[3 * t * numpy.cos(2 * t), numpy.sin(2 * t)] for t in (0.5, 1.5)]
    assert program.evaluate([[0.5], [1.5]]) == pytest.approx(numpy.array(expected))
    with pytest.raises(ValueError, match="compile_derivatives: needs parameters to differentiate by, got none"):
        gradwalk.compile_derivatives(x * 2, inputs=[x])


def test_numbers_are_refused_as_parameters():
    w, x = Value(2.0), Value(1.0)
    for work, name in [(lambda: gradwalk.compile(w * x, inputs=[x], parameters=[2.0]), "compile: needs a list of Values for parameters"),
                       (lambda: gradwalk.compile(w * x, inputs=[1.0]), "compile: needs a list of Values for inputs"),
                       (lambda: gradwalk.compile(lambda row: w * row[0], [[1.0], [2.0]], parameters=[0.5]), "compile: needs a list of Values for parameters"),
                       (lambda: gradwalk.Optimizer([1.0], gradwalk.SGD()), "Optimizer: needs a list of Values for parameters"),
                       (lambda: gradwalk.clip_gradient_norm([1.0], 1.0), "clip_gradient_norm: needs a list of Values for parameters"),
                       (lambda: gradwalk.l2_penalty([1.0]), "l2_penalty: needs a list of Values for parameters")]:
        with pytest.raises(TypeError, match=rf"{name}, got float at index 0; make it a Value, as in Value\(2.0\)"):
            work()


def test_wrong_rows_are_refused_in_words():
    w, x = Value(2.0), Value(1.0)
    program = gradwalk.compile(w * x, inputs=[x], parameters=[w])
    for work, message in [(lambda: program.run("abc"), "Program.run: needs an array of numbers for rows, got str; give numbers only"),
                          (lambda: program.evaluate([[1.0], [2.0, 3.0]]), "Program.evaluate: needs an array of numbers for rows, got list; give rows that are equally long"),
                          (lambda: program.gradients([1.0], weights="x"), "Program.gradients: needs an array of numbers for weights, got str; give numbers only"),
                          (lambda: program("abc"), "Program: needs an array of numbers for rows, got str; give numbers only"),
                          (lambda: program([[x]]), "Program: needs an array of numbers for rows, got gradwalk.Value; use its .data"),
                          (lambda: program.run(numpy.array([x, x])), "Program.run: needs an array of numbers for rows, got gradwalk.Value; use its .data"),
                          (lambda: gradwalk.compile(lambda row: row[0], [[x], [x]]), "compile: needs an array of numbers for rows, got gradwalk.Value; use its .data"),
                          (lambda: gradwalk.Trainer(program, gradwalk.SGD()).step({}), "Trainer.step: needs an array of numbers for rows, got dict; give numbers only"),
                          (lambda: gradwalk.Trainer(program, 0.1), r"Trainer: needs an optimizer for config, got float; give SGD\(\), Adam\(\)"),
                          (lambda: gradwalk.Trainer(program, gradwalk.SGD(), 3), "Trainer: needs a function for schedule, got int; give a function"),
                          (lambda: gradwalk.Trainer(program, gradwalk.SGD(), str).step([1.0]), "Trainer: needs a number for the result of schedule, got str"),
                          (lambda: gradwalk.SGD(lr="a"), "SGD: needs a number for lr, got str; convert it to a float"),
                          (lambda: gradwalk.Trainer([program, 3], gradwalk.SGD()), r"Trainer: needs a Program for program, got int; compile\(\) makes one"),
                          (lambda: gradwalk.compile(w, threads=-1), "compile: needs threads as a whole number, 0 or more, got -1; give 0 for all cores"),
                          (lambda: gradwalk.compile("abc"), "compile: needs Values, or lists, tuples, dicts and arrays of them, got str; return Values")]:
        with pytest.raises(TypeError, match=message):
            work()


def test_values_have_the_weights_after_each_step():
    w = Value(0.0)
    program = gradwalk.compile(lambda row: (w * row[0] - row[1]) ** 2, [[1.0, 2.0], [2.0, 4.0]], parameters=[w])
    rows = numpy.array([[1.0, 2.0], [2.0, 4.0]])
    trainer = gradwalk.Trainer(program, gradwalk.SGD(lr=0.01))
    trainer.step(rows)
    assert w.data == pytest.approx(0.2) and program.evaluate(rows)[0, 0] == pytest.approx(1.8**2)
    with trainer as same:
        same.step(rows)
        assert w.data == pytest.approx(0.2)  # inside the block, the Values keep their numbers
        trainer.write_back()
        between = w.data
        same.step(rows)
    assert 0.2 < between < w.data
    with pytest.raises(RuntimeError), trainer:
        before = w.data
        trainer.step(rows)
        raise RuntimeError
    assert w.data != before


def test_training_continues_from_a_state_dict():
    model, rows = moons()
    numbers = [p.data for p in model.parameters()]

    def trainer():
        return gradwalk.Trainer(gradwalk.compile(row_loss(model), rows[:2], parameters=model.parameters()), gradwalk.Adam(lr=0.02))

    whole = trainer()
    expected = [whole.step(rows, mean=True) for _ in range(10)]
    for p, number in zip(model.parameters(), numbers):
        p.data = number
    first = trainer()
    losses = [first.step(rows, mean=True) for _ in range(5)]
    state = pickle.loads(pickle.dumps((model.state_dict(), first.state_dict())))
    del first
    for p in model.parameters():
        p.data = 0
    model.load_state_dict(state[0])
    second = trainer()
    second.load_state_dict(state[1])
    assert losses + [second.step(rows, mean=True) for _ in range(5)] == expected and second.steps == 10
    with pytest.raises(TypeError, match="Trainer.load_state_dict: needs a dict with steps, first and second for state, got dict; give one that state_dict"):
        second.load_state_dict({"steps": 1})
    with pytest.raises(ValueError, match="set_state: needs moments of 33 and 33 numbers, got 1 and 0"):
        second.load_state_dict({"steps": 1, "first": [1.0], "second": []})


def test_a_trainer_is_pickled_with_its_model():
    model, rows = moons()
    trainer = gradwalk.Trainer(gradwalk.compile(row_loss(model), rows[:2], parameters=model.parameters()), gradwalk.Adam(lr=0.02))
    trainer.clip_norm(0.5)
    for _ in range(5):
        trainer.step(rows, mean=True)
    same_model, same = pickle.loads(pickle.dumps((model, trainer)))
    losses = [trainer.step(rows, mean=True) for _ in range(5)]
    assert [same.step(rows, mean=True) for _ in range(5)] == pytest.approx(losses, rel=1e-12) and same.steps == 10
    assert [p.data for p in same_model.parameters()] == pytest.approx([p.data for p in model.parameters()], rel=1e-12)
    with trainer:
        trainer.step(rows)
        inside = pickle.loads(pickle.dumps(trainer))
        assert inside.step(rows) == pytest.approx(trainer.step(rows), rel=1e-12)


def test_a_program_that_cannot_be_recorded_again_is_not_pickled():
    w = Value(2.0)
    with pytest.raises(TypeError, match=r"pickle: needs a program of a function, which can be recorded again, got one of Values; give compile\(\) a function and rows"):
        pickle.dumps(gradwalk.compile(w * w, parameters=[w]))
    branching = gradwalk.compile(lambda row: row[0] * w if row[0] > 0 else w, [[1.0], [2.0]], parameters=[w])
    with pytest.raises(ValueError, match="pickle: needs a function without branches on Values, got one that branches; write select"):
        pickle.dumps(branching)


def test_a_hook_can_change_the_gradient():
    w = Value(1.0)
    trainer = gradwalk.Trainer(gradwalk.compile(w * w, parameters=[w]), gradwalk.SGD(lr=0.5))
    seen = []

    def double(gradient):
        seen.append(gradient.tolist())
        gradient *= 2

    trainer.before_update(double)
    trainer.step()
    assert seen == [[2.0]] and w.data == -1


def test_a_comparison_is_an_output_that_each_row_decides():
    @gradwalk.compile
    def sides(row):
        return {"large": row[0] > 3, "both": [row[0], row[0] <= 0]}

    found = sides(numpy.array([[1.0], [5.0], [-2.0]]))
    assert found["large"].tolist() == [0, 1, 0] and found["both"][1].tolist() == [0, 0, 1]
    assert gradwalk.jacobian(lambda x: [x > 0, 2 * x])(3.0) == [0, 2]


# ---- functions that branch ----


def branching(parameters):
    limit, rate = parameters

    def f(x, y):
        if x < 0:
            return y * rate, x
        rounds = 0
        while y > limit:
            y, rounds = y * rate + 0.01 * x, rounds + 1
        return max(x, y) * 2 + rounds, sorted([x, y])[0]

    return f


def test_a_decorated_function_may_branch_and_is_right_for_every_row():
    parameters = [Value(0.5), Value(0.7)]
    f = branching(parameters)
    compiled = gradwalk.compile(f, parameters=parameters)
    generator = numpy.random.default_rng(1)
    for _ in range(3):
        rows = generator.uniform(-1, 4, (500, 2))
        wanted, sums, gradients = [], 0.0, []
        for row in rows.tolist():
            outputs = f(Value(row[0]), Value(row[1]))
            wanted.append([float(output.data) for output in outputs])
            sums += wanted[-1][0]
        first, second = compiled(rows[:, 0], rows[:, 1])
        assert numpy.allclose(numpy.column_stack([first, second]), wanted, rtol=1e-12)
        assert numpy.allclose(compiled.evaluate(rows), wanted, rtol=1e-12)
        for parameter in parameters:
            parameter.grad = 0.0
        for row in rows.tolist():
            (f(Value(row[0]), Value(row[1]))[0] * 1.0).backward()
        gradients = [parameter.grad for parameter in parameters]
        for parameter in parameters:
            parameter.grad = 0.0
        assert compiled.run(rows) == pytest.approx(sums)
        assert [parameter.grad for parameter in parameters] == pytest.approx(gradients)
        total, slopes = compiled.gradients(rows, mean=True)
        assert total == pytest.approx(sums / 500)
        assert slopes == pytest.approx(numpy.array(gradients) / 500)
    values, slopes = compiled.gradients(rows[:3], per_row=True)
    assert values.tolist() == pytest.approx([row[0] for row in wanted[:3]])
    assert slopes.shape == (3, 2)
    described = compiled.describe()
    assert described["compiled_rows"] > 1000
    assert described["most_used"][0]["is_compiled"]
    assert compiled.program is None


def test_a_single_row_of_a_branching_function_is_a_number():
    f = gradwalk.compile(lambda x, y: x if x > y else y * 2)
    assert f(3.0, 1.0) == 3.0
    assert f(1.0, 3.0) == 6.0
    assert f([1.0, 4.0], 3.0).tolist() == [6.0, 4.0]


def test_a_function_without_branches_still_becomes_a_program():
    f = gradwalk.compile(lambda row: row[0] * row[1])
    assert f([[1.0, 2.0], [3.0, 4.0]]).tolist() == [2.0, 12.0]
    assert isinstance(f.program, gradwalk.Program)
    assert f.describe()["instructions"] > 0


def test_a_trainer_of_a_branching_function_reduces_the_loss():
    a, b = Value(0.0), Value(0.0)

    @gradwalk.compile(parameters=[a, b])
    def loss(row):
        error = a - row[1] if row[0] < 0.5 else a + b * (row[0] - 0.5) - row[1]
        return error * error

    with pytest.raises(ValueError, match="Trainer: needs a function that was called with rows, got one that was not called yet; call it with some rows first"):
        gradwalk.Trainer(loss, gradwalk.Adam(lr=0.1))
    x = numpy.linspace(0, 1, 50)
    rows = numpy.column_stack([x, numpy.where(x < 0.5, 2.0, 2 - 3 * (x - 0.5))])
    loss.run(rows)
    trainer = gradwalk.Trainer(loss, gradwalk.Adam(lr=0.1))
    for _ in range(500):
        mean = trainer.step(rows, mean=True)
    assert mean < 1e-8
    assert (a.data, b.data) == pytest.approx((2, -3), abs=1e-3)
    assert trainer.steps == 500


def test_errors_of_a_branching_function_are_python_errors():
    def f(row):
        if row[0] > 5:
            raise KeyError("too large")
        return row[0] * 2

    compiled = gradwalk.compile(f)
    assert compiled([[1.0], [2.0]]).tolist() == [2.0, 4.0]
    with pytest.raises(KeyError, match="too large"):
        compiled([[1.0], [6.0]])
    assert compiled([[1.0], [2.0]]).tolist() == [2.0, 4.0]
    numbers = iter(range(1000))
    hidden = gradwalk.compile(lambda row: row[0] * next(numbers) if row[0] > 0 else row[0])
    with pytest.raises(ValueError, match="records the same graph when it is called again"):
        hidden([[1.0], [2.0]])


@pytest.mark.parametrize("branch", [False, True])
def test_a_loop_runs_as_often_as_each_row_needs(branch):
    rate = Value(0.8)

    def f(x, y):
        def body(state):
            if branch and state[0] > 3:
                return [state[0] - 1, state[1] + 1]
            return [state[0] * rate + 0.01 * y, state[1] + 1]

        last, rounds = gradwalk.loop([x, 0.0], lambda state: state[0] > 1, body)
        return last * last + rounds

    compiled = gradwalk.compile(f, parameters=[rate])
    rows = numpy.random.default_rng(2).uniform(0, 8, (400, 2))
    for _ in range(3):
        rate.grad = 0.0
        wanted = []
        for row in rows.tolist():
            y = f(Value(row[0]), Value(row[1]))
            (y * 1.0).backward()
            wanted.append(y.data)
        total, slopes = compiled.gradients(rows)
        assert total == pytest.approx(sum(wanted))
        assert slopes[0] == pytest.approx(rate.grad)
        assert compiled(rows[:, 0], rows[:, 1]).tolist() == pytest.approx(wanted)
    assert compiled.describe()["loops"][0]["paths"] == 1  # The two branches of a body become one graph.


def test_a_graph_that_a_comparison_decided_is_refused():
    x, y = gradwalk.Value(2.0), gradwalk.Value(3.0)
    loss = x * y if x < y else x + y
    with pytest.raises(ValueError, match="while 2 < 3 became a bool"):
        gradwalk.compile(loss, parameters=[x, y])
    with pytest.raises(ValueError, match="ignore_comparisons"):
        gradwalk.compile_derivatives(loss, parameters=[x, y])
    assert gradwalk.compile(loss, parameters=[x, y], ignore_comparisons=True).run() == 6.0


def test_gradients_take_a_seed_per_row_and_output():
    w, x = Value(2.0), Value(0.0)
    program = gradwalk.compile([w * x, w * w + x], inputs=[x], parameters=[w])
    value, slopes = program.gradients([[1.0], [3.0]], seeds=[[1.0, 10.0], [2.0, 0.0]])
    assert value == 2 + 50 + 12 and slopes.tolist() == [1 + 40 + 6]
    with pytest.raises(ValueError, match="needs 4 seeds, got 3"):
        program.gradients([[1.0], [3.0]], seeds=[1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="got seeds, too"):
        program.gradients([[1.0]], per_row=True, seeds=[[1.0, 1.0]])
    values, each = program.gradients([[1.0], [3.0]], per_row=True)
    assert values.tolist() == [2, 6] and each.tolist() == [[1], [3]]
