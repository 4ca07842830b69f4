#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Every relative link and picture in a Markdown file leads to a file, and every #anchor to a heading of its page.
usage: tests/links_test.py [FILE.md...]
"""

import re
import sys
from pathlib import Path

from names_test import project_files
from modules_test import ROOT

LINK = re.compile(r"\]\(([^)\s]+)\)|\b(?:href|src)=\"([^\"]+)\"")
HEADING = re.compile(r"^#{1,6} +(.*?) *#* *$", re.MULTILINE)
BLOCK = re.compile(r"^( *)(```+|~~~+).*?^\1\2 *$|^( *)(```+|~~~+).*\Z", re.MULTILINE | re.DOTALL)


def without_code(text):
    """The text with its code removed, line for line: a block may hold what looks like a heading or a link."""
    text = BLOCK.sub(lambda block: re.sub(r"[^\n]", "", block[0]), text)
    return re.sub(r"`[^`\n]*`", "", text)


def anchors_of(path):
    """The anchors that GitHub gives to the headings of a page. A repeated heading gets -1, -2, ... appended."""
    text = BLOCK.sub(lambda block: re.sub(r"[^\n]", "", block[0]), path.read_text())
    anchors = set()
    for heading in HEADING.findall(text):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)  # a link counts by its words
        anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        count = 0
        while (f"{anchor}-{count}" if count else anchor) in anchors:
            count += 1
        anchors.add(f"{anchor}-{count}" if count else anchor)
    return anchors


def problems_of(path):
    for number, line in enumerate(without_code(path.read_text()).splitlines(), 1):
        for target in (one or other for one, other in LINK.findall(line)):
            if re.match(r"[a-z][a-z0-9+.-]*:", target):
                continue  # https:, mailto:
            file, _, anchor = target.partition("#")
            page = path.parent / file if file else path
            place = f"{path.relative_to(ROOT)}:{number}"
            if not page.exists():
                yield f"{place}: links to {target}, and there is no such file"
            elif anchor and page.suffix == ".md" and anchor not in anchors_of(page):
                yield f"{place}: links to {target}, and {file or 'the page'} has no such heading"


def main():
    pages = [Path(name).resolve() for name in sys.argv[1:]] or sorted(ROOT / file for file in project_files() if file.suffix == ".md")
    problems = [problem for page in pages for problem in problems_of(page)]
    print("\n".join(problems) or f"all links of {len(pages)} pages lead somewhere")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
