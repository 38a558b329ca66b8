"""transformers: small networks of random weights, forwards, loss, gradients, words and training."""

from __future__ import annotations

import contextlib
import io
import tempfile
from functools import partial
from typing import Any

import torch
import transformers
from worker import fill, gradients, numbers

SMALL = {"vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
         "intermediate_size": 48}
VISION = {"image_size": 30, "patch_size": 6, "hidden_size": 32, "num_hidden_layers": 2,
          "num_attention_heads": 4, "intermediate_size": 48}


def ids(*shape: int, seed: int = 3) -> Any:
    return (100 * numbers(*shape, seed=seed).abs()).long() % 90 + 5


def bert() -> Any:
    return transformers.BertForMaskedLM(transformers.BertConfig(**SMALL))


def gpt2() -> Any:
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=99, n_positions=64, n_embd=32, n_layer=2, n_head=4, bos_token_id=1,
        eos_token_id=2))


def llama() -> Any:
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(
        **SMALL, num_key_value_heads=2, max_position_embeddings=64))


def mixtral() -> Any:
    return transformers.MixtralForCausalLM(transformers.MixtralConfig(
        **SMALL, num_key_value_heads=2, num_local_experts=4, num_experts_per_tok=2,
        max_position_embeddings=64))


def t5() -> Any:
    return transformers.T5ForConditionalGeneration(transformers.T5Config(
        vocab_size=99, d_model=32, d_kv=8, d_ff=37, num_layers=2, num_heads=4,
        decoder_start_token_id=0))


def vit() -> Any:
    return transformers.ViTForImageClassification(transformers.ViTConfig(**VISION, num_labels=5))


def clip() -> Any:
    text = {**SMALL, "max_position_embeddings": 32, "bos_token_id": 1, "eos_token_id": 2}
    return transformers.CLIPModel(transformers.CLIPConfig(
        text_config=text, vision_config=VISION, projection_dim=16))


def whisper() -> Any:
    return transformers.WhisperForConditionalGeneration(transformers.WhisperConfig(
        vocab_size=99, d_model=16, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=32, decoder_ffn_dim=32, num_mel_bins=8,
        max_source_positions=30, max_target_positions=30, pad_token_id=0, bos_token_id=1,
        eos_token_id=2, decoder_start_token_id=1, suppress_tokens=None,
        begin_suppress_tokens=None))


def inputs(name: str) -> dict[str, Any]:
    words = ids(2, 12)
    if name in ("vit",):
        return {"pixel_values": numbers(2, 3, 30, 30), "labels": torch.tensor([1, 4])}
    if name == "clip":
        return {"input_ids": words, "pixel_values": numbers(2, 3, 30, 30), "return_loss": True}
    if name == "whisper":
        return {"input_features": numbers(2, 8, 60), "labels": words[:, :6]}
    mask = torch.ones_like(words)
    mask[1, 9:] = 0
    return {"input_ids": words, "attention_mask": mask, "labels": words}


MODELS = {"bert": bert, "gpt2": gpt2, "llama": llama, "mixtral": mixtral, "t5": t5, "vit": vit,
          "clip": clip, "whisper": whisper}


def step(name: str) -> Any:
    """Loss, results and gradients."""
    model = fill(MODELS[name]()).eval()
    found = model(**inputs(name))
    found.loss.backward()
    scores = found.logits_per_image if name == "clip" else found.logits
    return found.loss, scores, gradients(model)


def written(name: str, **options: Any) -> Any:
    """The words that a network writes."""
    model = fill(MODELS[name]()).eval()
    torch.manual_seed(7)
    given = {"input_features": numbers(2, 8, 60)} if name == "whisper" else {
        "input_ids": ids(2, 6), "attention_mask": torch.ones(2, 6, dtype=torch.long)}
    return model.generate(**given, max_new_tokens=10, pad_token_id=0, **options)


def drawn(name: str) -> Any:
    """Initial weights, which depend on the seed."""
    torch.manual_seed(3)
    return {key: value.double().norm() for key, value in MODELS[name]().state_dict().items()}


def saved() -> Any:
    """Weights that are written and read again."""
    model = fill(llama()).eval()
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        again = transformers.LlamaForCausalLM.from_pretrained(folder).eval()
    words = ids(1, 7)
    return torch.equal(model(words).logits, again(words).logits), list(again.state_dict())


class Sentences(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 32

    def __getitem__(self, index: int) -> dict[str, Any]:
        words = ids(10, seed=index)
        return {"input_ids": words, "labels": words}


def trained() -> Any:
    """The losses of twenty steps of the library's own trainer."""
    model = fill(gpt2())
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        arguments = transformers.TrainingArguments(
            folder, max_steps=20, per_device_train_batch_size=4, logging_steps=1,
            learning_rate=1e-3, report_to=[], use_cpu=True, save_strategy="no",
            disable_tqdm=True, seed=5)
        trainer = transformers.Trainer(model=model, args=arguments, train_dataset=Sentences())
        trainer.train()
    return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]


CASES = {
    **{f"step {name}": partial(step, name) for name in MODELS},
    **{f"greedy {name}": partial(written, name, do_sample=False)
       for name in ("gpt2", "llama", "mixtral", "t5", "whisper")},
    **{f"sampled {name}": partial(written, name, do_sample=True, top_k=20, top_p=0.9)
       for name in ("gpt2", "llama", "t5")},
    **{f"beams {name}": partial(written, name, num_beams=3, do_sample=False)
       for name in ("gpt2", "llama", "t5")},
    **{f"drawn {name}": partial(drawn, name) for name in ("bert", "gpt2", "llama")},
    "saved": saved, "trained": trained,
}
