"""`python -m workbench`: the command line, where its script is not on PATH."""

from workbench.cli import main

main(prog_name="workbench")
