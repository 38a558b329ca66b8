"""A release train that does not agree with the history is refused."""

import copy

import inventory
import pytest
import release


@pytest.fixture
def train():
    """A correct train of the committed state."""
    commit = release.git("rev-parse", "HEAD")
    entries = [
        {
            "name": package.distribution,
            "version": package.version,
            "commit": commit,
            "wheel": "absent.whl",
            "sha256": "",
        }
        for package in inventory.read_packages()
    ]
    header = release.git("show", f"HEAD:{release.HEADER}")
    return {"abi": release.abi_version(header), "tested": [], "package": entries}


def test_a_correct_train_has_no_faults(train):
    assert release.faults(train) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda train: train["package"].pop(), "does not name: "),
        (lambda train: train["package"][0].update(commit="0" * 40), "is unknown"),
        (lambda train: train["package"][0].update(version="0.0.9"), "train says 0.0.9"),
        (lambda train: train["package"][0].update(version="1.0.0"), "but the train has 1.0.0"),
        (lambda train: train.update(abi=[0, 0]), "abi is"),
        (lambda train: train["package"][0].update(name="flambeau-shed"), "no such package"),
    ],
)
def test_each_fault_is_found(train, change, message):
    broken = copy.deepcopy(train)
    change(broken)
    assert message in "\n".join(release.faults(broken))


def test_a_changed_wheel_is_found(train, tmp_path, monkeypatch):
    (tmp_path / "a.whl").write_bytes(b"other")
    monkeypatch.setattr(release, "DIST", tmp_path)
    train["package"][0].update(wheel="a.whl", sha256="0")
    assert "another hash" in "\n".join(release.faults(train))


@pytest.mark.parametrize(
    ("kinds", "version"),
    [({"fix", "doc"}, "0.3.2"), ({"feature"}, "0.4.0"), ({"breaking", "fix"}, "0.4.0")],
)
def test_next_version(kinds, version):
    assert release.next_version("0.3.1", kinds) == version
