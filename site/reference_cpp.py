#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The C++ reference: one page per public header, made of Doxygen's XML and the comments in the headers.

Public is what stands in namespace gradwalk outside of detail. site/pages.py uses read() and pages(), the tests use gaps().
usage: site/reference_cpp.py          runs Doxygen and prints the names that have no comment, with their places
"""

import re
import subprocess
import sys
import xml.etree.ElementTree as xml
from dataclasses import dataclass, field
from pathlib import Path

from doxygen_filter import LINE_END
from markdown import cell, escape, fence, linked, prose, sentence, split_top

ROOT = Path(__file__).resolve().parents[1]
XML = ROOT / "build/docs/doxygen/xml"
HIDDEN = re.compile(r"\bdetail\b|\bby_type\b")
WIDTH = 96


@dataclass
class Entity:
    kind: str  # class, struct, enum, function, variable, typedef, concept, define, value
    name: str  # without its scope
    scope: str  # the class that has it as a member: "Walk::Step", or ""
    signature: str
    file: str
    line: int
    text: str  # its comment, or ""
    is_above: bool = False  # the comment stands above: it also documents what follows without an empty line
    members: list = field(default_factory=list)
    is_exempt: bool = False  # a comment may be missing
    is_friend: bool = False  # a function of the namespace that is declared in a class
    shared: "Entity" = None  # whose comment is this one's, too

    @property
    def full_name(self):
        return f"{self.scope}::{self.name}" if self.scope and not self.is_friend else self.name

    @property
    def anchor(self):
        """A name in letters and digits: an operator's signs by their codes."""
        return re.sub(r"::|\W", lambda sign: "-" if sign[0] in ("::", " ") else f"-{ord(sign[0]):x}", self.full_name)


# ---- reading ----


def run_doxygen():
    (ROOT / "build/docs/doxygen").mkdir(parents=True, exist_ok=True)
    for old in XML.glob("*.xml"):
        old.unlink()
    done = subprocess.run(["doxygen", "site/Doxyfile"], cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        sys.exit(done.stdout + "reference_cpp: doxygen failed, see above")


def plain(element):
    return "" if element is None else "".join(element.itertext()).strip()


def tidy(code):
    """Doxygen's spelling of types in ours."""
    code = re.sub(r"\s+", " ", code).replace("< ", "<").replace(" >", ">").strip()
    return re.sub(r"(?<=[\w>]) ?([&*]+) ?(?=[\w.]|$|[,)>])", lambda sign: sign[1] + " ", code).replace(" ,", ",").replace("& )", "&)").replace("* )", "*)").strip()


def declared(type_, name, arguments):
    arguments = re.sub(r"(?<=[\w\])}>&*])=(?=[^=])", " = ", tidy(arguments)).replace(" =0", " = 0")
    type_ = re.sub(r"^enum |\bgradwalk::", "", tidy(type_))
    return f"{type_} {name}{arguments}".strip()


def template_head(element):
    parameters = element.find("templateparamlist")
    if parameters is None:
        return ""
    texts = []
    for one in parameters.findall("param"):
        name, value = plain(one.find("declname")), plain(one.find("defval"))
        texts.append(tidy(f"{plain(one.find('type'))} {name}") + (f" = {value}" if value else ""))
    requires = plain(element.find("requiresclause"))
    return f"template <{', '.join(texts)}>\n" + (f"  requires {requires}\n" if requires else "")


def wrapped(code):
    """A long parameter list, one parameter per line."""
    if len(code) <= WIDTH or "(" not in code:
        return code
    start, depth = code.index("(", code.find("operator()") + 10 if "operator()" in code else 0) + 1, 1
    for end in range(start, len(code)):
        depth += (code[end] == "(") - (code[end] == ")")
        if depth == 0:
            break
    return code[:start] + "\n    " + ",\n    ".join(split_top(code[start:end])) + code[end:]


def comment_of(element):
    texts, is_above = [], False
    for kind in ("briefdescription", "detaileddescription"):
        for text in element.findall(f"{kind}//verbatim"):
            words = (text.text or "").strip().replace(LINE_END, "\n")
            is_above |= words.startswith("^")
            texts.append(words[1:].strip("\n"))
    return "\n\n".join(texts), is_above


def place_of(element):
    location = element.find("location")
    return (Path(location.get("file")).name, int(location.get("line"))) if location is not None else ("", 0)


def member(element, scope):
    name, kind = plain(element.find("name")), element.get("kind")
    arguments, type_ = plain(element.find("argsstring")), plain(element.find("type"))
    file, line = place_of(element)
    text, is_above = comment_of(element)
    type_ = re.sub(r"\b(friend|constinit|inline) ?", "", type_)
    initializer = plain(element.find("initializer"))
    members = []
    if kind == "enum":
        for value in element.findall("enumvalue"):
            words, _ = comment_of(value)
            members.append(Entity("value", plain(value.find("name")), f"{scope}::{name}".lstrip(":"), plain(value.find("name")), file, line, words))
        inside = "" if any(value.text for value in members) else " { " + ", ".join(value.name for value in members) + " }"
        signature = f"enum class {name}{inside};"
    elif kind == "typedef":
        signature = f"using {name} = {tidy(type_ + arguments)};"
    elif kind == "define":
        signature = f"#define {name}"
    elif kind == "variable":
        signature = declared(type_, name, arguments) + (f" {initializer}" if initializer and "\n" not in initializer and len(initializer) < 60 else "") + ";"
    else:
        kind = "function"
        prefix = "static " if element.get("static") == "yes" and not type_.startswith("static") else ""
        prefix += "explicit " if element.get("explicit") == "yes" else ""
        prefix += "virtual " if element.get("virt") in ("virtual", "pure-virtual") and "override" not in arguments and not type_.startswith("virtual") else ""
        signature = template_head(element) + wrapped(prefix + declared(type_, name, arguments) + ";")
    is_exempt = (
        arguments.endswith(("=delete", "=default"))
        or name.startswith("~")
        or name in ("operator=", "operator<<", "operator==")
        or element.find("reimplements") is not None
        or bool(scope) and name == scope.split("::")[-1]  # a constructor has the name and the comment of its class
    )
    return Entity(kind, name, scope, signature, file, line, text, is_above, members, is_exempt, element.get("kind") == "friend")


def is_hidden_friend(element):
    return element.get("kind") == "friend" and not plain(element.find("argsstring"))


def members_of(compound, scope):
    """The public ones, in the order of the source."""
    found = []
    for section in compound.findall("sectiondef"):
        for element in section.findall("memberdef"):
            if element.get("prot") == "public" and not is_hidden_friend(element):
                found.append(member(element, scope))
    return [one for one in found if one.text or not is_a_matter_of_course(one)]


def is_a_matter_of_course(one):
    """The members that every class has: copies, moves and the destructor."""
    arguments = one.signature[one.signature.find("(") :]
    copies = re.fullmatch(rf"\((const )?{re.escape(one.name)}&&?( \w+)?\).*", arguments)
    return one.name.startswith("~") or one.name == "operator=" or re.search(r"= ?(delete|default);", arguments) is not None or bool(copies)


def type_or_concept(compound, scope):
    kind, (file, line), (text, is_above) = compound.get("kind"), place_of(compound), comment_of(compound)
    outer, _, name = scope.rpartition("::")
    if kind == "concept":
        code = tidy(plain(compound.find("initializer"))).replace("gradwalk::", "")
        signature = code.replace("template<", "template <").replace("> concept", ">\nconcept") + ";"
        return Entity(kind, name, outer, signature, file, line, text, is_above)
    bases = [tidy(plain(base)).removeprefix("gradwalk::") for base in compound.findall("basecompoundref") if base.get("prot") == "public"]
    signature = template_head(compound) + f"{kind} {name}{' : public ' + ', public '.join(bases) if bases else ''};"
    return Entity(kind, name, outer, signature, file, line, text, is_above, members_of(compound, scope))


def read():
    """Every public entity by header: {"value.hpp": [Entity, ...]}."""
    entities = []
    for path in sorted(XML.glob("*.xml")):
        compound = xml.parse(path).getroot().find("compounddef")
        if compound is None:
            continue
        kind, full = compound.get("kind"), plain(compound.find("compoundname"))
        if kind == "file":
            source = (ROOT / "include/gradwalk" / full).read_text()
            entities += [one for one in members_of(compound, "") if one.kind == "define" and f"#undef {one.name}" not in source]
            continue
        if not full.startswith("gradwalk") or HIDDEN.search(full):
            continue
        scope = full.removeprefix("gradwalk").removeprefix("::")
        if kind == "namespace":
            entities += members_of(compound, scope)
        elif kind in ("class", "struct", "concept") and compound.get("prot", "public") == "public" and "<" not in full:
            entities.append(type_or_concept(compound, scope))
    by_name = {one.full_name: one for one in entities if one.kind in ("class", "struct")}
    headers = {}
    for one in sorted(entities, key=lambda one: (one.file, one.line)):
        if one.scope in by_name:
            by_name[one.scope].members.append(one)
        else:
            headers.setdefault(one.file, []).append(one)
    for header, entities in headers.items():
        share_comments(entities, (ROOT / "include/gradwalk" / header).read_text().split("\n"))
    return headers


def share_comments(entities, lines):
    """A comment above documents also the declarations that follow it without an empty line and without a comment of their
    own; the comment of a line documents all its names."""
    entities.sort(key=lambda one: one.line)
    commented = {one.line: one for one in reversed(entities) if one.text}
    previous = None
    for one in entities:
        if not one.text:
            follows = previous is not None and previous.is_above and all(line.strip() for line in lines[previous.line - 1 : one.line - 1])
            one.shared = commented.get(one.line) or (previous if follows else None)
        previous = one if one.text else one.shared and Entity(**{**vars(one.shared), "line": one.line})
        if one.kind in ("class", "struct"):
            share_comments(one.members, lines)


# ---- what has no comment ----


def head_of(header):
    """The comment at the top of a header, without its licence."""
    lines = re.match(r"(//.*\n)*", (ROOT / "include/gradwalk" / header).read_text())[0].split("\n")[1:]
    return "\n".join(line.removeprefix("//").removeprefix(" ") for line in lines).strip("\n")


def gaps(headers):
    """Public names without a comment: (file, line, name). A name is documented by a comment of its own or of an overload, by a
    comment it shares, or by the comment of its class or header if that names it; an enum's comment documents its values."""
    found = []

    def look(entities, around):
        documented = {one.name for one in entities if one.text or one.shared or one.is_exempt}
        for one in entities:
            is_named = not one.name.startswith("@")  # an anonymous union has no name
            if is_named and one.name not in documented and not re.search(rf"(?<!\w){re.escape(one.name)}(?!\w)", around):
                documented.add(one.name)  # reported once
                found.append((one.file, one.line, one.full_name))
            if one.kind in ("class", "struct"):
                look(one.members, one.text or around)

    for header, entities in headers.items():
        look(entities, head_of(header))
    return found


# ---- pages ----


def linker(headers):
    """A function that makes the names of types, and of functions written with (), links to their places."""
    targets = {}
    for header, entities in headers.items():
        for one in entities:
            if one.kind in ("class", "struct", "enum", "concept", "typedef"):
                targets.setdefault(one.name, (header, one.anchor))
            elif one.kind == "function" and one.name.isidentifier():
                targets.setdefault(one.name + "()", (header, one.anchor))
    pattern = re.compile(r"(?<![\w`:&.])[A-Za-z]\w*(\(\))?(?![\w`])")

    def target_of(match):
        header, anchor = targets.get(match[0], (None, None))
        return f"{header.removesuffix('.hpp')}.md#{anchor}" if header and (match[1] or match[0][0].isupper()) else None

    return lambda text: linked(text, pattern, target_of)


def grouped(entities):
    """Overloads together, where the first of them stands."""
    groups = {}
    for one in entities:
        is_operator = re.fullmatch(r"operator[^\w\s(\[]+", one.name)
        groups.setdefault("operators" if is_operator else (one.kind == "function", one.name), []).append(one)
    return list(groups.values())


def table(head, members, link):
    rows = [f"| {head} | |", "|---|---|"]
    for one in members:
        text = one.text or (one.shared.text if one.shared else "")
        signature = one.signature.removesuffix(";").replace("|", "\\|")
        rows.append(f"| `{signature}` | {cell(link(escape(text)))} |")
    return "\n".join(rows)


def entry(group, level, link):
    """One name: its declarations, its comments, its members."""
    first = group[0]
    title = "Operators" if len({one.name for one in group}) > 1 else first.full_name
    parts = [f"{'#' * level} {escape(title)} {{#{first.anchor}}}"]
    parts.append(fence("\n".join(one.signature for one in group), "cpp"))
    texts = []
    for one in group:
        text = one.text or (one.shared.text if one.shared and not any(other.text for other in group) else "")
        if text and text not in texts:
            texts.append(text)
    parts += [prose(text, "cpp", link) for text in texts]
    fields = [one for one in first.members if one.kind in ("variable", "value") and one.name]
    if any(one.kind == "variable" or one.text for one in fields):
        parts.append(table("value" if first.kind == "enum" else "member", fields, link))
    others = [one for one in first.members if one not in fields]
    for inner in grouped(others):
        parts.append(entry(inner, min(level + 1, 4), link))
    return "\n\n".join(parts)


def pages(headers, component_of):
    """{"value.md": text}, with an index."""
    link, result = linker(headers), {}
    rows = ["| header | what is in it |", "|---|---|"]
    for header, entities in sorted(headers.items()):
        head, name = head_of(header), header.removesuffix(".hpp")
        lines = [f"# {escape(header)}", fence(f"#include <gradwalk/{header}>  // {component_of(header)}", "cpp"), prose(head, "cpp", link)]
        lines += [entry(group, 2, link) for group in grouped(entities)]
        if header == "value.hpp":
            lines.append("## Operations\n\nEvery operation of [the op table](../ops.md) is a function of Values here, and those of one\noperand are also methods: `tanh(x)` and `x.tanh()`.")
        result[f"{name}.md"] = "\n\n".join(lines) + "\n"
        rows.append(f"| [{escape(header)}]({name}.md) | {escape(cell(sentence(head)))} |")
    result["index.md"] = "# C++ reference\n\nEvery public name, by header. `gradwalk.hpp` includes all of libgradwalk.\n\n" + "\n".join(rows) + "\n"
    return result


if __name__ == "__main__":
    run_doxygen()
    for file, line, name in gaps(read()):
        print(f"include/gradwalk/{file}:{line}: {name}")
