"""Golden file for tokens that a folder adds to a `tokenizer.model`: what transformers' slow tokenizer makes of texts.
usage: added_tokens_goldens.py DATA_DIR       (DATA_DIR: tests/data/text/sentencepiece; needs transformers 5.24, sentencepiece 0.2.3)

added.json   `tokenizer_config`: the file; `added_tokens`: another beside it; texts with the ids and the pieces of each, all
             added tokens read as such; the ids of the token that ends a text and of all added ones; how many tokens there are"""
import json, os, shutil, sys, tempfile
from transformers import AddedToken
from transformers.tokenization_utils_sentencepiece import SentencePieceBackend

CONFIG = {
    "add_bos_token": True, "add_eos_token": False, "bos_token": "<s>", "eos_token": "<|im_end|>", "unk_token": "<unk>",
    "added_tokens_decoder": {
        str(i): {"content": text, "lstrip": False, "normalized": False, "rstrip": rstrip, "single_word": False, "special": special}
        for i, text, rstrip, special in [
            (0, "<unk>", False, True), (1, "<s>", False, True), (2, "</s>", False, True), (700, "<|im_start|>", False, True),
            (701, "<|im_end|>", False, True), (702, "<tool_call>", False, False), (703, "<|end|>", True, True)]},
}
ADDED = {"<|im_start|>": 700, "<think>": 704, "</think>": 705}
TEXTS = ["the of", "<|im_start|>user\nthe of<|im_end|>\n<|im_start|>assistant\n", "a<tool_call>{}<tool_call>", "<s>the</s> of",
         "x<|end|>  \n y<|end|>", "<think> the </think>", " <think>", "<|im_start|><|im_start|>", "the<|im_en", "é<think>世"]


class Slow(SentencePieceBackend):
    vocab_files_names = {"vocab_file": "tokenizer.model"}
    model_input_names = ["input_ids"]


def tokenizer(folder):
    added = {int(i): AddedToken(**token) for i, token in CONFIG["added_tokens_decoder"].items()}
    added.update({i: AddedToken(text, normalized=False, special=False) for text, i in ADDED.items() if i not in added})
    special = {name: CONFIG[name] for name in ["bos_token", "eos_token", "unk_token"]}
    return Slow(vocab_file=os.path.join(folder, "tokenizer.model"), added_tokens_decoder=added, **special)


def main(out):
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(os.path.join(out, "prefix.model"), os.path.join(folder, "tokenizer.model"))
        t = tokenizer(folder)
        ids = [t.convert_tokens_to_ids(t.tokenize(text)) for text in TEXTS]
        names = [token["content"] for token in CONFIG["added_tokens_decoder"].values()] + list(ADDED)
        golden = dict(tokenizer_config=CONFIG, added_tokens=ADDED, texts=TEXTS, ids=ids, eos=t.eos_token_id, count=len(t),
                      tokens={name: t.convert_tokens_to_ids(name) for name in names},
                      pieces=[t.convert_ids_to_tokens(one) for one in ids])
    with open(os.path.join(out, "added.json"), "w", encoding="utf-8") as file:
        json.dump(golden, file, ensure_ascii=False, indent=1)
        file.write("\n")


main(sys.argv[1])
