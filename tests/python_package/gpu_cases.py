# SPDX-License-Identifier: MIT
"""Programs on a device, compared with the CPU's. test_gpu.py runs this file on a driver that has no GPU."""

import doctest
import gc
import inspect
import os
import random
import threading

import numpy
import pytest

import gradwalk
from gradwalk import Value, gpu

pytestmark = pytest.mark.skipif("GRADWALK_GPU" not in os.environ, reason="needs a GPU, or tests/fake_cuda.cpp")
IS_FAKE = os.environ.get("GRADWALK_GPU") == "fake"


def line():
    """A loss of two inputs and two parameters."""
    x, y, w, b = Value(0.0), Value(0.0), Value(0.5), Value(-0.25)
    return (w * x + b - y).tanh() ** 2, [x, y], [w, b]


def rows_of(count, columns=2):
    return numpy.random.default_rng(count).normal(size=(count, columns))


@pytest.mark.parametrize("precision, tolerance", [("float32", 1e-5), ("float64", 1e-12)])
def test_a_program_gives_what_that_of_the_cpu_gives(precision, tolerance):
    loss, inputs, parameters = line()
    program = gpu.compile(loss, inputs=inputs, parameters=parameters, precision=precision, input_gradients=True)
    cpu = gradwalk.compile(loss, inputs=inputs, parameters=parameters)
    rows = rows_of(100)
    total, slopes = cpu.gradients(rows)
    found, gradient, of_inputs = program.gradients(rows, input_gradients=True)
    assert found == pytest.approx(total, rel=tolerance) and gradient == pytest.approx(slopes, rel=tolerance)
    leaves = gradwalk.compile(loss, inputs=parameters, parameters=inputs)
    wanted = numpy.array([leaves.gradients([[0.5, -0.25]])[1] for inputs[0].data, inputs[1].data in rows.tolist()])
    assert of_inputs == pytest.approx(wanted, rel=10 * tolerance, abs=tolerance)
    assert program.run(rows, mean=True) == pytest.approx(total / 100, rel=tolerance)
    assert [p.grad for p in parameters] == pytest.approx(slopes / 100, rel=tolerance)
    assert program.evaluate(rows) == pytest.approx(cpu.evaluate(rows), rel=tolerance, abs=tolerance)
    moved = program.gradients(rows, parameters=[0.75, 0.0])[0]
    parameters[0].data, parameters[1].data = 0.75, 0.0
    assert moved == pytest.approx(cpu.run(rows), rel=tolerance)
    assert program.device_seconds > 0 and program.source.inputs == 2 and program.source.precision == precision


def test_compile_takes_a_device():
    random.seed(1)
    model = gradwalk.MLP(2, [4, 1])
    rows = rows_of(40, 3)
    loss = lambda row: (1 - row[2] * model(row[:2])).relu()  # noqa: E731
    on_cpu = gradwalk.compile(loss, rows[:2], parameters=model.parameters())
    for device in ("cuda", "cuda:0"):
        program = gradwalk.compile(loss, rows[:2], parameters=model.parameters(), device=device)
        assert isinstance(program, gpu.Program) and program.source.precision == "float64"
        assert program.gradients(rows)[1] == pytest.approx(on_cpu.gradients(rows)[1], rel=1e-12)
    assert gpu.compile(on_cpu)(rows) == pytest.approx(on_cpu(rows), rel=1e-5, abs=1e-6)
    assert gpu.compile(model)(rows[:, :2]) == pytest.approx([v.data for v in model(rows[:, :2])], rel=1e-5, abs=1e-6)


def test_results_return_in_the_form_of_the_function():
    x, w = Value(1.0), Value(2.0)
    program = gpu.compile({"double": w * x, "more": [w + x, w - x]}, inputs=[x], parameters=[w])
    found = program([3.0, 4.0, 5.0])
    assert found["double"].tolist() == [6, 8, 10] and [column.tolist() for column in found["more"]] == [[5, 6, 7], [-1, -2, -3]]


def test_rows_are_copied_once_and_used_by_many_runs():
    loss, inputs, parameters = line()
    program = gpu.compile(loss, inputs=inputs, parameters=parameters)
    rows = gpu.DeviceRows(rows_of(70))
    assert (len(rows), rows.inputs, rows.is_copy, repr(rows)) == (70, 2, True, "DeviceRows of 70 rows with 2 numbers each")
    assert program.run(rows) == program.run(rows) == program.run(rows_of(70)) == program.run(rows_of(70).astype("f4")) == program.run(rows_of(70).tolist())
    assert program.run(numpy.zeros((0, 2))) == 0
    assert program.run([0.5, 1.0]) == program.run([[0.5, 1.0]])  # one row


class Foreign:
    """An array of another library on the device: a copy there, with a layout of its own, and only __cuda_array_interface__."""

    def __init__(self, array, **more):
        self.kept = self.make(array)
        self.__cuda_array_interface__ = {"shape": array.shape, "typestr": array.dtype.str, "data": (self.kept.address, False), "strides": array.strides,
                                         "version": 3, "stream": None, **more}

    @staticmethod
    def make(array):
        """Puts the bytes of an array into memory of the device: as the outputs of a program, which are stored one after another."""
        x = Value(0.0)
        base = array if array.base is None else array.base
        numbers = numpy.lib.stride_tricks.as_strided(base, (base.size,), (base.itemsize,))
        on_device = gpu.compile(x * 1.0, inputs=[x], precision=str(base.dtype)).evaluate_on_device(numbers.astype("f8"))
        on_device.address = on_device.__cuda_array_interface__["data"][0] + array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        return on_device


@pytest.mark.parametrize("layout", ["C", "F", "every second row", "reversed"])
@pytest.mark.parametrize("kind", ["f4", "f8"])
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_rows_of_another_library_are_converted_on_the_device(layout, kind, precision):
    numbers = rows_of(75, 3).astype(kind)
    array = {"C": numbers.copy(), "F": numpy.asfortranarray(numbers), "every second row": numbers.repeat(2, axis=0)[::2], "reversed": numbers[::-1].copy()[::-1]}[layout]
    x, y, z = Value(0.0), Value(0.0), Value(0.0)
    program = gpu.compile([x + 2 * y, z], inputs=[x, y, z], precision=precision)
    rows = gpu.DeviceRows(Foreign(array), precision=precision)
    assert rows.is_copy and (len(rows), rows.inputs) == (75, 3)
    assert program.evaluate(rows) == pytest.approx(numpy.column_stack([numbers[:, 0] + 2 * numbers[:, 1], numbers[:, 2]]), rel=1e-6, abs=1e-6)


def test_rows_of_one_number_are_used_where_they_are():
    x, w = Value(0.0), Value(2.0)
    program = gpu.compile(w * x, inputs=[x], parameters=[w])
    foreign = Foreign(numpy.arange(50, dtype="f4"))
    rows = gpu.DeviceRows(foreign)
    assert not rows.is_copy and program.run(rows) == 2 * 1225
    del foreign
    gc.collect()
    assert program.run(rows) == 2 * 1225  # the rows keep the array
    assert gpu.DeviceRows(Foreign(numpy.arange(50, dtype="f8"))).is_copy
    assert program.run(gpu.DeviceRows(Foreign(numpy.arange(50, dtype="f4")[::2]))) == 2 * 600


def test_outputs_stay_on_the_device_and_go_on_by_dlpack():
    x, y = Value(0.0), Value(0.0)
    first = gpu.compile([x * y, x - y], inputs=[x, y], precision="float64")
    second = gpu.compile(x + 10 * y, inputs=[x, y], precision="float64")
    rows = rows_of(40)
    array = first.evaluate_on_device(rows)
    assert (array.shape, array.precision, array.device, repr(array)) == ((40, 2), "float64", 0, "DeviceArray of shape (40, 2), float64, on device 0")
    assert array.numpy().tolist() == first.evaluate(rows).tolist()
    wanted = rows[:, 0] * rows[:, 1] + 10 * (rows[:, 0] - rows[:, 1])
    assert second(array) == pytest.approx(wanted)
    device_rows = gpu.DeviceRows(array, precision="float64")
    del array
    gc.collect()
    assert second(device_rows) == pytest.approx(wanted)
    assert first.evaluate_on_device(numpy.zeros((0, 2))).numpy().shape == (0, 2)


def test_memory_is_freed_whether_a_capsule_of_dlpack_is_used_or_not():
    """More arrays than the device of the tests has memory for, one after another."""
    x = Value(0.0)
    program = gpu.compile(x * x, inputs=[x], precision="float64")
    numbers = numpy.arange(10_000.0)
    for kind in range(2 * 60 if IS_FAKE else 0):
        array = program.evaluate_on_device(numbers)
        if kind % 2 == 0:
            assert "dltensor" in repr(array.__dlpack__())
        else:
            assert len(gpu.DeviceRows(array, precision="float32")) == len(gpu.DeviceRows(array, precision="float64")) == 10_000


def test_an_array_describes_itself_to_other_libraries():
    x = Value(0.0)
    array = gpu.compile(x * x, inputs=[x]).evaluate_on_device(numpy.arange(10.0))
    assert "dltensor" in repr(array.__dlpack__(stream=None, max_version=(1, 0))) and array.__dlpack_device__() == (2, 0)
    interface = array.__cuda_array_interface__
    assert interface["shape"] == (10, 1) and interface["strides"] == (4, 40) and interface["typestr"] == "<f4" and interface["version"] == 3


class OfInterface:
    def __init__(self, **changes):
        self.__cuda_array_interface__ = {"shape": (4, 2), "typestr": "<f4", "data": (1 << 20, False), "strides": None, "version": 3, **changes}


class OfDevice:
    def __init__(self, *device):
        self.device = device

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, stream=None):
        raise BufferError("not exported")


def test_what_cannot_be_taken_is_refused_by_name():
    loss, inputs, parameters = line()
    program = gpu.compile(loss, inputs=inputs, parameters=parameters)
    for call, error, message in [
            (lambda: program.run(rows_of(4, 3)), ValueError, "gpu.Program.run: needs rows of 2 numbers, got 3; give one number per input"),
            (lambda: program.run(gpu.DeviceRows(rows_of(4), precision="float64")), ValueError,
             "gpu.Program.run: needs rows of the program's precision and device, got other rows; make the DeviceRows with the same precision and device"),
            (lambda: program.gradients(rows_of(4), input_gradients=True), ValueError,
             "gpu.Program.gradients: needs a program with input gradients, got one without; compile it with input_gradients=True"),
            (lambda: program.gradients(rows_of(4), parameters=[1.0]), ValueError, "gpu.Program.gradients: needs 2 numbers for the parameters, got 1; give a buffer of that size"),
            (lambda: gpu.DeviceRows(rows_of(4).reshape(2, 2, 2)), ValueError,
             "gpu.DeviceRows: needs rows of at least one number, got an array of shape [2, 2, 2]; give an array with one row per sample and one column per input"),
            (lambda: gpu.DeviceRows(OfInterface(typestr="<i4")), ValueError, "gpu.DeviceRows: needs an array of float32 or float64, got one of <i4; convert it first"),
            (lambda: gpu.DeviceRows(OfInterface(mask=1)), ValueError, "gpu.DeviceRows: needs an array without a mask, got a masked one; fill it first"),
            (lambda: gpu.DeviceRows(OfInterface(strides=(6, 4))), ValueError, "gpu.DeviceRows: needs steps of whole numbers, got 6 bytes; copy the array"),
            (lambda: gpu.DeviceRows(OfInterface(data=(8, False))), ValueError,
             "gpu.DeviceRows: needs an array in the memory of device 0, got an address of no device; copy the array to the device"),
            (lambda: gpu.DeviceRows(OfDevice(10, 0)), ValueError,
             "gpu.DeviceRows: needs an array of the host or of an NVIDIA GPU, got one on a device of DLPack's type 10; copy it to the host"),
            (lambda: gpu.DeviceRows(OfDevice(2, 0)), BufferError, "not exported"),
            (lambda: gpu.DeviceRows([[1.0]], device=7), ValueError, None),
            (lambda: gpu.DeviceRows([[1.0]], precision="half"), ValueError, "gpu.DeviceRows: needs precision 'float64' or 'float32', got 'half'; choose one of them"),
            (lambda: gpu.compile(loss, inputs=inputs, device=9), ValueError, None)]:
        with pytest.raises(error) as raised:
            call()
        assert message is None or str(raised.value) == message


@pytest.mark.skipif(not IS_FAKE, reason="the driver of the tests has two devices")
def test_rows_of_another_device_are_refused():
    x = Value(1.0)
    array = gpu.compile(x * x, inputs=[x]).evaluate_on_device([[1.0]])
    with pytest.raises(ValueError, match="^gpu.DeviceRows: needs an array on device 1, got one on device 0; copy it, or choose its device$"):
        gpu.DeviceRows(array, device=1)
    assert [device.name for device in gpu.devices()] == ["fake GPU", "fake GPU"]


@pytest.mark.skipif(not IS_FAKE, reason="the driver of the tests has little memory")
def test_too_many_rows_are_refused_with_the_memory_that_is_free():
    with pytest.raises(ValueError, match=r"^gpu.DeviceRows: needs 16777216 bytes of the device's memory, got \d+ free of 4194304; use fewer rows at a time$"):
        gpu.DeviceRows(numpy.zeros((1 << 20, 2)), precision="float64")


@pytest.mark.parametrize("config", [gradwalk.SGD(lr=0.1, momentum=0.5), gradwalk.Adam(lr=0.05), gradwalk.AdamW(lr=0.05)], ids=repr)
@pytest.mark.parametrize("precision, tolerance", [("float32", 1e-4), ("float64", 1e-10)])
def test_a_trainer_makes_the_steps_of_the_cpu(config, precision, tolerance):
    loss, inputs, parameters = line()
    program = gpu.compile(loss, inputs=inputs, parameters=parameters, precision=precision)
    rows = gpu.DeviceRows(rows_of(100), precision=precision)
    on_cpu = gradwalk.Trainer(gradwalk.compile(loss, inputs=inputs, parameters=parameters), config, lambda k: 0.1 / (k + 1))
    with gpu.Trainer(program, config, lambda k: 0.1 / (k + 1)) as trainer:
        start = [p.data for p in parameters]
        found = [trainer.step(rows, mean=True), trainer.make_steps(rows, 9, mean=True), trainer.make_steps(rows, 4, mean=True, first_row=64, batch=32)]
        assert [p.data for p in parameters] == start
    of_gpu = [p.data for p in parameters]
    for p, number in zip(parameters, start):
        p.data = number
    on_cpu.read_again()
    numbers = rows_of(100)
    wanted = [on_cpu.step(numbers, mean=True) for _ in range(10)] + [on_cpu.step(numbers[k : k + 32], mean=True) for k in (64, 96, 0, 32)]
    assert found == pytest.approx([wanted[0], wanted[9], wanted[13]], rel=tolerance)
    assert of_gpu == pytest.approx([p.data for p in parameters], rel=tolerance, abs=tolerance)
    assert of_gpu != start and trainer.steps == 14
    assert trainer.state_dict()["first"] == pytest.approx(on_cpu.state_dict()["first"], rel=tolerance, abs=tolerance)


def test_a_trainer_continues_from_a_state():
    loss, inputs, parameters = line()
    program = gpu.compile(loss, inputs=inputs, parameters=parameters)
    rows = gpu.DeviceRows(rows_of(50))
    trainer = gpu.Trainer(program, gradwalk.Adam())
    trainer.make_steps(rows, 5)
    saved, numbers = trainer.state_dict(), [p.data for p in parameters]
    wanted = trainer.make_steps(rows, 5)
    assert [p.data for p in parameters] != numbers  # each call writes them back
    for p, number in zip(parameters, numbers):
        p.data = number
    trainer.read_again()
    trainer.load_state_dict(saved)
    assert trainer.make_steps(rows, 5) == wanted and trainer.steps == 10


def test_a_trainer_refuses_what_does_not_fit():
    loss, inputs, parameters = line()
    program = gpu.compile(loss, inputs=inputs, parameters=parameters)
    trainer = gpu.Trainer(program, gradwalk.SGD())
    for call, error, message in [
            (lambda: trainer.step(rows_of(4, 3)), ValueError, "gpu.Trainer.step: needs rows of 2 numbers, got 3; give one number per input"),
            (lambda: trainer.make_steps(rows_of(99), 2, batch=5), ValueError,
             "gpu.Trainer.make_steps: needs a batch that is a multiple of 32 rows, got 5; rows are stored in tiles of 32; the last batch can be smaller"),
            (lambda: gpu.Trainer(gpu.compile(loss, inputs=inputs + parameters), gradwalk.SGD()), ValueError,
             "gpu.Trainer: needs a program with parameters, got one without; name them in parameters"),
            (lambda: gpu.Trainer(gradwalk.compile(loss, inputs=inputs, parameters=parameters), gradwalk.SGD()), TypeError,
             "gpu.Trainer: needs a program of gpu.compile, got a Program; use gradwalk.Trainer for programs of the CPU"),
            (lambda: gpu.Trainer(program, gradwalk.SGD(), lambda k: 1 / k).step(rows_of(4)), ZeroDivisionError, None),
            (lambda: trainer.make_steps(rows_of(4), -1), ValueError, None)]:
        with pytest.raises(error) as raised:
            call()
        assert message is None or str(raised.value) == message
    assert trainer.steps == 0


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_random_inputs_have_the_numbers_of_the_host(precision):
    x, w = Value(0.0), Value(2.0)
    normals, uniforms = [Value(0.0) for _ in range(5)], [Value(0.0) for _ in range(3)]
    program = gpu.compile([x * 1.0, *(z * 1.0 for z in normals + uniforms)], inputs=[x], parameters=[], normals=normals, uniforms=uniforms, precision=precision)
    assert program.source.normals == 5 and program.source.uniforms == 3 and program.source.inputs == 1
    found = program.evaluate(numpy.arange(40.0), seed=3)
    assert found.tolist() == program.evaluate_on_device(numpy.arange(40.0), seed=3).numpy().tolist()
    for row in range(40):
        wanted = [gpu.random_numbers(kind, count, row=row, seed=3, precision=precision) for kind, count in (("normal", 5), ("uniform", 3))]
        assert found[row].tolist() == [row, *numpy.concatenate(wanted)]
    none = gpu.DeviceRows.without_numbers(500, precision=precision)
    mean = gpu.compile((w * normals[0]) ** 2, parameters=[w], normals=normals[:1], precision=precision)
    first = mean.run(none, mean=True, seed=8)
    assert first == pytest.approx(4, rel=0.4) and w.grad == pytest.approx(first, rel=1e-5)
    assert mean.gradients(none, mean=True, seed=8)[0] == first != mean.gradients(none, mean=True, seed=9)[0]
    with gpu.Trainer(mean, gradwalk.SGD(lr=0.1)) as trainer:
        assert trainer.make_steps(none, 30, mean=True, seed=8) < 0.1 * first
    with pytest.raises(ValueError, match="^gpu.random_numbers: needs distribution 'normal' or 'uniform', got 'cauchy'; choose one of them$"):
        gpu.random_numbers("cauchy", 1)


def test_other_threads_run_while_a_program_is_compiled_and_runs():
    x, w = Value(0.0), Value(2.0)
    found = []

    def work():
        program = gpu.compile((w * x).exp(), inputs=[x], parameters=[w])
        found.append(program.run(numpy.zeros(1000)))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [1000] * 3


def test_the_examples_of_the_module_run():
    """Its docstrings run their lines only where there is a device."""
    failed, tried = doctest.testmod(gpu, extraglobs={"Value": Value})
    assert failed == 0 and tried > 20 and gpu.devices() and inspect.getdoc(gpu.Program)
