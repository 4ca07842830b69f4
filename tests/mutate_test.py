#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Tests of the mutants that tools/mutate makes: which it finds in a rule and in a line, and the code that holds them.
usage: tests/mutate_test.py
"""

import importlib.machinery
import importlib.util
import unittest

from modules_test import ROOT

loader = importlib.machinery.SourceFileLoader("mutate", str(ROOT / "tools" / "mutate"))
mutate = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutate", loader))
loader.exec_module(mutate)

TABLE = """// rules
GRADWALK_UNARY (tanh, "tanh", true, tanh(x), 1 - r * r)
GRADWALK_BINARY(div,  "/",    y != 0, x / y,
       1 / y,         -r / y)
GRADWALK_UNARY (stop, "stop", true, x, 0)
"""


class Rules(unittest.TestCase):
    def mutations(self, rule, operands=1, is_domain=False):
        return {new for _, new in mutate.mutations_of_rule(rule, operands, is_domain)}

    def test_operators_terms_factors_constants_operands_and_functions(self):
        self.assertEqual(self.mutations("1 - r * r"),
                         {"1 + r * r", "1", "1 - r / r", "1 - r", "2 - r * r", "1 - x * r", "1 - r * x"})
        self.assertEqual(self.mutations("-sin(x)"), {"sin(x)", "-sin((-x))", "-cos(x)"})
        self.assertEqual(self.mutations("0.5 / r"), {"0.5 * r", "0.5", "(0.5 * 1.01) / r", "0.5 / x"})
        self.assertEqual(self.mutations("select(x < y, 1, 0)", 2),
                         {"select(x <= y, 1, 0)", "select(x < y, 2, 0)", "select(x < y, 1, 1)", "select(y < y, 1, 0)", "select(x < x, 1, 0)"})

    def test_domains_keep_their_operands(self):
        self.assertEqual(self.mutations("y != 0", 2, True), {"y == 0", "y != 1"})

    def test_a_dropped_term_ends_with_its_parenthesis(self):
        self.assertIn("1 / (1)", self.mutations("1 / (1 + exp(-x))"))

    def test_a_table_has_the_mutants_of_its_fields(self):
        mutants = mutate.rule_mutants(TABLE)
        self.assertEqual({(mutant.line, mutant.before) for mutant in mutants},
                         {(2, "tanh.value = tanh(x)"), (2, "tanh.dx = 1 - r * r"), (3, "div.domain = y != 0"), (3, "div.value = x / y"),
                          (4, "div.dx = 1 / y"), (4, "div.dy = -r / y"), (5, "stop.value = x")})

    def test_a_rule_becomes_a_choice(self):
        mutants = [mutant for mutant in mutate.rule_mutants(TABLE) if mutant.before.startswith("div.dx")][:2]
        self.assertIn("\n       (GW_IS(7) ? T(1 * y) : GW_IS(8) ? T(1) : T(1 / y)),", mutate.with_mutants(TABLE, zip((7, 8), mutants)))
        domain = [mutant for mutant in mutate.rule_mutants(TABLE) if "domain" in mutant.before][:1]
        self.assertIn('"/",    (GW_IS(7) ? (y == 0) : (y != 0)),', mutate.with_mutants(TABLE, zip((7,), domain)))


class Engine(unittest.TestCase):
    def kinds(self, text):
        return [mutant.kind for mutant in mutate.engine_mutants("file", text)]

    def code(self, text):
        """The text with all its mutants, numbered from 1."""
        return mutate.with_mutants(text, enumerate(mutate.engine_mutants("file", text), 1))

    def test_what_has_no_mutant(self):
        for text in ("constexpr int f() { return 1 + 2; }", "#define A(x) x < 1", "  const int x = f();", "  return x;", "  // a < b", "  Ref made;",
                     "  std::vector<int> list(3);", "template <class T> bool f(T a) { return a < 1; }", "constexpr bool f(int x) {\n  return x < 1;\n}"):
            with self.subTest(text):
                self.assertEqual(self.kinds(text), [])

    def test_lines_after_a_function_for_constants_have_mutants_again(self):
        self.assertEqual(self.kinds("constexpr int f() {\n  x = 1;\n}\nint g() {\n  x = 1;\n}"), ["removed statement"])

    def test_a_condition_and_its_statement(self):
        self.assertEqual(self.kinds("  if (a < b) x = 1;"), ["comparison", "negated condition", "removed statement"])
        self.assertEqual(self.kinds("  if (a == b) return;"), ["comparison"])  # a negation would be the same
        self.assertEqual(self.code("  if (is(a)) f(b);"), "  if (GW_IS(1) != static_cast<bool>(is(a))) GW_IS(2) ? (void)0 : (void)(f(b));")

    def test_arithmetic_and_constants(self):
        self.assertEqual(self.code("  return x + 4;"), "  return x + gradwalk_mutant::Plus{1} + (4 + GW_IS(2));")
        self.assertEqual(self.code("  return x < y;"), "  return x < gradwalk_mutant::Lt{1} > y;")

    def test_statements(self):
        self.assertEqual(self.code("  tape.top = ref;  // why"), "  GW_IS(1) ? (void)0 : (void)(tape.top = ref);  // why")
        self.assertEqual(self.kinds("  ++count;\n  list.push_back(x);\n  node->head |= mark;"), ["removed statement"] * 3)


if __name__ == "__main__":
    unittest.main()
