"""The page that reads digits while they are drawn, in Chromium."""

import json

import numpy as np
import pytest
from selenium.webdriver.common.actions.action_builder import ActionBuilder
from selenium.webdriver.common.actions.pointer_input import PointerInput
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait
from surroundings import TUTORIALS, browser, script, served

import flambeau
from flambeau import jit


def arc(x, y, rx, ry, first, last, points=10):
    angles = np.radians(np.linspace(first, last, points))
    return [(x + rx * np.cos(a), y - ry * np.sin(a)) for a in angles]


#: Strokes by which people write each digit, in a square of 280.
STROKES = {
    0: [arc(140, 140, 60, 100, 90, 450, 16)],
    1: [[(100, 90), (150, 40), (150, 240)]],
    2: [[*arc(140, 95, 60, 55, 170, -30), (80, 240), (210, 240)]],
    3: [[*arc(130, 90, 60, 50, 150, -90), *arc(130, 190, 65, 50, 90, -150)]],
    4: [[(140, 40), (70, 170), (210, 170)], [(170, 110), (160, 250)]],
    5: [[(200, 40), (100, 40), (95, 125), *arc(130, 185, 70, 65, 120, -140)]],
    6: [[(170, 40), (110, 130), *arc(140, 190, 50, 50, 180, 540, 14)]],
    7: [[(80, 50), (210, 50), (130, 240)], [(100, 145), (200, 145)]],
    8: [[*arc(140, 90, 50, 50, -90, 270, 14), *arc(140, 195, 60, 55, 90, -270, 14)]],
    9: [[*arc(140, 95, 50, 50, 0, 360, 14), (190, 95), (180, 245)]],
}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder that is served: trained, saved, compiled."""
    folder = tmp_path_factory.mktemp("site")
    script("digits").main(["--out", str(folder / "results")])
    page = script("build", TUTORIALS / "browser")
    page.main([str(folder / "results" / "digits.program"), "--to", str(folder / "page")])
    return folder


@pytest.fixture(scope="module")
def page(site, tmp_path_factory):
    with served(site / "page") as address, browser(tmp_path_factory.mktemp("profile")) as driver:
        driver.get(address)
        wait(driver)
        yield driver


def wait(driver):
    WebDriverWait(driver, 60).until(lambda d: d.execute_script("return !!window.reading"))


def write(driver, strokes):
    """Draw with the mouse, as a visitor does; what was read after each stroke."""
    driver.find_element(By.ID, "clear").click()
    canvas = driver.find_element(By.ID, "drawing")
    left, top = (canvas.rect[key] + 1 for key in ("x", "y"))
    found = []
    for stroke in strokes:
        actions = ActionBuilder(driver, mouse=PointerInput("mouse", "mouse"), duration=1)
        pointer = actions.pointer_action
        for k, (x, y) in enumerate(stroke):
            pointer.move_to_location(round(left + x), round(top + y))
            if k == 0:
                pointer.pointer_down()
        pointer.pointer_up()
        actions.perform()
        found.append(driver.execute_script("return window.reading"))
    return found


def test_the_page_is_small(site):
    assert sum(path.stat().st_size for path in (site / "page").iterdir()) < 1_000_000


def test_reads_what_is_drawn_as_python_reads_it(page, site):
    program = jit.freeze(jit.load(site / "results" / "digits.program"))
    right = 0
    for digit, strokes in STROKES.items():
        for reading in write(page, strokes):
            image = flambeau.tensor(reading["pixels"]).reshape(1, 1, 8, 8)
            expected = program(image).numpy()[0]
            np.testing.assert_allclose(reading["scores"], expected, rtol=1e-4, atol=1e-4)
            assert reading["digit"] == expected.argmax()
            assert 0 < max(reading["pixels"]) <= 1
        assert page.find_element(By.ID, "digit").text == str(reading["digit"])
        print(digit, reading["digit"], reading["milliseconds"])
        right += reading["digit"] == digit
    assert right >= 8


def test_reads_held_out_digits_as_python_does(page, site):
    program = jit.freeze(jit.load(site / "results" / "digits.program"))
    images = script("helpers").load_digits()[1].images
    found = page.execute_async_script("""
        const [images, done] = arguments;
        import(new URL("network.js", location)).then(({load}) => load("digits")).then((network) =>
            done(images.map((image) => [...network(Float32Array.from(image))[0]])));
    """, images.reshape(len(images), 64).tolist())
    np.testing.assert_allclose(found, program(images).numpy(), rtol=1e-4, atol=1e-4)


def test_reading_changes_while_a_digit_is_drawn(page):
    """The 4's first stroke alone is read too, and clearing forgets all."""
    first, second = write(page, STROKES[4])
    assert first["scores"] != second["scores"]
    page.find_element(By.ID, "clear").click()
    assert page.execute_script("return window.reading.digit") is None
    assert page.find_element(By.ID, "digit").text == ""


def test_wrong_sizes_are_refused(page):
    text = page.execute_async_script("""
        const done = arguments[0];
        import(new URL("network.js", location)).then(({load}) => load("digits")).then((network) => {
            try { network(new Float32Array(63)); done("nothing"); }
            catch (error) { done(String(error)); }
        });
    """)
    assert text == "RangeError: input 0 has 63 numbers, not 64"


def test_nothing_is_wrong_in_the_console(page):
    entries = [each for each in page.get_log("browser") if each["level"] in ("SEVERE", "WARNING")]
    assert not entries, json.dumps(entries)
