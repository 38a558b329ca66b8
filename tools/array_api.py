"""The public test suite of the Python array API standard: where it comes from, how it is run.

The environment variable ``ARRAY_API_TESTS`` names a checkout of one's own, with its submodule;
without it the suite is fetched, at the commit below, into ``build/``.
"""

from __future__ import annotations

import os
from pathlib import Path

import nox
from inventory import ROOT

REPOSITORY = "https://github.com/data-apis/array-api-tests"
COMMIT = "55fcc60179efa2680ddd6cd926ddf17b83530e2b"
FAILURES = ROOT / "tools" / "array_api_failures.txt"

#: Operators promote by the standard's rule here; the namespace's functions always do.
MODULE = "exec('import flambeau; flambeau.set_promotion(\"array_api\"); xp = flambeau.array_api')"


def checkout(session: nox.Session) -> Path:
    """Return the folder of the suite, fetched if need be."""
    if own := os.environ.get("ARRAY_API_TESTS"):
        return Path(own)
    folder = ROOT / "build" / "array-api-tests"
    if not (folder / "array-api" / "spec").exists():
        folder.mkdir(parents=True, exist_ok=True)
        with session.chdir(folder):
            for words in (
                ("init", "-q"),
                ("fetch", "-q", "--depth", "1", REPOSITORY, COMMIT),
                ("checkout", "-q", "FETCH_HEAD"),
                ("submodule", "update", "-q", "--init", "--depth", "1"),
            ):
                session.run("git", *words, external=True)
    return folder


def run(session: nox.Session) -> None:
    """Run the suite; words after ``--`` go to pytest and come last."""
    folder = checkout(session)
    # Without a configuration of its own, pytest would take that of the project above it.
    configuration = Path(session.create_tmp()).resolve() / "pytest.ini"
    configuration.write_text("[pytest]\n")
    with session.chdir(folder):
        session.run(
            *("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "array_api_tests"),
            *("-c", str(configuration), "--rootdir", str(folder)),
            *("--max-examples", "100", "--disable-deadline", "--xfails-file", str(FAILURES)),
            *session.posargs,
            env={"ARRAY_API_TESTS_MODULE": MODULE},
        )
