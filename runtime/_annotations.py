"""What functions and classes declare. Since Python 3.14 an annotation is evaluated only when it is looked at.

So a name that is imported for type checkers alone, without quotes and without `from __future__ import annotations`, is
an error there first, and not where the function is defined.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from typing import Any

if sys.version_info >= (3, 14):
    import annotationlib


def signature(function: Callable[..., Any]) -> inspect.Signature:
    """The function's signature; where an annotation names what is not there, the annotations are their text."""
    try:
        return inspect.signature(function)
    except NameError:
        if sys.version_info >= (3, 14):
            return inspect.signature(function, annotation_format=annotationlib.Format.STRING)
        raise


def annotations_of(thing: Any) -> Mapping[str, Any]:
    """The annotations of a function's or class's own; their text where one of them names what is not there."""
    try:
        return inspect.get_annotations(thing)
    except NameError:
        if sys.version_info >= (3, 14):
            return annotationlib.get_annotations(thing, format=annotationlib.Format.STRING)
        raise
