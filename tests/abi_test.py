#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Tests of tools/abi on two small libraries: it finds removed functions and changed layouts, accepts new functions, and
accepts a break exactly when the newest version of a changelog lists it under "ABI".
usage: tests/abi_test.py
"""

import importlib.machinery
import importlib.util
import subprocess
import tempfile
import unittest
from pathlib import Path

from modules_test import ROOT

loader = importlib.machinery.SourceFileLoader("abi", str(ROOT / "tools" / "abi"))
abi = importlib.util.module_from_spec(importlib.util.spec_from_loader("abi", loader))
loader.exec_module(abi)

HEADER = """
namespace gradwalk {
namespace detail { struct Node { double data, grad; }; extern Node root; }
enum class Op { add, mul };
class Value { public: double data() const; Value& operator+=(double x); double& grad(); private: double data_ = 0, grad_ = 0; };
double f(const Value& x); double f(const detail::Node& x); bool g(Op op);
}
"""
SOURCE = """
#include "value.hpp"
#include <vector>
namespace gradwalk {
detail::Node detail::root;
double Value::data() const { return data_; }
Value& Value::operator+=(double x) { data_ += x; return *this; }
double& Value::grad() { return grad_; }
double f(const Value& x) { std::vector<double> v(3, x.data()); return v[0]; }
double f(const detail::Node& x) { return x.data; }
bool g(Op op) { return op == Op::add; }
}
"""


class Breaks(unittest.TestCase):
    def breaks(self, *changes):
        """Returns the findings after each (old, new) text was replaced in the header and the source."""
        header, source = HEADER, SOURCE
        for old, new in changes:
            self.assertIn(old, header + source)
            header, source = header.replace(old, new), source.replace(old, new)
        with tempfile.TemporaryDirectory() as folder:
            dumps = []
            for name, texts in (("old", (HEADER, SOURCE)), ("new", (header, source))):
                place = Path(folder) / name
                place.mkdir()
                (place / "value.hpp").write_text(texts[0])
                (place / "value.cpp").write_text(texts[1])
                subprocess.run(["c++", "-std=c++20", "-g", "-shared", "-fPIC", place / "value.cpp", "-o", place / "library.so"], check=True)
                abi.dump(place / "library.so", place / "library.abi", place)
                dumps.append(place / "library.abi")
            return abi.breaks_in(abi.report(*dumps))

    def test_the_same_library_has_none(self):
        self.assertEqual(self.breaks(), [])

    def test_a_removed_method_is_named(self):
        self.assertEqual(self.breaks((" double& grad();", ""), ("double& Value::grad() { return grad_; }", "")), ["Value::grad"])

    def test_a_removed_operator_and_a_removed_variable_are_named(self):
        self.assertEqual(self.breaks((" Value& operator+=(double x);", ""), ("Value& Value::operator+=(double x) { data_ += x; return *this; }", "")), ["Value::operator+="])
        self.assertEqual(self.breaks((" extern Node root;", ""), ("detail::Node detail::root;", "")), ["detail::root"])

    def test_a_changed_layout_is_named(self):
        self.assertEqual(self.breaks(("double data, grad;", "double data, grad, seed;")), ["detail::Node", "detail::root"])
        self.assertEqual(self.breaks(("double data, grad;", "double grad, data;")), ["detail::Node"])

    def test_a_new_number_of_an_enumerator_is_named(self):
        self.assertEqual(self.breaks(("add, mul", "sub, add, mul")), ["Op"])

    def test_changes_that_abidiff_filtered_out_are_none(self):
        report = """Leaf changes summary: 0 artifact changed
Changed leaf types summary: 0 leaf type changed
Removed/Changed/Added functions summary: 0 Removed, 0 Changed, 0 Added function (3 filtered out)
Removed/Changed/Added variables summary: 0 Removed, 0 Changed, 0 Added variable

"""
        self.assertEqual(abi.without_empty_summary(report), "")
        removed = report.replace("0 Removed", "1 Removed")
        self.assertEqual(abi.without_empty_summary(removed), removed)

    def test_a_new_function_is_none(self):
        self.assertEqual(self.breaks(("bool g(Op op);", "bool g(Op op); int h();"), ("bool g(Op op) {", "int h() { return 1; }\nbool g(Op op) {")), [])


class Changelog(unittest.TestCase):
    TEXT = "# Changelog\n\n## 0.3.0\n\n### Engine\n\n- `Op`.\n\n### ABI\n\n- `detail::Node` grew; `f()` is gone.\n\n### More\n\n- `g`.\n\n## 0.2.0\n\n### ABI\n\n- `h`.\n"

    def test_names_are_those_of_the_newest_version(self):
        self.assertEqual(abi.listed_names(self.TEXT), {"detail::Node", "f"})
        self.assertEqual(abi.listed_names("# Changelog\n\n## 0.3.0\n\n- `f`\n"), set())

    def test_a_class_stands_for_its_members_and_a_namespace_for_nothing(self):
        self.assertTrue(abi.is_listed("Value::grad", {"Value"}))
        self.assertTrue(abi.is_listed("Value::grad", {"Value::grad"}))
        self.assertFalse(abi.is_listed("Value", {"Value::grad"}))
        self.assertFalse(abi.is_listed("Values", {"Value"}))
        self.assertFalse(abi.is_listed("detail::Node", {"detail"}))


if __name__ == "__main__":
    unittest.main()
