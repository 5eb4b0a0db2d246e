"""The files around the code agree with each other and with what is installed."""

import ast
import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parent.parent
PACKAGES = ("runtime", "workbench", "widgets")
STANDARD = sys.stdlib_module_names | {"annotationlib"}  # that one came with Python 3.14
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
README = (ROOT / "README.md").read_text("utf-8")

# conda-forge's name for what PyPI calls otherwise, and what conda has that pip does not install.
CONDA_NAMES = {"graphviz": "python-graphviz", "xxhash": "python-xxhash"}
CONDA_ONLY = {"python", "graphviz", "pip"}


def requirements(*extras: str) -> dict[str, Requirement]:
    """What the project depends on, and what these extras add, by canonical name."""
    lines = [*PROJECT["dependencies"], *(line for extra in extras for line in PROJECT["optional-dependencies"][extra])]
    found = {canonicalize_name(one.name): one for one in map(Requirement, lines)}
    found.pop(canonicalize_name(PROJECT["name"]), None)
    return found


EVERYTHING = requirements(*PROJECT["optional-dependencies"])
TESTED = requirements(*(extra for extra in PROJECT["optional-dependencies"] if extra != "redis"))  # a large one


def conda() -> tuple[dict[str, SpecifierSet], list[str], list[str]]:
    """The conda packages with their ranges, the channels, and the pip section of environment.yml."""
    environment = yaml.safe_load((ROOT / "environment.yml").read_text("utf-8"))
    packages = [entry for entry in environment["dependencies"] if isinstance(entry, str)]
    (section,) = (entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict))
    ranges = {name: SpecifierSet(spec) for name, _, spec in (entry.partition(" ") for entry in packages)}
    return ranges, environment["channels"], section


def blocks(language: str) -> list[str]:
    """The README's fenced blocks in that language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


def test_conda_has_every_dependency_with_the_same_range() -> None:
    ranges, _, _ = conda()
    wanted = {CONDA_NAMES.get(name, name): one.specifier for name, one in requirements("sqlite", "notebooks").items()}
    wanted["nbval"] = EVERYTHING["nbval"].specifier
    assert {name: spec for name, spec in ranges.items() if name not in CONDA_ONLY} == wanted


def test_conda_takes_the_same_python_graphviz_itself_and_this_project() -> None:
    ranges, channels, pip = conda()
    assert ranges["python"] == SpecifierSet(PROJECT["requires-python"])
    assert set(ranges) >= CONDA_ONLY
    assert channels[0] == "conda-forge"
    assert pip == ["-e ."]


@pytest.mark.parametrize("name", sorted(TESTED))
def test_what_is_installed_lies_in_its_range(name: str) -> None:
    assert Version(importlib.metadata.version(name)) in EVERYTHING[name].specifier


def imported(package: str) -> Iterator[tuple[str, str]]:
    """Each module from outside that the package imports, with the file that does so."""
    for path in sorted((ROOT / package).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [node.module]
            for name in {name.partition(".")[0] for name in names}:
                if name not in STANDARD and name not in PACKAGES:
                    yield name, str(path.relative_to(ROOT))


@pytest.mark.parametrize("package", PACKAGES)
def test_whatever_a_package_imports_is_declared(package: str) -> None:
    distributions = importlib.metadata.packages_distributions()
    declared = requirements(*(extra for extra in PROJECT["optional-dependencies"] if extra != "test"))
    undeclared = {
        (module, file)
        for module, file in imported(package)
        if declared.keys().isdisjoint(map(canonicalize_name, distributions.get(module, [module])))
    }
    assert not undeclared


def test_the_readme_program_runs_and_prints_what_the_readme_shows(tmp_path: Path) -> None:
    program, output = blocks("python")[0], blocks("text")[0]
    environment = {**os.environ, "PYTHONWARNINGS": "error", "PYTHONPATH": str(ROOT)}
    run = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (run.stderr, run.stdout) == ("", output)


def test_the_readme_picture_is_the_run_of_the_readme_program(tmp_path: Path) -> None:
    """All but places, which another Graphviz may choose otherwise: elements, words, classes, colours and the styles."""
    program = f"{blocks('python')[0]}\nrec.animation().save('refund.svg')\n"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, check=True)
    drawn, shown = (_without_places(file) for file in (tmp_path / "refund.svg", ROOT / "docs" / "refund.svg"))
    assert shown == drawn


def _without_places(file: Path) -> list[tuple[str, str, dict[str, str]]]:
    places = {"d", "points", "x", "y", "width", "height", "viewBox", "transform", "cx", "cy", "rx", "ry"}
    found = []
    for one in ElementTree.fromstring(file.read_text("utf-8")).iter():
        kept = {name: value for name, value in one.attrib.items() if name not in places}
        found.append((one.tag, (one.text or "").strip(), kept))
    return found


def test_the_readme_program_is_short() -> None:
    assert len([line for line in blocks("python")[0].splitlines() if line.strip()]) <= 20
    assert len(README.splitlines()) < 150


def test_the_readme_map_names_every_folder() -> None:
    named = re.findall(r"^\| `(\w+)/` \|", README, re.MULTILINE)
    there = [path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith(".")]
    assert sorted(named) == sorted({*there} - {"build", "dist"})


def test_what_the_readme_points_to_is_there() -> None:
    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", README)
    assert [target for target in targets if not (ROOT / target).exists()] == []


def test_continuous_integration_runs_the_readme_command_and_nothing_else() -> None:
    lines = (ROOT / ".ci" / "run").read_text("utf-8").splitlines()
    commands = [line for line in lines if line and not line.startswith(("#", "set ", "cd "))]
    assert commands == ["make test"]
    assert any("make test" in block for block in blocks("sh"))


def test_each_readme_command_is_a_target_of_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    named = set(re.findall(r"\bmake (\w+)", "\n".join(blocks("sh"))))
    assert named >= {"lab", "test"}
    assert named <= set(re.findall(r"^(\w+):", makefile, re.MULTILINE))


@pytest.mark.parametrize("path", sorted(ROOT.glob("notebooks/*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_opens_without_a_question_and_shows_pictures_without_a_kernel(path: Path) -> None:
    notebook = json.loads(path.read_text("utf-8"))
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", [])]
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"  # else JupyterLab asks which kernel
    assert "widgets" not in notebook["metadata"]
    live = "application/vnd.jupyter.widget-view+json"  # shown in place of the picture, as "model not found"
    assert not [output for output in outputs if live in output.get("data", {})]
