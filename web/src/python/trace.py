# SPDX-License-Identifier: MIT
# Runs the learner's program and reports what it does to gradients. It reads no source: every class named Value is replaced by
# a subclass of itself, in which grad and _backward are properties. `page` is the module that python.ts provides.
import builtins
import io
import sys
import _page as page

MODULES = ('math', 'cmath', 'random', 'functools', 'itertools', 'collections', 'operator', 'copy', 'json', 're', 'string', 'time')
for module in MODULES:
    __import__(module)

MOST_VALUES = 10000
MOST_EVENTS = 20000

build_class = builtins.__build_class__
import_module = builtins.__import__


class Stopped(BaseException):
    pass


class Limit(Exception):
    pass


class Run:
    def __init__(self, stop_at=0):
        self.values = []
        self.events = 0
        self.stop_at = stop_at
        # Changes whenever a visit begins or ends, so that a read belongs to one visit.
        self.visit = 0
        self.passes = 0


run = Run()


def event(kind, value, before=0.0, after=0.0, has_read=False):
    run.events += 1
    if run.events == run.stop_at:
        raise Stopped()
    if run.events > MOST_EVENTS:
        raise Limit(f'the page follows at most {MOST_EVENTS} visits and writes to .grad')
    if not run.stop_at:
        page.event(kind, value._gw_id, float(before), float(after), has_read)


def operands_among(args, named):
    for one in list(args[1:]) + list(named.values()):
        if isinstance(one, (tuple, list, set)):
            found = [value._gw_id for value in one if hasattr(value, '_gw_id')]
            if found:
                return found
    return []


def sign_among(args, named):
    for one in [named.get('_op'), named.get('op')] + list(args[1:]):
        if isinstance(one, str):
            return one
    return ''


def traced(cls):
    def init(self, *args, **named):
        if len(run.values) >= MOST_VALUES:
            raise Limit(f'the page takes at most {MOST_VALUES} Values')
        self._gw_id = len(run.values)
        run.values.append(self)
        self._gw_grad = 0.0
        self._gw_read = -1
        self._gw_pay = None
        self._gw_ready = False
        self._gw_operands = operands_among(args, named)
        self._gw_sign = sign_among(args, named)
        cls.__init__(self, *args, **named)
        self._gw_ready = True

    def get_grad(self):
        self._gw_read = run.visit
        return self._gw_grad

    def set_grad(self, grad):
        if not isinstance(grad, (int, float)):
            kind = type(grad).__name__
            raise TypeError(f'.grad needs a number, got a {kind}' + ('; use its .data or .grad' if kind == 'Value' else ''))
        before = self._gw_grad
        self._gw_grad = grad
        if self._gw_ready:
            has_read = self._gw_read == run.visit
            self._gw_read = -1
            event('write', self, before, grad, has_read)

    def get_backward(self):
        def visit():
            event('visit', self)
            run.visit += 1
            try:
                if self._gw_pay:
                    self._gw_pay()
            finally:
                run.visit += 1
                event('leave', self)

        return visit

    def set_backward(self, pay):
        self._gw_pay = pay

    def backward(self, *args, **named):
        if run.passes:
            return cls.backward(self, *args, **named)
        run.passes += 1
        event('begin', self)
        cls.backward(self, *args, **named)
        event('end', self)

    names = {'__init__': init, 'grad': property(get_grad, set_grad), '_backward': property(get_backward, set_backward)}
    if hasattr(cls, 'backward'):
        names['backward'] = backward
    return type('Value', (cls,), names)


def traced_class(body, name, *bases, **named):
    cls = build_class(body, name, *bases, **named)
    return traced(cls) if name == 'Value' else cls


def allowed_import(name, *rest):
    if name.split('.')[0] not in MODULES:
        raise ImportError(f"no module named '{name}' in this page; it has {', '.join(MODULES)}")
    return import_module(name, *rest)


def no_input(*args):
    raise OSError('this page has no keyboard input; write the number into the program')


def reachable(root):
    found = set()
    waiting = [root._gw_id]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting.extend(run.values[one]._gw_operands)
    return sorted(found)


def drive(root):
    # Values are made after their operands, so the latest first is a right order.
    event('begin', root)
    root.grad = 1.0
    for one in reversed(reachable(root)):
        run.values[one]._backward()
    event('end', root)


def find_names(names):
    found = {}
    left = [4000]

    def look(value, path, depth):
        left[0] -= 1
        if left[0] < 0 or depth > 6:
            return
        if hasattr(value, '_gw_id'):
            before = found.get(value._gw_id)
            if before is None or (len(path), path) < (len(before), before):
                found[value._gw_id] = path
        elif isinstance(value, (list, tuple)):
            for i, one in enumerate(value):
                look(one, f'{path}[{i}]', depth + 1)
        elif isinstance(value, dict):
            for key, one in value.items():
                look(one, f'{path}[{key!r}]', depth + 1)
        elif not isinstance(value, type) and hasattr(value, '__dict__'):
            for key, one in value.__dict__.items():
                look(one, f'{path}.{key}', depth + 1)

    for name, value in names.items():
        if not name.startswith('__'):
            look(value, name, 0)
    for value in run.values:
        label = getattr(value, 'label', '')
        if isinstance(label, str) and label:
            found[value._gw_id] = label
    return found


def where(error):
    text = io.StringIO()
    sys.print_exception(error, text)
    place = ('', 0)
    for line in text.getvalue().split('\n'):
        for name in ('value.py', 'program.py'):
            mark = f'File "{name}", line '
            if mark in line:
                place = (name, int(line.split(mark)[1].split(',')[0]))
    return place


def execute(codes, root, stop_at):
    global run
    run = Run(stop_at)
    names = {'__name__': '__main__'}
    for code in codes:
        exec(code, names)
    if root:
        if root not in names or not hasattr(names[root], '_gw_id'):
            kind = type(names.get(root)).__name__
            raise TypeError(f'{root} needs to be a Value, got {kind}; does every operation return its result?')
        drive(names[root])
    return names


def report(names):
    found = find_names(names)
    for value in run.values:
        one = value._gw_id
        data = getattr(value, 'data', None)
        if not isinstance(data, (int, float)):
            raise TypeError(f'.data needs a number, got a {type(data).__name__}')
        operands = value._gw_operands or [v._gw_id for v in getattr(value, '_prev', ()) if hasattr(v, '_gw_id')]
        sign = value._gw_sign or getattr(value, '_op', '')
        page.value(found.get(one, ''), str(sign), float(data), ','.join([str(i) for i in operands]))


def attempt(what, *args):
    builtins.__build_class__ = traced_class
    builtins.__import__ = allowed_import
    builtins.input = no_input
    try:
        return what(*args)
    finally:
        builtins.__build_class__ = build_class
        builtins.__import__ = import_module


def start(text, program, root, wants_lines):
    try:
        codes = [compile(text, 'value.py', 'exec'), compile(program, 'program.py', 'exec')]
        names = attempt(execute, codes, root, 0)
        report(names)
    except BaseException as error:
        name, line = where(error)
        page.error(type(error).__name__, str(error), name, line)
        return
    if not wants_lines:
        return
    # A program does the same every time: stopped at an event, its traceback has the line.
    for at in range(1, run.events + 1):
        if not page.wants(at):
            continue
        try:
            attempt(execute, codes, root, at)
        except Stopped as stopped:
            name, line = where(stopped)
            page.line(at, name, line)
        except BaseException:
            return
