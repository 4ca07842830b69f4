# SPDX-License-Identifier: MIT
"""Writes the stub file of gradwalk._core: core.pyi.in, with every op of the table as a method of Value and as a function.

usage: make_stubs.py OPS_DEF TEMPLATE OUTPUT
"""

import re
import sys
from pathlib import Path


def main(ops_def, template, output):
    ops = re.findall(r"^GRADWALK_(UNARY|BINARY)\s*\(\s*(\w+)", Path(ops_def).read_text(), re.MULTILINE)
    methods = [f"    def {name}(self{', y: Operand' if kind == 'BINARY' else ''}, /) -> Value: ..." for kind, name in ops]
    functions = []
    for kind, name in ops:
        if kind == "UNARY":
            forms = [f"def {name}(x: Value, /) -> Value: ...", f"def {name}(x: Number, /) -> float: ..."]
        else:
            forms = [f"def {name}(x: Value, y: Operand, /) -> Value: ...", f"def {name}(x: Number, y: Value, /) -> Value: ...",
                     f"def {name}(x: Number, y: Number, /) -> float: ..."]
        # For a type checker, a subclass of Value could also be a number, so the overloads overlap.
        forms[:-1] = [f"{form}  # type: ignore[misc]" for form in forms[:-1]]
        functions += [line for form in forms for line in ("@overload", form)]
    text = Path(template).read_text()
    text = text.replace("    # ops as methods", "\n".join(methods)).replace("# ops as functions", "\n".join(functions))
    Path(output).write_text(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
