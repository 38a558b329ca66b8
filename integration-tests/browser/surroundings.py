"""A page that is built and served, and a browser without a screen that looks at it."""

import functools
import http.server
import importlib
import shutil
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

TUTORIALS = Path(__file__).parents[2] / "docs" / "tutorials"
#: No screen, no sandbox (tests run as root in containers), and nothing fetched in the background.
OPTIONS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
           "--disable-quic", "--no-first-run", "--disable-background-networking",
           "--disable-component-update", "--disable-sync")


def script(name, folder=TUTORIALS):
    """A script of the gallery, imported."""
    for each in (str(TUTORIALS), str(folder)):
        if each not in sys.path:
            sys.path.insert(0, each)
    return importlib.import_module(name)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        """Nobody reads it."""


@contextmanager
def served(folder):
    """Serve a folder on a free port; the address."""
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()
        thread.join()


@contextmanager
def browser(profile):
    """Chromium with a profile of its own."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or ""
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    for each in (*OPTIONS, f"--user-data-dir={profile}"):
        options.add_argument(each)
    driver = webdriver.Chrome(options, Service(shutil.which("chromedriver")))
    driver.set_script_timeout(60)
    try:
        yield driver
    finally:
        driver.quit()
