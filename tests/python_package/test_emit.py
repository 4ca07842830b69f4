# SPDX-License-Identifier: MIT
"""emit_c() and emit_cuda(): gcc compiles the file, and ctypes compares its functions with the graph and the Python program."""

import ctypes
import math
import pathlib
import random
import re
import subprocess
import sys

import numpy
import pytest

import gradwalk
from gradwalk import Value
from gradwalk.sklearn import MLPClassifier, MLPRegressor

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

FLAGS = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1"]


class Compiled:
    """The functions of an emitted file, compiled by gcc with its header, on arrays of NumPy."""

    def __init__(self, source, folder):
        file, header = source.write(folder)
        library = pathlib.Path(folder) / "lib.so"
        subprocess.run(["gcc", *FLAGS, "-include", header, "-shared", "-fPIC", file, "-o", library, "-lm"], check=True)
        subprocess.run(["g++", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c++", header], check=True)
        self.library, self.source = ctypes.CDLL(str(library)), source
        self.type = numpy.float32 if "float work" in source.header or "float *work" in source.header else numpy.float64

    def call(self, function, *arguments, returns=True):
        """Calls NAME_function. Results go to arrays of zeros(); other numbers are copied; an int is a size."""
        size = int(re.search(r"_WORKSPACE (\d+)", self.source.text)[1]) + 10_000
        arrays = [x if isinstance(x, int) else numpy.ascontiguousarray(x, self.type) for x in arguments] + [numpy.zeros(size, self.type)]
        called = getattr(self.library, f"{self.source.name}_{function}")
        called.restype = None if not returns else ctypes.c_float if self.type is numpy.float32 else ctypes.c_double
        return called(*(ctypes.c_size_t(x) if isinstance(x, int) else ctypes.c_void_p(x.ctypes.data) for x in arrays))

    def zeros(self, *shape):
        return numpy.zeros(shape, self.type)


def test_the_file_computes_the_value_and_the_gradient_of_a_graph(tmp_path):
    x, y, w = Value(0.3, label="x"), Value(-0.7, label="y"), Value(1.5, label="w")
    loss = (w * x - y).sin() ** 2 + (x * y).tanh() * w
    loss.backward()
    compiled = Compiled(gradwalk.emit_c(loss, name="my loss", inputs=[x, y], parameters=[w], input_gradients=True), tmp_path)
    assert compiled.source.name == "my_loss" and str(compiled.source) == compiled.source.text
    gradient, of_inputs = compiled.zeros(1), compiled.zeros(2)
    assert compiled.call("gradient", [1.5], [0.3, -0.7], gradient, of_inputs) == pytest.approx(loss.data, rel=1e-14)
    assert [*gradient, *of_inputs] == pytest.approx([w.grad, x.grad, y.grad], rel=1e-14)


def test_the_file_computes_what_the_program_of_a_function_computes(tmp_path):
    random.seed(3)
    model = gradwalk.MLP(2, [8, 1])
    X, y = gradwalk.make_moons(40, 0.1, 1)
    rows = numpy.column_stack([X, 2.0 * y - 1])
    program = gradwalk.compile(lambda row: (1 - row[2] * model(row[:2])).relu(), rows[:2], parameters=model.parameters())
    numbers = [p.data for p in model.parameters()]
    compiled = Compiled(gradwalk.emit_c(program, rows=True, step=True), tmp_path)
    gradient = compiled.zeros(len(numbers))
    total, slopes = program.gradients(rows)
    assert compiled.call("rows", numbers, rows, len(rows), gradient) == pytest.approx(total, rel=1e-12)
    assert gradient == pytest.approx(slopes, rel=1e-12, abs=1e-12)


def test_several_outputs_a_jacobian_and_a_hessian(tmp_path):
    x = [Value(0.3), Value(2.0), Value(-1.0)]
    outputs = {"a": x[0] * x[1] ** 2, "b": [x[2].exp() + x[0], x[1] * x[2]]}
    compiled = Compiled(gradwalk.emit_c(outputs, parameters=x, jacobian=True, hessian=True), tmp_path)
    found, jacobian = compiled.zeros(3), compiled.zeros(3, 3)
    compiled.call("jacobian", [0.3, 2, -1], found, jacobian, returns=False)
    e = math.exp(-1)
    assert found == pytest.approx([1.2, e + 0.3, -2]) and jacobian == pytest.approx(numpy.array([[4, 1.2, 0], [1, 0, e], [0, -1, 2]]))
    gradient, hessian = compiled.zeros(3), compiled.zeros(3, 3)
    compiled.call("hessian", [0.3, 2, -1], gradient, hessian)
    assert hessian == pytest.approx(numpy.array([[0, 4, 0], [4, 0.6, 0], [0, 0, 0]]))


def test_a_function_is_recorded_on_its_sample_rows_and_names_its_inputs(tmp_path):
    w = Value(2.0, label="gain")
    rows = numpy.array([[1.0, 2.0], [3.0, 4.0]])
    plain = gradwalk.emit_c(lambda row: w * row[0] + row[1], rows, parameters=[w], precision="float32")
    assert Compiled(plain, tmp_path).call("value", [2.0], [3.0, 4.0]) == 10 and "float *" in plain.header

    @gradwalk.compile(parameters=[w])
    def line(slope, offset):
        return w * slope + offset

    assert "const double slope = inputs[0];" in gradwalk.emit_c(line, rows).text
    assert gradwalk.emit_c(line).text == gradwalk.emit_c(line, rows).text


def test_the_precision_of_a_program_is_that_of_its_file():
    program = gradwalk.compile(lambda row: row[0] * 2, [[1.0], [2.0]], precision="float32")
    assert "float model_value(" in gradwalk.emit_c(program).text
    assert "double model_value(" in gradwalk.emit_c(program, precision="float64").text


def test_a_network_has_its_parameters_as_a_table(tmp_path):
    model = gradwalk.MLP(3, [4, 2], activation="tanh", seed=5)
    compiled = Compiled(gradwalk.emit_c(model, name="net"), tmp_path)
    table = (ctypes.c_double * 26).in_dll(compiled.library, "net_parameters")
    outputs = compiled.zeros(2)
    compiled.call("outputs", list(table), [0.1, -0.2, 0.3], outputs, returns=False)
    assert outputs == pytest.approx([v.data for v in model([0.1, -0.2, 0.3])], rel=1e-14)
    assert "net_gradient" not in compiled.source.text and "net_gradient" in gradwalk.emit_c(model, name="net", gradient=True).text


@pytest.mark.parametrize("classes", [2, 3])
def test_a_classifier_predicts_its_classes(classes, tmp_path):
    X, y = gradwalk.make_spiral(60, classes, 0.05, 1)
    model = MLPClassifier((8,), "logistic", solver="lbfgs", random_state=0, max_iter=30).fit(X, numpy.array(["red", "green", "blue"])[y])
    compiled = Compiled(gradwalk.emit_c(model, name="spiral", step=True), tmp_path)
    table = list((ctypes.c_double * (8 * 3 + 9 * model.n_outputs_)).in_dll(compiled.library, "spiral_parameters"))
    names = (ctypes.c_char_p * classes).in_dll(compiled.library, "spiral_classes")
    compiled.library.spiral_predict.restype = ctypes.c_int
    work = numpy.zeros(10_000)
    parameters = numpy.array(table)
    found = [names[compiled.library.spiral_predict(*(ctypes.c_void_p(a.ctypes.data) for a in (parameters, numpy.ascontiguousarray(row), work)))].decode() for row in X]
    assert found == model.predict(X).tolist()
    assert "spiral_loss_step(" in compiled.source.header and f"spiral_targets[{classes}]" in compiled.source.header


def test_a_regressor_predicts_its_numbers(tmp_path):
    X = numpy.linspace(-1, 1, 20).reshape(-1, 1)
    model = MLPRegressor((6,), "tanh", solver="lbfgs", random_state=0).fit(X, X[:, 0] ** 2)
    compiled = Compiled(gradwalk.emit_c(model, precision="float32"), tmp_path)
    parameters = list((ctypes.c_float * 19).in_dll(compiled.library, "model_parameters"))
    assert numpy.array([compiled.call("value", parameters, row) for row in X]) == pytest.approx(model.predict(X), rel=1e-4, abs=1e-5)


def test_a_model_file_of_the_command_line_is_emitted(tmp_path):
    file = tmp_path / "moons.safetensors"
    subprocess.run([sys.executable, "-m", "gradwalk", "train", "moons", "--steps", "5", "--save", file], check=True, capture_output=True)
    compiled = Compiled(gradwalk.emit_c(file, name="moons", main=True), tmp_path)
    assert b"inner" in (ctypes.c_char_p * 2).in_dll(compiled.library, "moons_classes")[:]


def test_main_prints_the_results(tmp_path):
    x = Value(3.0)
    file, _ = gradwalk.emit_c(x * x, name="square", parameters=[x], main=True).write(tmp_path)
    subprocess.run(["gcc", *FLAGS, file, "-o", tmp_path / "square", "-lm"], check=True)
    assert subprocess.run([tmp_path / "square"], capture_output=True, text=True).stdout == "value = 9\ngradient[0] = 6\n"


def refusals():
    x, w = Value(1.0), Value(2.0)
    model = gradwalk.MLP(2, [1])
    branching = gradwalk.compile(lambda row: row[0] if row[0] > 0 else row[0] * 2)
    branching.evaluate([[1.0], [-1.0]])
    fitted = MLPRegressor((2,), solver="lbfgs", max_iter=1).fit([[0.0], [1.0]], [[0.0, 1.0], [1.0, 0.0]])
    return [
        (lambda: gradwalk.emit_c(w * x, inputs=[x], rows=True), ValueError,
         "emit_c: needs parameters for the gradient over rows, got none; name them in parameters"),
        (lambda: gradwalk.emit_c(w * x, inputs=[x], parameters=[w], rows=True, gradient=False), ValueError,
         "emit_c: needs the gradient for rows, got gradient=False; leave gradient as it is"),
        (lambda: gradwalk.emit_c(lambda row: row[0]), ValueError,
         "emit_c: needs sample rows for a function, got none; give at least two rows, each with one number per input"),
        (lambda: gradwalk.emit_c(gradwalk.compile(w * x, inputs=[x])), TypeError,
         "emit_c: needs a program of a function, which can be recorded again, got one of Values; give the Values themselves"),
        (lambda: gradwalk.emit_c(branching), ValueError,
         "emit_c: needs a function that records the same graph for every row, got one that branches; write select(condition, x, y)"),
        (lambda: gradwalk.emit_c(gradwalk.compile(lambda row: row[0])), ValueError,
         "emit_c: needs a function that was called with rows, got one that was not; call it with some rows first, or give rows"),
        (lambda: gradwalk.emit_c(model, parameters=[w]), ValueError,
         "emit_c: needs a model alone, got rows, inputs or parameters, too; give the graph of a row instead: model(inputs)"),
        (lambda: gradwalk.emit_c(gradwalk.Module()), TypeError,
         "emit_c: needs an MLP, a Layer or a Neuron, whose number of inputs is known, got Module; "
         "give the graph of a row instead: model(inputs), with inputs=inputs"),
        (lambda: gradwalk.emit_c(x, main=1.5), TypeError, None),
        (lambda: gradwalk.emit_c(x, precision="float16"), ValueError, "emit_c: needs precision 'float64' or 'float32', got 'float16'; choose one of them"),
        (lambda: gradwalk.emit_c(fitted), ValueError, "emit_c: needs a model of one label or number per row, got 2 of them; train one model for each"),
        (lambda: gradwalk.emit_c(MLPRegressor().fit([[0.0], [1.0]], [0.0, 1.0]), rows=True), ValueError,
         "emit_c: needs the options name, precision, step, main alone for a trained model, got rows; leave it out"),
        (lambda: gradwalk.emit_c("/nowhere/model.safetensors"), FileNotFoundError, None),
        (lambda: gradwalk.emit_cuda(w * x, parameters=[w]), ValueError,
         "emit_cuda: needs inputs that differ from row to row, got none; name them in inputs"),
        (lambda: gradwalk.emit_cuda(w * x, inputs=[x], derivatives="forward"), ValueError,
         "emit_cuda: needs derivatives 'automatic', 'tangents' or 'reverse', got 'forward'; choose one of them"),
    ]


def test_what_cannot_be_emitted_is_refused_by_name():
    for call, error, message in refusals():
        with pytest.raises(error) as raised:
            call()
        assert message is None or str(raised.value) == message


def test_kernels_have_the_options_of_the_engine(tmp_path):
    x, y, w = Value(1.0), Value(2.0), Value(0.5)
    source = gradwalk.emit_cuda((w * x - y) ** 2, name="line", inputs=[x, y], parameters=[w], precision="float64", exact=False)
    assert (source.name, source.inputs, source.parameters, source.outputs, source.precision) == ("line", 2, 1, 1, "float64")
    assert source.blocks(129) == 2 and "line_rows(" in str(source) and [pathlib.Path(p).name for p in source.write(tmp_path)] == ["line.cu"]
    with_inputs = gradwalk.emit_cuda(lambda row: w * row[0], [[1.0], [2.0]], parameters=[w], input_gradients=True)
    assert with_inputs.has_input_gradients and not source.has_input_gradients
