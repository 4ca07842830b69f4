# SPDX-License-Identifier: MIT
"""show(): displays a graph in the lesson's walker, as one HTML page that contains the engine and needs no network.

tools/build-lesson builds the page, before the package is built. docs/lesson.md describes how a graph is put into it.
"""

import html
import json
import os
from pathlib import Path
from typing import Dict, Optional, Union

from . import _core
from ._core import Value

_PAGE = Path(__file__).with_name("show.html")
_PLACE = '"GRADWALK_GRAPH"'


class Shown:
    """A graph in the walker, as show() returns it. A notebook displays it at the end of a cell.

    >>> Shown("<!doctype html>").page  # the whole page as text
    '<!doctype html>'
    """

    def __init__(self, page: str) -> None:
        self.page = page

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Saves the page as an HTML file, for any browser.

        >>> import os, tempfile
        >>> show(Value(1.0) + 2).save(os.path.join(tempfile.mkdtemp(), "walk.html"))
        """
        Path(path).write_text(self.page, encoding="utf-8")

    def _repr_html_(self) -> str:
        """Puts the page into a frame, which sets its own height."""
        return f'<iframe title="gradwalk" srcdoc="{html.escape(self.page)}" style="width: 100%; height: 30em; border: 0"></iframe>'


def show(root: Value, *, rule: str = "right", step: Optional[int] = None) -> Shown:
    """Shows the graph in the lesson's walker: step through both passes, change the leaves, break a rule.

    rule is a rule of walk(), such as "overwrite". step is the step to start at.

    >>> shown = show(Value(1.0) + 2, step=3)
    >>> shown.page[:15]
    '<!doctype html>'
    """
    if not _PAGE.exists():
        raise RuntimeError("show: needs the lesson's page, found none in the package; run tools/build-lesson in gradwalk's sources, then pip install . again")
    begin: Dict[str, Union[str, int]] = {"rule": rule}
    if step is not None:
        begin["step"] = step
    _core.walk(Value(0.0), rule=rule)  # raises ValueError if there is no such rule
    given = f'{{"graph": {_core._graph_json(root)}, {json.dumps(begin)[1:]}'
    return Shown(_PAGE.read_text(encoding="utf-8").replace(_PLACE, given.replace("<", "\\u003c")))
