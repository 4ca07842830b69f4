# SPDX-License-Identifier: MIT
"""Runs unmodified micrograd programs on gradwalk.

After `import gradwalk.micrograd`, the modules micrograd, micrograd.engine and micrograd.nn are those of gradwalk, in
this process only; nothing is installed. `python -m gradwalk.micrograd script.py arguments` runs a script without any
change. -m MODULE and -c CODE work too.

>>> import gradwalk.micrograd
>>> from micrograd.engine import Value
>>> Value is gradwalk.Value
True
"""

import runpy
import sys
import types

import gradwalk.nn

_USAGE = "usage: python -m gradwalk.micrograd [-m module | -c code | script.py] [argument ...]"


def _module(name, **contents):
    module = types.ModuleType(name, f"gradwalk in place of {name}.")
    module.__dict__.update(contents)
    sys.modules[name] = module
    return module


def install():
    """Registers the modules. Importing this module calls it. Raises ImportError if micrograd was imported before.

    >>> install()
    >>> import micrograd.nn
    >>> micrograd.nn is gradwalk.nn
    True
    """
    present = sys.modules.get("micrograd")
    if present is not None and not hasattr(present, "_is_gradwalk"):
        raise ImportError("gradwalk.micrograd: needs to be imported before micrograd, found micrograd imported; import gradwalk.micrograd first")
    engine = _module("micrograd.engine", Value=gradwalk.Value)
    _module("micrograd", engine=engine, nn=gradwalk.nn, __path__=[], _is_gradwalk=True)
    sys.modules["micrograd.nn"] = gradwalk.nn


def main(arguments):
    """Runs a script, a module or code, as `python -m gradwalk.micrograd` does. Returns the exit status."""
    if not arguments or arguments[0] in ("-h", "--help") or (arguments[0] in ("-m", "-c") and len(arguments) < 2):
        print(_USAGE, file=sys.stdout if arguments and arguments[0] in ("-h", "--help") else sys.stderr)
        return 0 if arguments and arguments[0] in ("-h", "--help") else 2
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    elif arguments[0] == "-c":
        sys.argv = ["-c"] + arguments[2:]
        exec(compile(arguments[1], "<string>", "exec"), {"__name__": "__main__"})
    else:
        import os.path

        sys.argv = arguments
        sys.path[0] = os.path.dirname(os.path.abspath(arguments[0]))
        runpy.run_path(arguments[0], run_name="__main__")
    return 0


install()

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
