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
BINDER = re.compile(r"(\.def\w*|class_<.*>|\bbind_\w+(<.*>)?)\s*$", re.DOTALL)


def bound_docs():
    """{"compile": text, "Program.run": text}: the last string of each call that binds a name, as in .def("run", f, "text"),
    class_<Program>(module, "Program", "text") and {"backward", f, FLAGS, "text"}, a line of a table of Value's. Members that
    several classes share, class_<Self>(module, name, text).def("x", ...), belong to the class "*"."""
    docs = {}
    for path in sorted((ROOT / "python/src").glob("*.cpp")):
        stack, scope, before = [], "", ""
        for token in TOKEN.findall(path.read_text()):
            if token.startswith("//"):
                continue
            if token in "({[":
                stack.append((token, before, [[]]))
                before = ""
            elif token in ")}]" and stack:
                opening, call, arguments = stack.pop()
                texts = [string(argument) for argument in arguments]
                texts = [text for text in texts if text is not None]
                is_table = opening == "{" and path.name == "value_type.cpp" and len(texts) == 2
                if len(texts) >= 1 and re.fullmatch(r"\w+", texts[0]) and (BINDER.search(call) or is_table):
                    is_class = "class_<" in call or re.search(r"bind_\w+<", call) is not None
                    is_member = re.match(r"\)\s*\.", call) is not None  # a link of a chain; `module.def` begins one
                    if is_class:
                        scope = texts[0]
                    owner = "Value." if is_table else f"{scope}." if is_member and not is_class else ""
                    if len(texts) > 1:
                        docs.setdefault(owner + texts[0], texts[-1])
                elif "class_<" in call:
                    scope = "*"
                for text in texts:
                    if named := re.match(r"(\w+)\(.*\)\n--\n\n", text):
                        docs.setdefault(named[1], text)
                before = ")"
                if stack:
                    stack[-1][2][-1].append("()")
            elif token == "," and before.count("<") > before.count(">"):
                before += token  # in class_<A, B>
            elif token == "," and stack:
                stack[-1][2].append([])
                before = ""
            elif token == ";":
                before = ""
            else:
                before += token
                if stack:
                    stack[-1][2][-1].append(token)
        for text in re.findall(r"description =((?:\s*\"(?:\\.|[^\"\\])*\")+)", path.read_text()):
            docs["Value"] = string(re.findall(r'"(?:\\.|[^"\\])*"', text))
        docs.update(docs_by_pattern(path.read_text()))
    return {name: re.sub(r"^\w+\(.*\)\n--\n\n", "", text) for name, text in docs.items()}


LITERALS = r'((?:"(?:\\.|[^"\\])*"\s*)+)'


def docs_by_pattern(source):
    """The docstrings of define(module, "walk(root)", "text", f), of property(bound, "x", f, "text"), also in a loop over two
    names, of method<...>("silu", "text") and function<...>, and of variables that are named about_..."""
    docs = {}
    for call in re.finditer(r'\bdefine\(\s*\w+,\s*\(?"(\w+)\(', source):
        if text := re.compile(rf',\s*{LITERALS},').search(source, call.end()):
            docs[call[1]] = literal(text[1])
    for call in re.finditer(rf'(?:: \{{([^}}]*)\}}\)\s*)?\b(?:property\(\s*bound, |bound\.def_property_readonly\()(\w+|"\w+"),.*?{LITERALS}\);', source, re.DOTALL):
        owners = re.findall(r"= bind_ending<(\w+)>", source[:call.start()])
        for name in re.findall(r'"(\w+)"', call[1] or call[2]):
            docs[f"{owners[-1] if owners else '*'}.{name}"] = literal(call[3])
    for kind, name, text, same in re.findall(rf'\b(method|function)<Do_\w+>\("(\w+)", (?:{LITERALS}|as\("(\w+)"\))\)', source):
        docs["Value." * (kind == "method") + name] = literal(text) if text else f"As {same}(), under NumPy's name."
    for name, text in re.findall(rf'\{{"(\w+)", as_method\([^"]*{LITERALS}\}}', source):
        docs.setdefault(f"Value.{name}", literal(text))
    for name, text in re.findall(rf'PyGetSetDef condition_properties\[\] = \{{\s*\{{"(\w+)", \w+, nullptr,\s*{LITERALS}', source):
        docs[f"Condition.{name}"] = literal(text)
    for variable, text in re.findall(rf'\b(about_\w+)\s*=\s*{LITERALS};', source):
        docs["Condition" if variable == "about_conditions" else variable.removeprefix("about_")] = literal(text)
    if check := re.search(rf'class_<(\w+)> check\(module, "\w+",\s*{LITERALS}\);', source):
        docs[check[1]] = literal(check[2])
        docs |= {f"{check[1]}.{name}": literal(text) for name, text in re.findall(rf'def_readonly\("(\w+)", [^"]*{LITERALS}\)', source)}
    return docs


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
