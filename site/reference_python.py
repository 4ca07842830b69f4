#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The Python reference: one page per module, made of the stubs, the docstrings of python/gradwalk and those that the
bindings in python/src give to what is written in C++. Nothing is imported, so nothing needs to be built.
usage: site/reference_python.py          prints the public names that have no docstring
"""

import ast
import inspect
import re
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from markdown import cell, escape, fence, linked, prose, sentence, split_top

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "python/gradwalk"
MODULES = {"gradwalk": ["_core.pyi", "__init__.py", "_functions.py", "_compile.py", "_derivatives.py", "_show.py"], "gradwalk.nn": ["nn.py"], "gradwalk.sklearn": ["sklearn.py"], "gradwalk.micrograd": ["micrograd.py"]}
WIDTH = 96


@dataclass
class Entity:
    kind: str  # class, function, attribute
    name: str
    signatures: list
    text: str
    bases: list = field(default_factory=list)
    members: list = field(default_factory=list)


# ---- docstrings in the bindings ----

TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|\'(?:\\.|[^\'\\])\'|[(){}\[\];,]|[^"\'(){}\[\];,/]+|/')
LITERALS = r'((?:"(?:\\.|[^"\\])*"\s*)+)'


def bound_docs():
    """{"compile": text, "Program.run": text}: the docstrings in the bindings. Members that several classes share belong to
    the class "*"."""
    docs = {}
    for path in sorted((ROOT / "python/src").glob("*.cpp")):
        source = path.read_text()
        docs |= docs_of_tables(source) | docs_of_calls(source)
    return {name: re.sub(r"^\w+\(.*\)\n--\n\n", "", text) for name, text in docs.items()}


def docs_of_tables(source):
    """The docstrings of {"backward", f, FLAGS, "text"}, a line of a table of Value's or Condition's, of method<...>("silu", "text")
    and function<...>, and of variables that are named about_... or description."""
    docs = {}
    for name, text in re.findall(rf'\{{"(\w+)", [^"]*?{LITERALS}', source):
        docs[("Condition." if name == "node" else "Value.") + name] = literal(text)
    for kind, name, text, same in re.findall(rf'\b(method|function)<Do_\w+>\("(\w+)", (?:{LITERALS}|as\("(\w+)"\))\)', source):
        docs["Value." * (kind == "method") + name] = literal(text) if text else f"As {same}(), under NumPy's name."
    for variable, text in re.findall(rf"\b(about_\w+|description)\s*=\s*{LITERALS};", source):
        docs[{"about_conditions": "Condition", "description": "Value"}.get(variable, variable.removeprefix("about_"))] = literal(text)
    return docs


CALL = re.compile(r"\b(define|property|result_property|bind_loss|bind_rule<\w+>|bind_ending<\w+>|class_<[^;]*?>\s*(?P<variable>\w+))\(")


def docs_of_calls(source):
    """The docstrings of class_<Program> bound(module, "Program", "text"), define(bound, "Program.run(self)", "text", f),
    property(bound, "inputs", "text", f), and of functions that bind classes of one kind."""
    docs, classes, ending = {}, {}, "*"
    texts = dict(re.findall(r'\*?(\w+) = ("[^"]*")', source))  # of settings that several rules have
    for call in CALL.finditer(source):
        arguments = arguments_of(source, call.end())
        if len(arguments) < 3:
            continue
        kind, name = call[1], first_text(arguments[1])
        if call["variable"]:
            classes[call["variable"]] = name
            docs[name] = next((text for text in map(first_text, arguments[2:]) if text), "")
        elif kind.startswith("bind_ending") and name:
            ending = name
            docs[name] = first_text(arguments[2])
        elif kind.startswith("bind_rule") and name:
            docs[name] = first_text(arguments[2])
            for setting, text in re.findall(r'\{"(\w+)", &\w+::\w+,\s*(\w+|"[^"]*")\}', arguments[3]):
                docs[f"{name}.{setting}"] = literal(texts.get(text, text))
        elif kind == "bind_loss" and name:
            docs[name] = first_text(arguments[4])
        elif kind == "result_property":
            docs |= {f"{ending}.{attribute}": first_text(arguments[2]) for attribute in re.findall(r'"(\w+)"', arguments[1])}
        elif kind == "property" and name:
            docs[f"{classes.get(arguments[0], '*')}.{name}"] = first_text(arguments[2])
        elif kind == "define" and name:
            docs[name.split("(")[0]] = first_text(arguments[2])
    return {name: text for name, text in docs.items() if text}


def arguments_of(source, start):
    """The arguments of a call, as text. start is behind its opening parenthesis."""
    arguments, depth = [""], 0
    for token in TOKEN.finditer(source, start):
        text = token[0]
        if text.startswith("//"):
            continue
        if text in ")]}" and depth == 0:
            break
        depth += (text in "([{") - (text in ")]}")
        if text == "," and depth == 0:
            arguments.append("")
        else:
            arguments[-1] += text
    return [argument.strip() for argument in arguments]


def first_text(argument):
    """The text of the string literals at the beginning of an argument."""
    found = re.match(LITERALS, argument)
    return literal(found[1]) if found else ""


def literal(text):
    """The text of adjacent string literals, without a signature in its first line."""
    return re.sub(r"^\w+\(.*\)\n--\n\n", "", string(re.findall(r'"(?:\\.|[^"\\])*"', text)))


def string(tokens):
    """The text of an argument that is string literals and nothing else."""
    parts = [token for token in tokens if token.strip()]
    if not parts or any(not part.startswith('"') for part in parts):
        return None
    return "".join(ast.literal_eval(part) for part in parts)


# ---- modules ----


def signature(function):
    """A def without its body, one parameter per line where it is long."""
    parameters = re.sub(r"(: [^=]*?[^=\s])=(?=[^=])", r"\1 = ", ast.unparse(function.args))
    result = f" -> {ast.unparse(function.returns)}" if function.returns else ""
    line = f"{function.name}({parameters}){result}"
    if len(line) > WIDTH:
        line = f"{function.name}(\n    " + ",\n    ".join(split_top(parameters)) + f",\n){result}"
    return line


def comment_in(node, lines):
    """Returns the comment behind the code of a line of a stub."""
    found = re.search(r"\S\s+# (?!type:)(.*)$", lines[node.lineno - 1])
    return found[1] if found else ""


def is_public(name):
    """main() is for the command line."""
    return not name.startswith("_") and name != "main" or name in ("__init__", "__call__")


def read_members(body, source, docs, scope):
    lines, found = source.split("\n"), {}
    words = lambda name: docs.get(scope + name) or (docs.get(f"*.{name}") if scope else None) or ""
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and is_public(node.name):
            text = ast.get_docstring(node) or comment_in(node, lines) or words(node.name)
            is_property = any(ast.unparse(one).endswith("property") for one in node.decorator_list)
            kind = "attribute" if is_property else "function"
            shown = f"{node.name}: {ast.unparse(node.returns)}" if is_property and node.returns else signature(node)
            entity = found.setdefault(node.name, Entity(kind, node.name, [], text))
            entity.signatures.append(shown)
            entity.text = entity.text or text
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and is_public(node.target.id):
            name = node.target.id
            text = comment_in(node, lines) or words(name)
            found[name] = Entity("attribute", name, [f"{name}: {ast.unparse(node.annotation)}"], text)
        elif isinstance(node, ast.ClassDef):
            text = ast.get_docstring(node) or docs.get(node.name, "")
            members = read_members(node.body, source, docs, f"{node.name}.")
            found[node.name] = Entity("class", node.name, [], inspect.cleandoc(text), [ast.unparse(base) for base in node.bases], members)
    return list(found.values())


def core_stub():
    sys.path.insert(0, str(ROOT / "python"))
    import make_stubs

    with tempfile.NamedTemporaryFile("r", suffix=".pyi") as output:
        make_stubs.main(ROOT / "include/gradwalk/ops.def", ROOT / "python/core.pyi.in", output.name)
        return Path(output.name).read_text()


def op_names():
    return set(re.findall(r"^GRADWALK_(?:UNARY|BINARY)\s*\(\s*(\w+)", (ROOT / "include/gradwalk/ops.def").read_text(), re.MULTILINE))


def read():
    """{"gradwalk": (docstring, [Entity, ...]), ...}. The ops of the table are left to their own page."""
    docs, ops, modules = bound_docs(), op_names(), {}
    for module, files in MODULES.items():
        head, entities = "", []
        for file in files:
            source = core_stub() if file == "_core.pyi" else (PACKAGE / file).read_text()
            tree = ast.parse(source)
            if file == "__init__.py" or not file.startswith("_"):
                head = ast.get_docstring(tree) or ""
            entities += read_members(tree.body, source, docs if file == "_core.pyi" else {}, "")
        hidden = {one.name: one for one in entities if one.name.startswith("_")}
        for one in entities:
            inherited = [member for base in one.bases if base in hidden for member in hidden[base].members]
            known = {member.name for member in one.members}
            one.members += [member for member in inherited if member.name not in known]
            one.members = [member for member in one.members if member.name not in ops]
        entities = [one for one in entities if not one.name.startswith("_") and one.name not in ops]
        modules[module] = (head, list({one.name: one for one in entities}.values()))  # a function of Python hides one of C++
    return modules


def gaps(modules):
    """Public names without a word: a name is documented by its own docstring, by that of the same method in a base class, or by its
    class's if that names it; __init__ and __call__ by their class's."""
    found = []
    for module, (_, entities) in modules.items():
        classes = {one.name: one for one in entities}
        for one in entities:
            if not one.text:
                found.append(f"{module}.{one.name}")
            for member in one.members:
                bases = [classes[base] for base in one.bases if base in classes]
                is_inherited = any(other.name == member.name and other.text for base in bases for other in base.members)
                is_named = re.search(rf"(?<!\w){member.name}(?!\w)", one.text)
                if not member.text and not is_inherited and not is_named and not member.name.startswith("__"):
                    found.append(f"{module}.{one.name}.{member.name}")
    return found


# ---- pages ----


def linker(modules):
    targets = {}
    for module, (_, entities) in modules.items():
        for one in entities:
            targets.setdefault(one.name if one.kind == "class" else f"{one.name}()", f"{module}.md#{one.name}")
    pattern = re.compile(r"(?<![\w`.&])[A-Za-z]\w*(\(\))?(?![\w`(])")
    return lambda text: linked(text, pattern, lambda match: targets.get(match[0]))


def entry(one, link):
    parts = [f"## {escape(one.name)} {{#{one.name}}}"]
    calls = [call for member in one.members if member.name == "__init__" for call in member.signatures]
    if one.kind == "class":
        constructor = [re.sub(r"^__init__\((self(, )?)?", f"class {one.name}(", call).removesuffix(" -> None") for call in calls]
        constructor = [re.sub(r"\(\n    self,\n", "(\n", call) for call in constructor]
        parts.append(fence("\n".join(constructor or [f"class {one.name}"]), "python"))
    else:
        parts.append(fence("\n".join(one.signatures), "python"))
    if one.text:
        parts.append(prose(one.text, "python", link))
    attributes = [member for member in one.members if member.kind == "attribute"]
    if attributes:
        rows = [f"| `{member.signatures[0].replace('|', chr(92) + '|')}` | {cell(link(escape(member.text)))} |" for member in attributes]
        parts.append("\n".join(["| attribute | |", "|---|---|", *rows]))
    for member in one.members:
        if member.kind == "function" and member.name != "__init__":
            parts.append(f"### {escape(one.name)}.{escape(member.name)} {{#{one.name}-{member.name}}}")
            parts.append(fence("\n".join(re.sub(r"\((\n    )?self(, |,\n    )?", lambda m: "(" + (m[1] or ""), call) for call in member.signatures), "python"))
            if member.text:
                parts.append(prose(member.text, "python", link))
    return "\n\n".join(parts)


def pages(modules):
    link, result = linker(modules), {}
    rows = ["| module | what is in it |", "|---|---|"]
    for module, (head, entities) in modules.items():
        lines = [f"# {module}", prose(head, "python", link)]
        if module == "gradwalk":
            lines.append("Every operation of [the op table](../ops.md) is a function of this module and a method of\n[`Value`](#Value).")
        lines += [entry(one, link) for one in entities]
        result[f"{module}.md"] = "\n\n".join(lines) + "\n"
        rows.append(f"| [{module}]({module}.md) | {cell(escape(sentence(head)))} |")
    result["index.md"] = "# Python reference\n\nEvery public name, by module. [The guide](../../python.md) shows how they are used.\n\n" + "\n".join(rows) + "\n"
    return result


if __name__ == "__main__":
    print("\n".join(gaps(read())))
