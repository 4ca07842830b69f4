# SPDX-License-Identifier: MIT
"""Adds the option --short, which ./test uses. It skips the cases that need PyTorch or the programs of the benchmarks."""

FILES = {
    "python/test_gradbench.py", "python/test_gpt.py", "python/test_graphs.py", "python/test_ops.py", "python/test_training.py",
    "python_package/test_random.py",
}  # fmt: skip


def pytest_addoption(parser):
    parser.addoption("--short", action="store_true", help="skip the cases that need PyTorch or the programs of the benchmarks")


def pytest_configure(config):
    config.addinivalue_line("markers", "torch: a case that needs PyTorch, in a file that does not")


def pytest_ignore_collect(collection_path, config):
    name = f"{collection_path.parent.name}/{collection_path.name}"
    return True if config.getoption("short") and name in FILES else None


def pytest_collection_modifyitems(config, items):
    if config.getoption("short"):
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("torch")])
        items[:] = [item for item in items if not item.get_closest_marker("torch")]
