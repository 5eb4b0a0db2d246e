"""The type variables of a graph: its state, its context, what goes in and what comes out."""

from __future__ import annotations

from typing import Any

from typing_extensions import TypeVar

__all__ = ("ContextT", "InputT", "OutputT", "StateT", "StateT_co", "StateT_contra")

StateT = TypeVar("StateT", bound=Any)
StateT_co = TypeVar("StateT_co", bound=Any, covariant=True)
StateT_contra = TypeVar("StateT_contra", bound=Any, contravariant=True)
ContextT = TypeVar("ContextT", bound=Any, default=None)
InputT = TypeVar("InputT", bound=Any, default=StateT)
OutputT = TypeVar("OutputT", bound=Any, default=StateT)
