# SPDX-License-Identifier: MIT
"""Graphs on NVIDIA GPUs: the sum of an output over many rows, and its gradient. docs/gpu.md is the guide.

The package needs no CUDA. The driver and NVRTC are found when they are first needed.

>>> from gradwalk import Value, gpu
>>> x, y, w = Value(0.0), Value(0.0), Value(2.0)
>>> if gpu.devices():
...     program = gpu.compile((w * x - y) ** 2, inputs=[x, y], parameters=[w])
...     assert program.run([[1.0, 1.0], [2.0, 5.0]]) == 2
"""

import os
from dataclasses import dataclass
from typing import Any, Callable, List, Optional, Tuple, Union

from . import _core
from ._emit import CudaSource, _graph_of
from ._forms import refuse

__all__ = ["Device", "DeviceArray", "DeviceRows", "Program", "Trainer", "cache_folder", "compile", "devices", "random_numbers"]


@dataclass(frozen=True)
class Device:
    """A GPU of this machine.

    >>> Device(0, "NVIDIA H200", "sm_90", 150_000_000_000).name
    'NVIDIA H200'
    """

    index: int  # its number, as the argument device takes it
    name: str  # as the driver names it
    architecture: str  # the code that it runs
    bytes: int  # of memory


def devices() -> List[Device]:
    """Returns the GPUs of this machine. Without a driver or a GPU, the list is empty; compile() then says what was tried.

    >>> all(device.architecture.startswith("sm_") for device in devices())
    True
    """
    return [Device(*device) for device in _core._gpu_devices()]


def cache_folder() -> str:
    """Returns the folder that keeps machine code from run to run: $GRADWALK_CACHE, or gradwalk in $XDG_CACHE_HOME or ~/.cache.

    It is '' if there is none of these; then each program is compiled anew.

    >>> isinstance(cache_folder(), str)
    True
    """
    return _core._gpu_cache_folder()


class DeviceArray:
    """The outputs of a program in the memory of a device, one row per row. Program.evaluate_on_device() returns it.

    Other libraries use it without a copy: torch.from_dlpack(array), cupy.asarray(array), jax.dlpack.from_dlpack(array).

    >>> x = Value(1.0)
    >>> if devices():
    ...     array = compile(x * x, inputs=[x]).evaluate_on_device([[1.0], [3.0]])
    ...     assert array.shape == (2, 1) and array.numpy().tolist() == [[1.0], [9.0]]
    """

    def __init__(self, array: _core._DeviceArray) -> None:
        if not isinstance(array, _core._DeviceArray):
            refuse("gpu.DeviceArray", "outputs on a device", f"a {type(array).__name__}", "call Program.evaluate_on_device", TypeError)
        self._array = array

    @property
    def shape(self) -> Tuple[int, int]:
        """The number of rows, and of outputs per row.

        >>> x = Value(1.0)
        >>> if devices():
        ...     assert compile(x * x, inputs=[x]).evaluate_on_device([[1.0], [3.0]]).shape == (2, 1)
        """
        return self._array.shape

    @property
    def precision(self) -> str:
        """'float32' or 'float64'.

        >>> x = Value(1.0)
        >>> if devices():
        ...     assert compile(x * x, inputs=[x]).evaluate_on_device([[1.0]]).precision == "float32"
        """
        return self._array.precision

    @property
    def device(self) -> int:
        """The number of its device.

        >>> x = Value(1.0)
        >>> if devices():
        ...     assert compile(x * x, inputs=[x]).evaluate_on_device([[1.0]]).device == 0
        """
        return self._array.device

    @property
    def __cuda_array_interface__(self) -> Any:
        return self._array.interface

    def __dlpack__(self, *, stream: Any = None, **options: Any) -> Any:
        return self._array.dlpack()

    def __dlpack_device__(self) -> Tuple[int, int]:
        return 2, self._array.device

    def numpy(self) -> Any:
        """Returns a copy on the host, as a NumPy array of float64.

        >>> x = Value(1.0)
        >>> if devices():
        ...     assert compile(x * x, inputs=[x]).evaluate_on_device([[3.0]]).numpy().tolist() == [[9.0]]
        """
        return self._array.numpy()

    def __repr__(self) -> str:
        return f"DeviceArray of shape {self.shape}, {self.precision}, on device {self.device}"


class DeviceRows:
    """Rows in the memory of a device, which are copied once and can be used by many runs.

    rows is an array of NumPy, a list of lists, or an array that is on the device already: one of PyTorch, CuPy, JAX or any
    other library with DLPack or __cuda_array_interface__, of float32 or float64. The latter is converted on the device. It
    is used where it is, without a copy, if a row is one number of this precision; then do not change it before a run has
    ended. precision is 'float32' or 'float64', that of the programs.

    >>> x, w = Value(1.0), Value(2.0)
    >>> if devices():
    ...     rows = DeviceRows([[1.0], [2.0]])
    ...     assert (len(rows), rows.inputs) == (2, 1) and compile(w * x, inputs=[x], parameters=[w]).run(rows) == 6
    """

    def __init__(self, rows: Any, *, precision: str = "float32", device: int = 0) -> None:
        self._rows = _core._DeviceRows(rows, 0, precision, device)

    @classmethod
    def without_numbers(cls, count: int, *, precision: str = "float32", device: int = 0) -> "DeviceRows":
        """Returns rows without numbers, for programs whose inputs are all random.

        >>> z, w = Value(0.0), Value(2.0)
        >>> if devices():
        ...     program = compile(w * z, parameters=[w], normals=[z])
        ...     assert abs(program.run(DeviceRows.without_numbers(1000), mean=True, seed=1)) < 0.5
        """
        rows = cls.__new__(cls)
        rows._rows = _core._gpu_rows_without_numbers(count, precision, device)
        return rows

    def __len__(self) -> int:
        return self._rows.size

    @property
    def inputs(self) -> int:
        """The number of inputs of each row.

        >>> if devices():
        ...     assert DeviceRows([[1.0, 2.0]]).inputs == 2
        """
        return self._rows.inputs

    @property
    def is_copy(self) -> bool:
        """Whether the rows were copied, and not used where they are.

        >>> if devices():
        ...     assert DeviceRows([[1.0, 2.0]]).is_copy
        """
        return self._rows.is_copy

    def __repr__(self) -> str:
        return f"DeviceRows of {len(self)} rows with {self.inputs} numbers each"


class Program:
    """A graph compiled for a GPU. compile() makes one. Its functions take DeviceRows, or whatever DeviceRows takes.

    Called with rows, it returns its outputs in the form that the function returns them, as a Program of the CPU does.

    >>> x, w = Value(1.0), Value(2.0)
    >>> if devices():
    ...     program = compile({"double": w * x, "sum": w + x}, inputs=[x], parameters=[w])
    ...     assert program([[3.0], [4.0]])["double"].tolist() == [6.0, 8.0]
    """

    def __init__(self, program: _core._GpuProgram, put_together: Any, precision: str, device: int) -> None:
        if not isinstance(program, _core._GpuProgram):
            refuse("gpu.Program", "what compile makes", f"a {type(program).__name__}", "call gpu.compile", TypeError)
        self._program, self._put_together, self._options = program, put_together, (precision, device)
        self._inputs: int = program.source["inputs"]

    def _rows(self, rows: Any) -> _core._DeviceRows:
        return rows._rows if isinstance(rows, DeviceRows) else _core._DeviceRows(rows, self._inputs, *self._options)

    def run(self, rows: Any, *, mean: bool = False, seed: int = 0) -> float:
        """Returns the sum of the first output over the rows, or the mean, and adds its gradient to the parameters.

        seed is that of random inputs, here and in the functions below.

        >>> x, w = Value(1.0), Value(2.0)
        >>> if devices():
        ...     assert compile(w * x, inputs=[x], parameters=[w]).run([[1.0], [2.0]]) == 6 and w.grad == 3
        """
        return self._program.run(self._rows(rows), mean, seed)

    def gradients(self, rows: Any, *, mean: bool = False, parameters: Any = None, input_gradients: bool = False, seed: int = 0) -> Any:
        """Returns what run() returns, and the gradient as an array. The parameters keep their own gradients.

        parameters are numbers in place of those of the Values. With input_gradients, for which the program was compiled, a
        third result has one number per row and input.

        >>> x, w = Value(1.0), Value(2.0)
        >>> if devices():
        ...     total, gradient = compile(w * x, inputs=[x], parameters=[w]).gradients([[1.0], [2.0]], parameters=[3.0])
        ...     assert total == 9 and gradient.tolist() == [3]
        """
        return self._program.gradients(self._rows(rows), mean, parameters, input_gradients, seed)

    def evaluate(self, rows: Any, *, seed: int = 0) -> Any:
        """Returns all outputs of each row, as an array with one row per sample.

        >>> x = Value(1.0)
        >>> if devices():
        ...     assert compile(x * x, inputs=[x]).evaluate([[1.0], [3.0]]).tolist() == [[1.0], [9.0]]
        """
        return self._program.evaluate(self._rows(rows), seed)

    def evaluate_on_device(self, rows: Any, *, seed: int = 0) -> DeviceArray:
        """Returns all outputs of each row as a DeviceArray, which stays on the device.

        >>> x = Value(1.0)
        >>> if devices():
        ...     assert compile(x * x, inputs=[x]).evaluate_on_device([[1.0], [3.0]]).shape == (2, 1)
        """
        return DeviceArray(self._program.evaluate_on_device(self._rows(rows), seed))

    def __call__(self, rows: Any) -> Any:
        return self._put_together(list(self.evaluate(rows).T))

    @property
    def source(self) -> CudaSource:
        """The kernels, as emit_cuda() returns them.

        >>> x = Value(1.0)
        >>> if devices():
        ...     assert compile(x * x, inputs=[x]).source.about == "one row per thread"
        """
        return CudaSource(**self._program.source)

    @property
    def device_seconds(self) -> float:
        """How long the device computed in the last call of run() or gradients().

        >>> x = Value(1.0)
        >>> if devices():
        ...     program = compile(x * x, inputs=[x])
        ...     assert program.run([[1.0]]) == 1 and program.device_seconds > 0
        """
        return self._program.device_seconds


def random_numbers(distribution: str, count: int, *, row: int = 0, seed: int = 0, precision: str = "float32") -> Any:
    """Returns the numbers that the first random inputs have in a row, as an array. A device makes the same ones in exact mode.

    distribution is 'normal' (mean 0, standard deviation 1) or 'uniform' (between 0 and 1).

    >>> len(random_numbers("uniform", 3, row=7, seed=1))
    3
    """
    return _core._random_numbers(distribution, precision, seed, row, count)


class Trainer:
    """Trains the parameters of a program of a GPU, on the device.

    It has the functions of gradwalk.Trainer. Parameters and moments stay on the device; step() and make_steps() copy the
    parameters to their Values when they end. A `with` block does so only at its end. schedule is a function from the number
    of the step, counted from 0, to the learning rate.

    >>> from gradwalk import SGD
    >>> x, y, w = Value(0.0), Value(0.0), Value(0.0)
    >>> if devices():
    ...     trainer = Trainer(compile((w * x - y) ** 2, inputs=[x, y], parameters=[w]), SGD(lr=0.1))
    ...     assert trainer.make_steps([[1.0, 2.0], [2.0, 4.0]], 50, mean=True) < 1e-6 and abs(w.data - 2) < 1e-6
    """

    def __init__(self, program: Program, config: Any, schedule: Optional[Callable[[int], float]] = None) -> None:
        if not isinstance(program, Program):
            refuse("gpu.Trainer", "a program of gpu.compile", f"a {type(program).__name__}", "use gradwalk.Trainer for programs of the CPU", TypeError)
        self._program, self._trainer, self._writes_back = program, _core._GpuTrainer(program._program, config, schedule), True

    def _written(self, loss: float) -> float:
        if self._writes_back:
            self._trainer.write_back()
        return loss

    def step(self, rows: Any, *, mean: bool = False, first_row: int = 0, batch: int = 0, seed: int = 0) -> float:
        """Makes one step, and returns the sum or mean over the rows before it.

        first_row, a multiple of 32, and batch select rows: batch rows from first_row on, or all of them. Random inputs have the
        seed `seed` plus the number of the step.

        >>> from gradwalk import SGD
        >>> x, w = Value(0.0), Value(2.0)
        >>> if devices():
        ...     trainer = Trainer(compile(w * x, inputs=[x], parameters=[w]), SGD(lr=0.5))
        ...     assert trainer.step([[1.0], [3.0]], mean=True) == 4 and w.data == 1
        """
        return self._written(self._trainer.step(self._program._rows(rows), mean, first_row, batch, seed))

    def make_steps(self, rows: Any, count: int, *, mean: bool = False, first_row: int = 0, batch: int = 0, seed: int = 0) -> float:
        """Makes many steps with few waits for the device, and returns what the last one would return.

        With batch, a multiple of 32, each step takes the next rows, and begins again at the end of the rows.

        >>> from gradwalk import SGD
        >>> x, w = Value(0.0), Value(2.0)
        >>> if devices():
        ...     trainer = Trainer(compile(w * x, inputs=[x], parameters=[w]), SGD(lr=0.5))
        ...     assert trainer.make_steps([[1.0], [3.0]], 2, mean=True) == 2 and w.data == 0
        """
        return self._written(self._trainer.make_steps(self._program._rows(rows), count, mean, first_row, batch, seed))

    def clip_norm(self, most: float) -> None:
        """Clips the norm of the gradient to `most` in all further steps.

        >>> from gradwalk import SGD
        >>> x, w = Value(0.0), Value(2.0)
        >>> if devices():
        ...     trainer = Trainer(compile(w * x, inputs=[x], parameters=[w]), SGD(lr=1.0))
        ...     trainer.clip_norm(0.5)
        ...     assert trainer.step([[4.0]]) == 8 and abs(w.data - 1.5) < 1e-6
        """
        self._trainer.clip_norm(most)

    def write_back(self) -> None:
        """Copies the parameters to their Values, inside a `with` block.

        >>> from gradwalk import SGD
        >>> x, w = Value(0.0), Value(2.0)
        >>> if devices():
        ...     with Trainer(compile(w * x, inputs=[x], parameters=[w]), SGD(lr=0.5)) as trainer:
        ...         assert trainer.step([[2.0]]) == 4 and w.data == 2
        ...         trainer.write_back()
        ...         assert w.data == 1
        """
        self._trainer.write_back()

    def read_again(self) -> None:
        """Copies the parameters from their Values, after you have changed them.

        >>> from gradwalk import SGD
        >>> x, w = Value(0.0), Value(2.0)
        >>> if devices():
        ...     trainer = Trainer(compile(w * x, inputs=[x], parameters=[w]), SGD(lr=0.5))
        ...     w.data = 5.0
        ...     trainer.read_again()
        ...     assert trainer.step([[1.0]]) == 5
        """
        self._trainer.read_again()

    def __enter__(self) -> "Trainer":
        self._writes_back = False
        return self

    def __exit__(self, *arguments: Any) -> None:
        self._writes_back = True
        self._trainer.write_back()

    def state_dict(self) -> Any:
        """Returns the state of the optimizer as a dict: steps, first and second moments.

        Save it with the parameters, and training can continue from both.

        >>> from gradwalk import SGD
        >>> x, w = Value(0.0), Value(2.0)
        >>> if devices():
        ...     trainer = Trainer(compile(w * x, inputs=[x], parameters=[w]), SGD(lr=0.5))
        ...     assert trainer.state_dict() == {"steps": 0, "first": [], "second": []}
        """
        return self._trainer.state_dict()

    def load_state_dict(self, state: Any) -> None:
        """Continues from a dict of state_dict().

        >>> from gradwalk import SGD
        >>> x, w = Value(0.0), Value(2.0)
        >>> if devices():
        ...     trainer = Trainer(compile(w * x, inputs=[x], parameters=[w]), SGD(lr=0.5))
        ...     trainer.load_state_dict({"steps": 3, "first": [], "second": []})
        ...     assert trainer.steps == 3
        """
        self._trainer.load_state_dict(state)

    @property
    def steps(self) -> int:
        """The number of steps made so far.

        >>> from gradwalk import SGD
        >>> x, w = Value(0.0), Value(2.0)
        >>> if devices():
        ...     trainer = Trainer(compile(w * x, inputs=[x], parameters=[w]), SGD(lr=0.5))
        ...     assert trainer.make_steps([[1.0]], 5) == 0 and trainer.steps == 5
        """
        return self._trainer.steps


def compile(outputs: Any, rows: Any = None, *, inputs: Any = (), parameters: Any = (), precision: str = "float32", exact: bool = True,
            input_gradients: bool = False, derivatives: str = "automatic", device: int = 0, cache: Optional[Union[str, "os.PathLike[str]"]] = None,
            ignore_comparisons: bool = False, normals: Any = (), uniforms: Any = ()) -> Program:
    """Compiles Values, a function with sample rows, a program of a function, or an MLP for a GPU.

    Exact mode rounds each operation as IEEE says. exact=False is faster; docs/gpu.md states its errors. derivatives is
    'automatic', 'tangents' or 'reverse'. cache is the folder for machine code in place of cache_folder(). normals and
    uniforms are leaves whose numbers the device makes; rows have only the inputs. Raises ValueError if there is no such
    device, driver or NVRTC, with a list of what was tried.

    >>> x, w = Value(1.0), Value(2.0)
    >>> if devices():
    ...     assert compile(w * x, inputs=[x], parameters=[w]).run([[1.0], [2.0]]) == 6
    """
    graph = _graph_of("gpu.compile", outputs, rows, inputs, parameters)
    options = dict(exact=exact, input_gradients=input_gradients, device=device, cache="" if cache is None else os.fsdecode(cache),
                   ignore_comparisons=ignore_comparisons)
    program = _core._GpuProgram(graph.outputs, graph.inputs, graph.parameters, normals, uniforms, precision, derivatives, options)
    return Program(program, graph.put_together, precision, device)
