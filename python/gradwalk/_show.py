# SPDX-License-Identifier: MIT
"""show(): a graph in the lesson's walker, as one block of HTML with the engine in it; nothing is fetched.

The page is the lesson's own, built by tools/build-lesson before the package; docs/lesson.md tells how a graph is put into it.
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
    """A graph to be walked: at the end of a notebook's cell it is there; save() makes a file of it for any browser."""

    def __init__(self, page: str) -> None:
        self.page = page

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        Path(path).write_text(self.page, encoding="utf-8")

    def _repr_html_(self) -> str:
        """In a frame of its own, which makes itself as high as it needs."""
        return f'<iframe title="gradwalk" srcdoc="{html.escape(self.page)}" style="width: 100%; height: 30em; border: 0"></iframe>'


def show(root: Value, *, rule: str = "right", step: Optional[int] = None) -> Shown:
    """The graph in the lesson's walker: both passes step by step, leaves to be typed over, rules to be broken.

    rule and step say where the walk begins; rules are those of walk(), such as "overwrite".
    """
    if not _PAGE.exists():
        raise RuntimeError("show: needs the lesson's page, found none in the package; run tools/build-lesson in gradwalk's sources, then pip install . again")
    begin: Dict[str, Union[str, int]] = {"rule": rule}
    if step is not None:
        begin["step"] = step
    _core.walk(Value(0.0), rule=rule)  # that there is such a rule
    given = f'{{"graph": {_core._graph_json(root)}, {json.dumps(begin)[1:]}'
    return Shown(_PAGE.read_text(encoding="utf-8").replace(_PLACE, given.replace("<", "\\u003c")))
