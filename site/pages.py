#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Assembles what VitePress renders, in build/docs: the Markdown of the repository with links that fit the site, the
generated reference, the lesson, the walkers and the colours of the lesson. tools/build-docs calls it.
usage: site/pages.py PROGRAM
"""

import html
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import reference_cpp
import reference_python
from markdown import escape, fence

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "build/docs"
PAGES = OUT / "pages"

# The sidebar: what the reader wants, and the pages that have it. A page is a file of the repository or one that is made here
# (it starts with /); its title is its first heading, unless a pair says otherwise.
SECTIONS = {
    "Learn": ["docs/tutorial.md", ("The interactive lesson", "/lesson/"), ("Examples", "examples/README.md")],
    "How-to guides": [
        "docs/install.md",
        "docs/see.md",
        "docs/train.md",
        "docs/csv.md",
        "docs/compile.md",
        "docs/emit-c.md",
        "docs/gpu.md",
        "docs/solve.md",
        "docs/custom-op.md",
        "docs/python.md",
        "docs/eigen.md",
    ],
    "Reference": [
        "docs/value.md",
        ("C++", "/reference/cpp/"),
        ("Python", "/reference/python/"),
        ("Command line", "/reference/cli"),
        ("Op table", "/reference/ops"),
        "docs/semantics.md",
        "docs/model-format.md",
        "docs/walk-format.md",
        "docs/random.md",
        "docs/glossary.md",
    ],
    "Explanation": [
        "docs/tape.md",
        ("How compile works", "docs/compile.md#what-each-pass-does"),
        "docs/architecture.md",
        "docs/performance.md", "docs/evidence.md",
    ],
    "The project": ["CONTRIBUTING.md", "docs/lesson.md", "docs/versioning.md", "CHANGELOG.md", "SECURITY.md"],
}
LINK = re.compile(r"(!?\[(?:[^\]\[]|\[[^\]]*\])*\])\(([^)\s]+)\)")
WALKER = re.compile(r"^<!-- walker( [a-z-]+)?: (.*?) -->$", re.MULTILINE)
HIGHLIGHTED = {"cmake", "console", "cpp", "html", "json", "md", "python", "sh", "text", "toml", "ts"}
LANGUAGES = {".hpp": "cpp", ".cpp": "cpp", ".h": "cpp", ".def": "cpp", ".py": "python", ".sh": "sh", ".md": "md", ".txt": "text"}


def fail(text):
    sys.exit(f"site/pages.py: {text}")


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


# ---- the repository's own Markdown ----


def all_documents():
    """Where each Markdown file of the repository stands in the site: {"docs/tape.md": "tape.md"}."""
    listed = [item if isinstance(item, str) else item[1] for items in SECTIONS.values() for item in items]
    listed = [path.partition("#")[0] for path in listed if not path.startswith("/")]
    for path in sorted((ROOT / "docs").glob("*.md")):
        if f"docs/{path.name}" not in listed:
            fail(f"docs/{path.name} is in no section of the sidebar; add it to SECTIONS")
    renamed = {"examples/README.md": "examples.md", "docs/lesson.md": "add-to-lesson.md"}  # /lesson/ is the lesson itself
    return {"README.md": "index.md"} | {path: renamed.get(path, Path(path).name.lower()) for path in listed}


class Links:
    """Turns the links of a Markdown file, which fit the repository, into links that fit the site."""

    def __init__(self, documents, headers):
        self.documents, self.headers, self.sources = documents, headers, set()

    def target(self, path):
        """The page of a file, from the root of the site; None for a folder that has none."""
        if path in self.documents:
            return self.documents[path]
        if (ROOT / path).is_dir():
            readme = f"{path}/README.md"
            return self.target(readme) if readme in self.documents else None
        header = path.removeprefix("include/gradwalk/")
        if header in self.headers:
            return f"reference/cpp/{header.removesuffix('.hpp')}.md"
        if header == "ops.def":
            return "reference/ops.md"
        self.sources.add(path)
        return f"source/{path}.md"

    def rewrite(self, text, source):
        place = Path(self.documents[source]).parent

        def one(match):
            words, link = match[1], match[2]
            path, _, anchor = link.partition("#")
            if re.match(r"[a-z][a-z0-9+.-]*:", link) or not path:
                return match[0]
            path = os.path.normpath(os.path.join(os.path.dirname(source), path))
            if words.startswith("!"):
                return f"{words}({os.path.relpath(path.removeprefix('docs/'), place)})"
            target = self.target(path)
            if target is None:
                return words[1:-1]
            return f"{words}({os.path.relpath(target, place)}{'#' + anchor if anchor else ''})"

        text = re.sub(r"^```(\w+)$", lambda fence: fence[0] if fence[1] in HIGHLIGHTED else "```text", text, flags=re.MULTILINE)
        return outside_code(text, lambda part: LINK.sub(one, part))


def outside_code(text, change):
    """Changes everything but code blocks and code in a line. The words of a link may hold code."""
    blocks = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    blocks[::2] = [change(block) for block in blocks[::2]]
    return "".join(blocks)


def source_page(path):
    """A file of the repository that a page links to, as it is."""
    text = (ROOT / path).read_text()
    return f"---\nsearch: false\naside: false\n---\n\n# {escape(path)}\n\n````{LANGUAGES.get(Path(path).suffix, 'text')}\n{text.rstrip()}\n````\n"


# ---- walkers ----


def make_walkers(text):
    """`<!-- walker: a=2; b=a*a -->` in a page becomes the web component with that graph to walk; `<!-- walker overwrite: ... -->`
    begins with a broken rule. GitHub shows nothing."""

    def one(match):
        rule, expression = (match[1] or "").strip(), match[2]
        given = {"expression": expression, "label": f"walk through {expression}"} | ({"rule": rule} if rule else {})
        attributes = " ".join(f'{name}="{html.escape(value, quote=True)}"' for name, value in given.items())
        return f'<grad-walk class="walker" {attributes}></grad-walk>'

    return WALKER.sub(one, text)


# ---- generated reference ----


def output_of(program, *arguments):
    done = subprocess.run([program, *arguments], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        fail(f"gradwalk {' '.join(arguments)} failed: {done.stderr}")
    return done.stdout


def command_line(program):
    help_text = output_of(program, "--help")
    commands = re.findall(r"^  ([a-z]+)  +\S", help_text, re.MULTILINE)
    if len(commands) < 5:
        fail("gradwalk --help lists no commands, as far as this script can see")
    parts = ["# Command line", "`gradwalk COMMAND --help` prints these texts. From a clone, `./run` runs `gradwalk`."]
    parts += ["## gradwalk", fence(f"$ gradwalk --help\n{help_text.rstrip()}", "console")]
    for name in commands:
        text = output_of(program, name, "--help").rstrip()
        parts += [f"## gradwalk {name}", fence(f"$ gradwalk {name} --help\n{text}", "console")]
    return "\n\n".join(parts) + "\n"


def op_table(program):
    ops = json.loads(output_of(program, "ops", "--json"))["ops"]
    code = lambda text: f"`{text}`".replace("|", "\\|") if text else ""
    rows = ["| op | sign | r | dr/dx | dr/dy | needs |", "|---|---|---|---|---|---|"]
    for op in ops:
        sign = op["symbol"] if op["symbol"] != op["name"] else ""
        needs = op["domain"] if op["domain"] != "true" else ""
        rows.append("| " + " | ".join(code(text) for text in (op["name"], sign, op["value"], op["dx"], op.get("dy"), needs)) + " |")
    return f"""---
aside: false
---

# Op table

Every operation of gradwalk, as `gradwalk ops` prints it: {len(ops)} in all. `x` and `y` are the operands, `c` is the
condition before them, and `r` is the result. The two columns that follow `r` are the local derivatives, which the backward
pass multiplies with the gradient of `r`. Each rule stands once in the source, in
[ops.def](../source/include/gradwalk/ops.def.md); [Rules and special cases](../semantics.md) says what was decided at kinks and infinities.

""" + "\n".join(rows) + "\n"


def with_guides(text, documents):
    """Comments name pages by their files: docs/solve.md. Here they are links."""

    def one(match):
        return f"[{match[0]}](../../{documents[match[0]]})" if match[0] in documents else match[0]

    return outside_code(text, lambda part: re.sub(r"(?<![`\[/])docs/[\w-]+\.md", one, part))


def component_of(header):
    """The component that a header belongs to, from the table of modules."""
    for files, component in re.findall(r"^\| `\w+` \| (.*?) \| (.*?) \|", (ROOT / "docs/architecture.md").read_text(), re.MULTILINE):
        for group in re.findall(r"include/gradwalk/\{?([\w,]+)\}?\.hpp", files):
            if header.removesuffix(".hpp") in group.split(","):
                return "gradwalk::gradwalk" if component == "libgradwalk" else component
    return "gradwalk::gradwalk"


# ---- the site ----


def title_of(page):
    heading = re.search(r"^# (.*)$", re.sub(r"^```.*?^```$", "", (PAGES / page).read_text(), flags=re.MULTILINE | re.DOTALL), re.MULTILINE)
    return heading[1].replace("`", "")


def sidebar(documents, headers, modules):
    inner = {
        "/reference/cpp/": [(header, f"/reference/cpp/{header.removesuffix('.hpp')}") for header in sorted(headers)],
        "/reference/python/": [(module, f"/reference/python/{module}") for module in modules],
    }
    groups = []
    for section, items in SECTIONS.items():
        group = []
        for item in items:
            title, path = (None, item) if isinstance(item, str) else item
            file, _, anchor = path.partition("#")
            if not path.startswith("/"):
                page = documents[file]
                title, path = title or title_of(page), f"/{page.removesuffix('.md')}" + (f"#{anchor}" if anchor else "")
            entry = {"text": title, "link": path}
            if path == "/lesson/":
                entry["target"] = "_self"
            if path in inner:
                entry |= {"collapsed": True, "items": [{"text": text, "link": link} for text, link in inner[path]]}
            group.append(entry)
        groups.append({"text": section, "items": group})
    return groups


def colours():
    """The lesson's colours and type, light and dark: the first rules of its style sheet."""
    found = re.search(r":root \{.*?^\}\n@media screen and \(prefers-color-scheme: dark\) \{.*?^\}$", (ROOT / "web/src/page.css").read_text(), re.MULTILINE | re.DOTALL)
    if found is None:
        fail("web/src/page.css does not begin with its colours, light and dark")
    return found[0] + "\n"


def home(readme):
    """The README is the first page."""
    return "---\nsidebar: false\naside: false\npageClass: home\neditLink: false\n---\n\n" + readme


def main(program):
    shutil.rmtree(PAGES, ignore_errors=True)
    reference_cpp.run_doxygen()
    headers, modules = reference_cpp.read(), reference_python.read()
    documents = all_documents()
    links = Links(documents, headers)
    for source, page in documents.items():
        text = make_walkers(links.rewrite((ROOT / source).read_text(), source))
        write(PAGES / page, home(text) if source == "README.md" else text)
    for name, text in reference_cpp.pages(headers, component_of).items():
        write(PAGES / "reference/cpp" / name, with_guides(text, documents))
    for name, text in reference_python.pages(modules).items():
        write(PAGES / "reference/python" / name, with_guides(text, documents))
    write(PAGES / "reference/cli.md", command_line(program))
    write(PAGES / "reference/ops.md", op_table(program))
    for path in sorted(links.sources | {"include/gradwalk/ops.def"}):
        write(PAGES / f"source/{path}.md", source_page(path))
    shutil.copytree(ROOT / "docs/images", PAGES / "images")
    shutil.copytree(ROOT / "web/dist", PAGES / "public/lesson", ignore=shutil.ignore_patterns("*.gz", "show.html"))
    for name in ("grad-walk.js", "walker.html", "walker.js"):
        write(PAGES / "public/walkers" / name, (ROOT / "build/npm/grad-walk" / name).read_text())
    write(OUT / "colours.css", colours())
    write(OUT / "sidebar.json", json.dumps(sidebar(documents, headers, modules), indent=1))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: site/pages.py PROGRAM")
    main(str(Path(sys.argv[1]).resolve()))
