# SPDX-License-Identifier: MIT
"""Writes the stub file of gradwalk._core: core.pyi.in, with every op of the table as a method of Value and as a function.

usage: make_stubs.py OPS_DEF TEMPLATE OUTPUT
"""

import re
import sys
from pathlib import Path


def main(ops_def, template, output):
    # Functions that python/src/operators.cpp makes of ops, and ops as methods under NumPy's names.
    other_functions = [("BINARY", name) for name in ("greater", "greater_equal", "maximum", "minimum")] + [("UNARY", "silu"), ("UNARY", "sign")]
    other_methods = [("BINARY", "greater"), ("BINARY", "greater_equal"), ("BINARY", "arctan2")] + [("UNARY", name) for name in (
        "silu", "sign", "rint", "degrees", "rad2deg", "radians", "deg2rad", "fabs", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh", "conjugate")]
    ops = re.findall(r"^GRADWALK_(UNARY|BINARY)\s*\(\s*(\w+)", Path(ops_def).read_text(), re.MULTILINE)
    methods = [f"    def {name}(self{', y: Operand' if kind == 'BINARY' else ''}, /) -> Value: ..." for kind, name in ops + other_methods]
    functions = []
    for kind, name in ops + other_functions:
        if kind == "UNARY":
            forms = [f"def {name}(x: Value, /) -> Value: ...", f"def {name}(x: Number, /) -> float: ..."]
        else:
            forms = [f"def {name}(x: Value, y: Operand, /) -> Value: ...", f"def {name}(x: Number, y: Union[Value, Condition], /) -> Value: ...",
                     f"def {name}(x: Number, y: Number, /) -> float: ..."]
        # For a type checker, a subclass of Value could also be a number, so the overloads overlap.
        forms[:-1] = [f"{form}  # type: ignore[misc]" for form in forms[:-1]]
        functions += [line for form in forms for line in ("@overload", form)]
    text = Path(template).read_text()
    text = text.replace("    # ops as methods", "\n".join(methods)).replace("# ops as functions", "\n".join(functions))
    Path(output).write_text(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
