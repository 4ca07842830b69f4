# SPDX-License-Identifier: MIT
"""The notebooks run from start to finish in a kernel of this interpreter. Rendered, they show graphs and a working walker."""

import functools
import http.server
import json
import pathlib
import queue
import shutil
import subprocess
import sys
import threading

import pytest

import gradwalk

nbclient = pytest.importorskip("nbclient")
nbconvert = pytest.importorskip("nbconvert")
import nbformat  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "python/notebooks").glob("*.ipynb"))
CHROMIUM = shutil.which("chromium")
needs_page = pytest.mark.skipif(not gradwalk._show._PAGE.exists(), reason="needs the lesson's page; run tools/build-lesson, then build the wheel")
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    """Installs a kernel that runs this interpreter, and returns its name. The system's kernel would not find this gradwalk."""
    folder = tmp_path_factory.mktemp("jupyter")
    (folder / "kernels/gradwalk").mkdir(parents=True)
    start = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (folder / "kernels/gradwalk/kernel.json").write_text(json.dumps({"argv": start, "display_name": "gradwalk", "language": "python"}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_PATH", str(folder))
        patch.setenv("IPYTHONDIR", str(folder / "ipython"))
        patch.setenv("MPLCONFIGDIR", str(folder / "matplotlib"))
        yield "gradwalk"


@functools.lru_cache(maxsize=None)
def executed(path, kernel):
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(notebook, kernel_name=kernel, timeout=120, resources={"metadata": {"path": str(path.parent)}}).execute()
    return notebook


def outputs(notebook, kind):
    return [output["data"][kind] for cell in notebook.cells for output in cell.get("outputs", []) if kind in output.get("data", {})]


def needs_the_page(path):
    return pytest.param(path, marks=needs_page if "gradwalk.show(" in path.read_text() else [], id=path.stem)


@pytest.mark.parametrize("path", map(needs_the_page, NOTEBOOKS))
def test_a_notebook_runs(path, kernel):
    notebook = executed(path, kernel)
    assert all(cell.outputs for cell in notebook.cells[-1:] if cell.cell_type == "code")
    pictures = {"1": "image/svg+xml", "2": "image/png", "3": "text/plain", "4": "text/plain"}[path.stem[0]]
    assert outputs(notebook, pictures)


def test_there_are_four_notebooks_without_outputs():
    assert len(NOTEBOOKS) == 4
    for path in NOTEBOOKS:
        assert not any(cell.get("outputs") for cell in nbformat.read(path, as_version=4).cells), f"{path.name}: clear its outputs"


def posted_by_chromium(page, tmp_path):
    """Opens the page in Chromium, and returns the JSON that the page posts to /posted, however long the page takes."""
    posted = queue.Queue()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.answer(page if self.path == "/" else "")

        def do_POST(self):
            posted.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.answer("")

        def answer(self, text):
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update",
                 "--disable-sync", "--force-prefers-reduced-motion", "--remote-debugging-port=0", f"--user-data-dir={tmp_path / 'profile'}"]
        browser = subprocess.Popen([CHROMIUM, *flags, f"http://127.0.0.1:{server.server_port}/"], stderr=subprocess.DEVNULL)
        try:
            return posted.get(timeout=120)
        finally:
            browser.terminate()
            browser.wait(timeout=30)
            server.shutdown()


# Presses "step forward" in the frame until the button is disabled, then posts the text and the number of drawings.
STEPPER = """
<script>
let presses = 0
const timer = setInterval(() => {
  const page = document.querySelector('iframe[title=gradwalk]')?.contentDocument
  const button = [...(page?.querySelectorAll('#shown button') ?? [])].find((found) => /^step forward/.test(found.getAttribute('aria-label') ?? found.textContent.trim()))
  if (!button) return
  if (!button.disabled) { button.click(); ++presses; return }
  clearInterval(timer)
  // An SVG is part of the page in nbconvert 6, and an image in nbconvert 7.
  const inline = [...document.querySelectorAll('svg')].filter((drawing) => drawing.querySelector('.node'))
  const images = [...document.querySelectorAll('img[src^="data:image/svg+xml"]')].filter((image) => image.naturalWidth > 100)
  const drawings = inline.length + images.length
  fetch('/posted', {method: 'POST', body: JSON.stringify({presses, text: page.body.innerText, drawings})})
}, 50)
</script>
"""


def rendered(notebook):
    """Renders without the clean_html filter: that of Debian's nbconvert (6.5.3) removes the drawing from an SVG."""
    return nbconvert.HTMLExporter(template_name="classic", filters={"clean_html": lambda drawing: drawing}).from_notebook_node(notebook)[0]


@needs_page
@needs_browser
def test_show_steps_in_a_rendered_notebook(kernel, tmp_path):
    notebook = executed(NOTEBOOKS[0], kernel)
    seen = posted_by_chromium(rendered(notebook) + STEPPER, tmp_path)
    assert seen["drawings"] == len(outputs(notebook, "image/svg+xml")) == 3
    steps = len(gradwalk.walk((gradwalk.Value(2.0, label="a") * gradwalk.Value(-3.0, label="b") + 10).relu())["steps"])
    # The walk starts at its first step, and one press visits both leaves.
    assert seen["presses"] == steps - 2 and "Visit b, a." in seen["text"] and "∂relu(a·b + 10)/∂a = −3" in seen["text"]
