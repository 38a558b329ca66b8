"""The runtime without Python as WebAssembly: saved programs in Chromium."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from surroundings import TUTORIALS, browser, served

import flambeau
from flambeau import jit, nn

RUN = """
    const [name, inputs, done] = arguments;
    (async () => {
        const {default: open} = await import(new URL("flambeau.mjs", location));
        const {Program} = await import(new URL("runtime.js", location));
        window.runtime ??= await open();
        const bytes = await (await fetch(name)).arrayBuffer();
        const program = new Program(window.runtime, bytes);
        program.seed(0);
        const found = program.run(inputs.map(
            ({data, shape}) => ({data: Float32Array.from(data), shape})));
        return found.map(({data, shape}) => ({data: [...data], shape}));
    })().then(done, (error) => done(String(error)));
"""


class Recurrent(nn.Module):
    """Keeps a state from call to call, and draws."""

    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(5, 7)
        self.register_buffer("state", flambeau.zeros(1, 7))

    def forward(self, x):
        self.state.copy_(self.cell(x, self.state))
        return self.state + 0.0, flambeau.nn.functional.dropout(self.state, 0.5, training=True)


MODELS = {
    "digits": (lambda: nn.Sequential(
        nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(72, 10)), (2, 1, 8, 8)),
    "encoder": (lambda: nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), (2, 9, 32)),
    "recurrent": (Recurrent, (1, 5)),
    "products": (lambda: nn.Sequential(nn.Linear(300, 40), nn.GELU(), nn.Linear(40, 3),
                                       nn.Softmax(-1)), (20, 300)),
}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runtime")
    built = Path(os.environ["TESTED_WEB_RUNTIME"])
    for path in (built / "flambeau.wasm", built / "flambeau.mjs",
                 TUTORIALS / "browser" / "runtime.js"):
        shutil.copy(path, folder)
    (folder / "index.html").write_text("<!doctype html><link rel=icon href=data:,>")
    return folder


@pytest.fixture(scope="module")
def page(site, tmp_path_factory):
    with served(site) as address, browser(tmp_path_factory.mktemp("profile")) as driver:
        driver.get(address)
        yield driver


@pytest.mark.parametrize("name", MODELS)
def test_programs_compute_what_they_do_in_python(name, page, site):
    flambeau.manual_seed(0)
    make, shape = MODELS[name]
    model, x = make().eval(), flambeau.randn(*shape)
    with flambeau.no_grad():
        jit.trace(model, x, dynamic=False).save(site / f"{name}.program")
        flambeau.manual_seed(0)     # as the page does
        expected = jit.load(site / f"{name}.program")(x)
    given = [{"data": x.flatten().tolist(), "shape": list(shape)}]
    found = page.execute_async_script(RUN, f"{name}.program", given)
    assert not isinstance(found, str), found
    expected = expected if isinstance(expected, tuple) else (expected,)
    assert [each["shape"] for each in found] == [list(each.shape) for each in expected]
    for each, want in zip(found, expected, strict=True):
        np.testing.assert_allclose(each["data"], want.detach().numpy().ravel(), rtol=1e-4,
                                   atol=1e-5)


def test_what_is_no_program_is_an_error(page, site):
    (site / "bad.program").write_bytes(b"PK\3\4 nonsense")
    assert page.execute_async_script(RUN, "bad.program", []).startswith("Error: ")


def test_wrong_shapes_are_errors(page, site):
    jit.trace(nn.Linear(3, 2), flambeau.ones(4, 3)).save(site / "layer.program")
    given = [{"data": [1, 2, 3, 4], "shape": [1, 4]}]
    text = page.execute_async_script(RUN, "layer.program", given)
    assert text.startswith("Error: ") and "3" in text
