"""The version of the engine."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("pregel-workbench")
except PackageNotFoundError:  # run from a source tree that was never installed
    __version__ = ""
