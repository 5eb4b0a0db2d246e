"""A workbench for graphs that run in supersteps: draw them, record their runs, explain, resume and fork.

Names are loaded when they are first asked for, so that `import workbench` and `%load_ext workbench` stay quick. In a
notebook, `%load_ext workbench` makes compiled graphs draw themselves and brings the magics.
"""

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.drawing import Drawing as Drawing
    from workbench.drawing import draw as draw
    from workbench.lint import lint as lint
    from workbench.recorder import arecord as arecord
    from workbench.recorder import record as record
    from workbench.recorder import recording as recording
    from workbench.recording import Recording as Recording

_HOMES = {
    "Drawing": "drawing",
    "Recording": "recording",
    "arecord": "recorder",
    "draw": "drawing",
    "lint": "lint",
    "load_ipython_extension": "magics",
    "record": "recorder",
    "recording": "recorder",
    "unload_ipython_extension": "magics",
}

__all__ = ["Drawing", "Recording", "arecord", "draw", "lint", "record", "recording"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"workbench has no {name!r}. It offers {', '.join(__all__)}.")
    return getattr(importlib.import_module(f"workbench.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})


class _Package(ModuleType):
    """Keeps a public name for what is public: importing the submodule `recording` must not hide the function."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
