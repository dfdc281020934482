"""README keeps its word: what it names is there, and its two shell lines make the same environment."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def _named_in_the_tree():
    tree = README.split("## What is in the house")[1].split("```")[1]
    parents = []
    for line in tree.splitlines():
        indented = re.match(r"( *)(\S+)", line)
        if indented:
            depth = len(indented[1]) // 2
            parents[depth:] = [indented[2]]
            yield "".join(parents)


@pytest.mark.parametrize("path", list(_named_in_the_tree()))
def test_what_the_tree_names_is_there(path):
    assert (ROOT / path).exists()


def test_every_folder_of_the_package_is_in_the_tree():
    folders = {f"mlxcel_lab/{path.parent.name}/" for path in (ROOT / "mlxcel_lab").glob("*/__init__.py")}
    assert folders <= set(_named_in_the_tree())


def test_everything_in_data_is_in_the_tree_and_in_its_own_readme():
    there = {path.name + "/" * path.is_dir() for path in (ROOT / "data").iterdir()} - {"README.md"}
    told = (ROOT / "data" / "README.md").read_text(encoding="utf-8")
    assert {f"data/{name}" for name in there} <= set(_named_in_the_tree())
    published = {path.name for path in (ROOT / "data" / "published").iterdir()}
    assert [name for name in there | published if f"`{name}`" not in told] == []


def test_its_pictures_and_notebooks_are_there():
    pictures = re.findall(r"!\[[^\]]+\]\((\S+)\)", README)
    notebooks = [f"notebooks/{name}.ipynb" for name in re.findall(r"^\| `(\d\d_\w+)` \|", README, re.M)]
    assert pictures
    assert notebooks
    assert [path for path in (*pictures, *notebooks) if not (ROOT / path).is_file()] == []


def test_one_shell_line_sets_up_and_one_tests_in_the_same_environment():
    lines = re.findall(r"```sh\n(.+)\n```", README)
    assert len(lines) == 2
    opening, testing = (line.split(" && ") for line in lines)
    assert opening[:2] == testing[:2]
