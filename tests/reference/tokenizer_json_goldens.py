"""Golden files for `tokenizer.json`: small tokenizers in the forms in use, and what `tokenizers` makes of lines.
usage: tokenizer_json_goldens.py OUT_DIR    (needs tokenizers 0.23 and jinja2 3.1)

tokenizer_json.json  the lines; for each tokenizer its file's text; ids of the lines, nothing added, with control tokens
                     read as such and as text; what the post-processor adds to one; the texts of the ids
bytes                byte-level, a token before each text, control tokens that take spaces along (left, right, both)
first                byte fallback; Metaspace with a space before the whole alone
always               the same with a space before each piece of text
prepend              the same by normalizers, as older files have it; a token that stands for words alone; no bytes"""
import json, os, random, sys
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
import text_goldens

CONTROL = ["<unk>", "<s>", "</s>", "<|user|>", "<|end|>", "<|both|>"]
STRIPS = {"<|user|>": dict(rstrip=True), "<|end|>": dict(lstrip=True), "<|both|>": dict(lstrip=True, rstrip=True)}
LINES = ["<|user|>\n hi <|end|> <|both|> x", "a <|user|>  b", " <s> a</s>b ", "<|end|><|end|>  ", "the <tool> of", "atool b tool", "  a  b"]


def pieces(name):
    t = Tokenizer(models.BPE(byte_fallback=name != "prepend", unk_token="<unk>", fuse_unk=True))
    t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first" if name == "first" else "always", split=True)
    trainer = trainers.BpeTrainer(vocab_size=700, show_progress=False, limit_alphabet=90,
                                  special_tokens=CONTROL[:3] + [f"<0x{b:02X}>" for b in range(256) if name != "prepend"])
    t.train_from_iterator(text_goldens.training_text(random.Random(26)), trainer)
    # The bytes were special to the trainer alone.
    state = json.loads(t.to_str())
    state["added_tokens"] = []
    t = Tokenizer.from_str(json.dumps(state))
    t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first" if name == "first" else "always", split=False)
    t.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    if name == "always":
        t.decoder = decoders.Metaspace()
    if name == "prepend":
        t.pre_tokenizer = None
        t.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
        t.add_tokens([AddedToken("tool", single_word=True, normalized=False)])
    return t


def tokenizer(name):
    if name == "bytes":
        tokens, types, merges = text_goldens.train(random.Random(20))
        t = Tokenizer(models.BPE(vocab={x: i for i, x in enumerate(x for x, kind in zip(tokens, types) if kind == 1)},
                                 merges=[tuple(m.split(" ")) for m in merges], ignore_merges=True))
        t.pre_tokenizer, t.decoder = text_goldens.rules("llama-bpe"), decoders.ByteLevel()
        t.normalizer = normalizers.NFC()
    else:
        t = pieces(name)
    t.add_special_tokens([AddedToken(x, special=True, normalized=False, **STRIPS.get(x, {})) for x in CONTROL])
    t.add_tokens([AddedToken("<tool>", special=False, normalized=False)])
    if name != "first":
        t.post_processor = processors.TemplateProcessing(single="<s> $A" + (" </s>" if name == "always" else ""),
                                                         special_tokens=[(x, t.token_to_id(x)) for x in ["<s>", "</s>"]])
    return t


def main(out):
    lines = LINES + text_goldens.lines(random.Random(27), 140)
    golden = {"lines": lines, "tokenizers": {}}
    for name in ["bytes", "first", "always", "prepend"]:
        t = tokenizer(name)
        entry = golden["tokenizers"][name] = {"file": t.to_str(), "prompt": t.encode("the of").ids}
        entry["special"] = [t.encode(line, add_special_tokens=False).ids for line in lines]
        entry["texts"] = [t.decode(ids, skip_special_tokens=False) for ids in entry["special"]]
        t.encode_special_tokens = True
        entry["text"] = [t.encode(line, add_special_tokens=False).ids for line in lines]
    json.dump(golden, open(os.path.join(out, "tokenizer_json.json"), "w"), ensure_ascii=False, separators=(",", ":"))


if __name__ == "__main__":
    main(sys.argv[1])
