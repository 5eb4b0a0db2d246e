"""Managed values that a state schema may declare."""

from __future__ import annotations

from runtime.managed.is_last_step import IsLastStep, RemainingSteps

__all__ = ("IsLastStep", "RemainingSteps")
