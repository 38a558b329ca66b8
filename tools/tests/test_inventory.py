"""What the tools read from the packages' metadata."""

import inventory
import pytest


def write_package(root, name, *needs):
    folder = root / name
    folder.mkdir()
    dependencies = ", ".join(f'"flambeau-{need}>=0.1,<1"' for need in needs)
    (folder / "pyproject.toml").write_text(
        f'[build-system]\nrequires = []\n[project]\nname = "flambeau-{name}"\nversion = "0.1.0"\n'
        f'dependencies = ["numpy>=1.26", {dependencies}]\n'
    )


@pytest.fixture
def chain(tmp_path):
    """c needs b, b needs a; d stands alone."""
    write_package(tmp_path, "c", "b")
    write_package(tmp_path, "b", "a")
    write_package(tmp_path, "a")
    write_package(tmp_path, "d")
    return inventory.read_packages(tmp_path)


def names(packages):
    return [package.name for package in packages]


def test_dependencies_come_first(chain):
    assert names(chain).index("a") < names(chain).index("b") < names(chain).index("c")


def test_closure(chain):
    last = next(package for package in chain if package.name == "c")
    assert names(inventory.closure(last, chain)) == ["a", "b", "c"]


def test_dependency_closed_sets(chain):
    found = {frozenset(names(chosen)) for chosen in inventory.dependency_closed_sets(chain)}
    expected = ["a", "d", "ab", "ad", "abc", "abd", "abcd"]
    assert found == {frozenset(word) for word in expected}


def test_a_circle_is_named(tmp_path):
    write_package(tmp_path, "a", "b")
    write_package(tmp_path, "b", "a")
    with pytest.raises(ValueError, match="circle: a, b"):
        inventory.read_packages(tmp_path)


def test_a_missing_wheel_says_what_to_run(chain, tmp_path):
    with pytest.raises(FileNotFoundError, match="nox -s build"):
        chain[0].wheel(tmp_path)


def test_the_house_has_six_packages():
    packages = inventory.read_packages()
    assert sorted(names(packages)) == [
        "autograd", "cuda-backend", "jit", "nn", "optim", "tensor-core",
    ]
    assert names(packages)[0] == "tensor-core"


def test_a_fingerprint_follows_the_sources(monkeypatch, tmp_path):
    write_package(tmp_path, "a")
    monkeypatch.setattr(inventory, "ROOT", tmp_path)
    sources = [tmp_path / "a" / "pyproject.toml"]
    monkeypatch.setattr(inventory, "source_files", lambda folder: sources)
    package = inventory.read_package(tmp_path / "a")
    before = inventory.fingerprint(package, [package])
    assert inventory.fingerprint(package, [package]) == before
    sources[0].write_text(sources[0].read_text() + "# changed\n")
    assert inventory.fingerprint(package, [package]) != before
