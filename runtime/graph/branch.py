"""A router as it was declared: its path function, the map of its answers, and the schema that it reads."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple, get_args

from langchain_core.runnables.base import Runnable

from runtime._words import END
from runtime.graph.node import declared, literals, plain_name
from runtime.pregel.call import coerce_to_runnable

__all__ = ("BranchSpec", "branch_name")

UNNAMED = "condition"


class BranchSpec(NamedTuple):
    """A conditional edge: `path` answers where to go, `ends` maps its answers to nodes (None: they are names already).

    `input_schema` is set when the path function's first parameter is annotated with a schema of its own.
    """

    path: Runnable[Any, Any]
    ends: dict[Hashable, str] | None
    input_schema: Any = None

    @classmethod
    def of(cls, path: Any, name: str, path_map: Mapping[Hashable, str] | Sequence[str] | None) -> BranchSpec:
        """The branch of a path function; without a map, a `Literal` return annotation gives one."""
        said = declared(_function_in(path))
        ends = _ends(literals(said.answer)) or None if path_map is None else _ends(path_map)
        return cls(coerce_to_runnable(path, name=name), ends, said.schema)

    def targets(self, nodes: Sequence[str]) -> Sequence[str]:
        """Where the branch may lead: what is declared, or, when nothing is, any of `nodes` and END."""
        if self.ends is not None:
            return list(dict.fromkeys(self.ends.values()))
        hinted = _hinted(declared(_function_in(self.path)).answer)
        return [*nodes, END] if hinted is None else hinted


def branch_name(path: Any) -> str:
    """The name of a path function's branch: its own, or "condition" for what has none."""
    name = (isinstance(path, Runnable) and path.name) or getattr(_function_in(path), "__name__", None)
    return UNNAMED if not name or name == "<lambda>" else str(name)


def _function_in(path: Any) -> Any:
    """The function in a `RunnableLambda` and the like; the thing itself if there is none."""
    if not isinstance(path, Runnable):
        return path
    return getattr(path, "func", None) or getattr(path, "afunc", None) or path


def _ends(path_map: Mapping[Hashable, str] | Sequence[Any]) -> dict[Hashable, str]:
    if isinstance(path_map, Mapping):
        return {answer: plain_name(target) for answer, target in path_map.items()}
    return {answer: plain_name(answer) for answer in path_map}


def _hinted(answer: Any) -> list[str] | None:
    """The names in an annotation that holds nothing but literals, in lists and unions too; None for any other."""
    if answer is type(None):
        return []
    if values := literals(answer):
        return [plain_name(value) for value in values]
    parts = [_hinted(part) for part in get_args(answer) if part is not ...]
    if not parts or None in parts:
        return None
    return list(dict.fromkeys(name for part in parts if part for name in part))
