#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Tests of tools/prose: each rule finds its phrases and passes over good sentences; text is found in every kind of file,
also across line breaks, with the right line; exceptions work, and an exception without a finding is an error.
usage: tests/prose_test.py
"""

import importlib.machinery
import importlib.util
import json
import unittest

from modules_test import ROOT

loader = importlib.machinery.SourceFileLoader("prose", str(ROOT / "tools" / "prose"))
prose = importlib.util.module_from_spec(importlib.util.spec_from_loader("prose", loader))
loader.exec_module(prose)

# Comments with exactly one finding, by the rule that must find it.
BAD = {
    "per": [
        "Rows follow one another, each with a number an input.",
        "The Jacobian, a row an output.",
        "A box a value with its data and gradient.",
        "One label a row.",
        "Arms from the centre outwards, one a class.",
        "One local derivative an operand.",
        "The engine takes 21 bytes a node.",
        "Three numbers a point, stored in order.",
        "It has two large records a term.",
    ],
    "so many": ["Use at most so many threads.", "A process runs every so manieth case.", "The step is at most so much."],
    "told": ["The hook is told.", "docs/random.md tells each recipe.", "A model that tells classes apart.", "Doubles cannot tell them apart.", "Files of 0.1 do not tell."],
    "made up": ["Made-up data in the plane.", "Points of made up sets."],
    "found out": ["Names in the first line are found out."],
    "whoever": ["The sums are the same, whoever adds them.", "Who reads a record splits it.", "Sources alone: who links to it needs none."],
    "headless": ["What weights are drawn from; biases are 0.", "Sums. What depends on inlining, inlined here."],
    "headless clause": ["Sizes are bounded, and what is refused is named.", "Copies are cheap: what is shared passes on the sum."],
    "of which": ["A bool of which it is certain."],
    "of": ["Of a matrix, or of a part: its leaves."],
    "apart": ["Leaves lie apart.", "Nodes are kept apart from the tape."],
    "ends": ["A handle that ends is let go.", "Check the operands that end.", "The temporary is used up."],
    "open": ["Every record is opened first.", "It opens a fused record."],
    "equal nodes": ["The pass shares equal nodes."],
    "extreme": ["The extremes of a row."],
    "room": ["Scratch room for searches.", "It makes room in the chunk."],
    "place": ["Its place on the tape.", "The places for lost handles."],
    "plan": ["A plan of the rate.", "It begins a new plan."],
    "walk back": ["The graph is walked back once."],
}

# Sentences that no rule may find.
GOOD = [
    "Rows are stored one after another; each row has one number per input.",
    "An empty batch returns 0 and leaves the gradients unchanged.",
    "Check this first: for a consumed temporary the compiler knows that `tape_` is 0.",
    "Each node counts the Values that refer to it, not its edges.",
    "Total number of training steps, including those of a resumed run.",
    "Train a classifier or a regressor.",
    "Maximum number of threads. The result does not depend on it.",
    "`gelu` uses the tanh approximation.",
    "Distribution of the initial weights. Biases start at 0.",
    "A header line is detected automatically.",
    "A program has a fixed shape. For inputs of several sizes, compile one program per size and give them all to one `Trainer`.",
    "A node needs a label. A graph holds a root, and a pass over a graph is a loop.",
    "The name a user could have given it; a value a float can hold.",
    "In a Python notebook a Value draws itself.",
    "It reads the file a thousand times, ten times a second, a few bytes at a time.",
    "A test does not call a kink a floor.",
    "Two Values a and b, and one is a number.",
    "There are so many rows that one core is not enough.",
    "A graph is made up of nodes.",
    "What does a node cost? Of course it depends. Who owns a node?",
    "A user, who builds the library, and anyone who links to it.",
    "It says what was wrong and is clear about it. The error says what is needed, what it found, and what to do.",
    "The function of which the gradient is taken.",
    "Records are stored in order, apart from leaves.",
    "The program was used up to the end. The session ends here.",
    "The loss is exact at extreme scores.",
    "A flat has three rooms. Each room has a door to another room.",
    "The rule stands in one place; the sum grows in place.",
    "The planner has a plan for the release.",
    "A walk goes forward and backward.",
]


def rules_in(ending, text):
    """The rules that find something in a file whose name ends so."""
    return [finding.rule for finding in prose.findings_of(f"name.{ending}", text)]


class Rules(unittest.TestCase):
    def test_each_rule_finds_its_phrases_and_nothing_else_does(self):
        self.assertEqual(set(BAD), {rule.name for rule in prose.RULES})
        for rule, sentences in BAD.items():
            for sentence in sentences:
                with self.subTest(sentence):
                    self.assertEqual(rules_in("cpp", f"// {sentence}\n"), [rule])

    def test_good_sentences_have_no_finding(self):
        for sentence in GOOD:
            for ending, text in (("hpp", f"// {sentence}\n"), ("md", sentence + "\n"), ("cpp", json.dumps(sentence))):
                with self.subTest(sentence, ending=ending):
                    self.assertEqual([rule for rule in rules_in(ending, text) if rule != "width"], [])


class Files(unittest.TestCase):
    def found(self, ending, text):
        return [(finding.line, finding.phrase) for finding in prose.findings_of(f"name.{ending}", text)]

    def test_phrases_are_found_across_the_lines_of_a_comment(self):
        self.assertEqual(self.found("cpp", "int x;\n// Each row has\n// a number\n// an input.\nint y;\n"), [(3, "a number an input")])
        self.assertEqual(self.found("cpp", "int x;  // a number\nint y;  // an input\n"), [])

    def test_code_is_no_prose(self):
        self.assertEqual(self.found("cpp", "bool told = is_told(so_many);\nauto tells = 1'000;  // isn't it\n"), [])
        self.assertEqual(self.found("md", "`a number a row`\n\n```cpp\n// a number a row\n```\n"), [])
        self.assertEqual(self.found("sh", 'echo "is told"\n'), [])

    def test_literals_are_joined_and_read(self):
        self.assertEqual(self.found("cpp", 'f("give a number"\n  " a row");\n'), [(1, "a number a row")])
        self.assertEqual(self.found("cpp", 'f("a number", "a row");\n'), [])
        self.assertEqual(self.found("cpp", 'auto text = R"(first\nthe hook is told\n)";\n'), [(2, "told")])

    def test_names_of_tests_are_read_as_words(self):
        self.assertEqual(self.found("cpp", "TEST(Hook, AWatchedRecordingIsTold) {\n"), [(1, "told")])
        self.assertEqual(self.found("py", "def test_a_hook_is_told():\n"), [(1, "told")])

    def test_python_shell_cmake_scripts_and_notebooks(self):
        self.assertEqual(self.found("py", 'x = 1\n"""One.\n\nIt is told.\n"""\n'), [(4, "told")])
        self.assertEqual(self.found("py", "raise Error('is told')  # so many\n"), [(1, "told"), (1, "so many")])
        self.assertEqual(self.found("", "#!/usr/bin/env bash\nls  # it is told\n"), [(2, "told")])
        self.assertEqual(self.found("cmake", "# It is told.\n"), [(1, "told")])
        self.assertEqual(self.found("cmake", 'option(A "Run so many" ON)\n'), [(1, "so many")])
        self.assertEqual(self.found("ts", "// It is told.\nconst x = 'so many';\n"), [(1, "told"), (2, "so many")])
        self.assertEqual(self.found("svelte", "<!-- It is\n told. -->\n"), [(2, "told")])
        notebook = {"cells": [{"cell_type": "code", "source": ["so many"]}, {"cell_type": "markdown", "source": ["# A\n", "It is told."]}]}
        self.assertEqual(self.found("ipynb", json.dumps(notebook, indent=1)), [(13, "told")])

    def test_markdown_paragraphs_lists_and_tables(self):
        self.assertEqual(self.found("md", "# What is told\n\nEach row has a\nnumber an input.\n"), [(3, "a number an input")])
        self.assertEqual(self.found("md", "- has a number\n- an input\n"), [])
        self.assertEqual(self.found("md", "| a number | an input |\n|---|---|\n| is told | x |\n"), [(3, "told")])

    def test_long_lines_of_markdown(self):
        words = "word " * 20 + "x"  # 101 characters
        self.assertEqual(rules_in("md", words + "\n"), ["width"])
        self.assertEqual(rules_in("md", "- " + words + "\n"), ["width"])
        self.assertEqual(rules_in("md", words[:100] + "\n"), [])
        for allowed in (f"| {words} |", f"```\n{words}\n```", f"![{words}](a.svg)", "https://" + "x" * 100, "- " + "x" * 120):
            with self.subTest(allowed):
                self.assertEqual(rules_in("md", allowed + "\n"), [])


class Exceptions(unittest.TestCase):
    def test_lines_are_read_and_a_bad_one_is_refused(self):
        text = '# comment\n\nexempt web/: later\nallow README.md: "is told": a quotation: of a poem\n'
        self.assertEqual(prose.read_exceptions(text), (["web/"], [("README.md", "is told")]))
        with self.assertRaisesRegex(SystemExit, "got line 1: exempt web/"):
            prose.read_exceptions("exempt web/\n")

    def test_an_allowed_phrase_is_allowed_in_its_file_only(self):
        finding, = prose.findings_of("README.md", "The hook is told.\n")
        self.assertTrue(prose.is_allowed(finding, [("README.md", "hook is told")]))
        self.assertFalse(prose.is_allowed(finding, [("SECURITY.md", "hook is told")]))
        self.assertFalse(prose.is_allowed(finding, [("README.md", "hook was told")]))


if __name__ == "__main__":
    unittest.main()
