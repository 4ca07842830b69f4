#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Doxygen's input filter: turns the plain comments of a header into comments that Doxygen keeps, line for line.

A comment above a declaration and a comment at the end of its line document it. The comment at the top of a file,
comments before an empty line and comments inside function bodies are left out. The text is
passed on as it is (\\verbatim): Doxygen finds the declarations, and reference_cpp.py reads the words. Every line of code
stays on its line; the lines of a comment are joined by LINE_END.
usage: site/doxygen_filter.py FILE
"""

import re
import sys

WHOLE = re.compile(r"^(\s*)//(?!/) ?(.*)$")
TRAILING = re.compile(r"^(.*?\S)(\s+)// ?(.*)$")
SCOPE = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b")
LINE_END = "\u23ce"
IGNORED = re.compile(r"NOLINT\w*(\([^)]*\))?:? ?|IWYU pragma.*|clang-format (on|off).*")


class Scopes:
    """Follows the braces: whether a line is inside a function body."""

    def __init__(self):
        self.stack, self.pending = [], ""

    def in_body(self):
        return "body" in self.stack

    def read(self, code):
        for char in re.sub(r'"(\\.|[^"\\])*"|\'(\\.|[^\'\\])\'', '""', code):
            if char == "{":
                is_scope = SCOPE.search(self.pending) and "(" not in re.sub(r"__attribute__|\([^()]*\)", "", self.pending)
                self.stack.append("scope" if is_scope else "body")
            elif char == "}" and self.stack:
                self.stack.pop()
            self.pending = "" if char in "{};" else self.pending + char


def comment(opening, lines):
    """The mark says whether the comment stands above (^) or behind (<) what it documents."""
    mark = "<" if opening.endswith("<") else "^"
    text = LINE_END.join(lines).replace("*/", "* /")
    return f"{opening} \\verbatim {mark}{text} \\endverbatim */"


def convert(lines):
    scopes, result, i = Scopes(), [], 0
    while i < len(lines) and WHOLE.match(lines[i]):
        result.append("")
        i += 1
    is_macro = False
    while i < len(lines):
        line = lines[i]
        if is_macro or line.startswith("#"):
            is_macro = line.endswith("\\")
            result.append(line)
            i += 1
            continue
        if match := WHOLE.match(line):
            block = []
            while i < len(lines) and (match := WHOLE.match(lines[i])):
                block.append(IGNORED.sub("", match[2]))
                i += 1
            following = lines[i] if i < len(lines) else ""
            is_above = re.match(r"\s*(?!namespace|public:|private:|protected:|#(?!define|ifndef))[^\s}]", following)
            if is_above and any(block) and not scopes.in_body():
                result += [""] * (len(block) - 1) + [comment("/**", block)]
            else:
                result += [""] * len(block)
            continue
        match = TRAILING.match(line)
        code = match[1] if match and match[1].count('"') % 2 == 0 else line
        was_in_body = scopes.in_body()
        scopes.read(code)
        i += 1
        texts = [""]
        text = IGNORED.sub("", match[3]) if match and code != line else ""
        if text:
            texts, column = [text], len(match[1]) + len(match[2])
            while i < len(lines) and (more := WHOLE.match(lines[i])) and len(more[1]) == column:
                texts.append(more[2])
                i += 1
            if was_in_body or code.strip().startswith("}"):
                pass
            elif code.endswith("{") or code.strip().startswith("template") and code.endswith(">"):
                code = comment("/**", texts) + " " + code
            else:
                code += " " + comment("/**<", texts)
        result += [code] + [""] * (len(texts) - 1)
    return result


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        print("\n".join(convert(file.read().splitlines())))
