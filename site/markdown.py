# SPDX-License-Identifier: MIT
"""Helpers that the generators of the reference share: comments and docstrings as Markdown that VitePress renders as it is meant."""

import re

CODE = re.compile(r"`[^`]+`")


def escape(text):
    """Plain words as Markdown and HTML: nothing in them is markup, except code in backticks."""
    parts, start = [], 0
    for code in CODE.finditer(text):
        parts += [_escape(text[start : code.start()]), code[0]]
        start = code.end()
    return "".join(parts + [_escape(text[start:])])


def _escape(text):
    text = re.sub(r"([\\*\[\]#|~^$]|(?<!\w)_|_(?!\w))", r"\\\1", text)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("{{", "&#123;&#123;")


def fence(code, language):
    return f"```{language}\n{code}\n```"


def prose(text, language, link=lambda escaped: escaped):
    """Paragraphs stay paragraphs; lines set in by two spaces or more, and sessions (>>>), become code."""
    blocks = []
    for paragraph in re.split(r"\n\s*\n", text.strip("\n")):
        lines = paragraph.split("\n")
        groups = []
        for line in lines:
            is_code = line.startswith("  ") or line.startswith(">>>") or bool(groups and groups[-1][0] and groups[-1][1][0].startswith(">>>"))
            if groups and groups[-1][0] == is_code:
                groups[-1][1].append(line)
            else:
                groups.append((is_code, [line]))
        for is_code, group in groups:
            if is_code:
                margin = min(len(line) - len(line.lstrip()) for line in group if line.strip())
                blocks.append(fence("\n".join(line[margin:] for line in group), language))
            else:
                blocks.append("\n".join(link(escape(line)) for line in group))
    return "\n\n".join(blocks)


def sentence(text):
    """The first sentence, for lists; a comment that starts in lower case is a phrase, and stays one."""
    first = text.strip().split("\n\n")[0].replace("\n", " ")
    return re.split(r"(?<=[a-z0-9)\]`'\"²][.!?]) (?=[A-Z`])", first)[0]


def split_top(text):
    """The parts between the commas that are in no brackets."""
    parts, depth = [""], 0
    for char in text:
        depth += (char in "([{<") - (char in ")]}>")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts]


def linked(text, pattern, target_of):
    """Escaped words with the names that have a target made links; code in backticks stays as it is."""

    def replace(match):
        target = target_of(match)
        if target is None:
            return f"`{match[0]}`" if match[0].endswith("()") else match[0]
        return f"[`{match[0]}`]({target})"

    parts = re.split(r"(`[^`]*`)", text)
    parts[::2] = [pattern.sub(replace, part) for part in parts[::2]]
    return "".join(parts)


def cell(text):
    return text.replace("\n", " ").strip()
