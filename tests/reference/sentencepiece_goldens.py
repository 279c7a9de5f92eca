"""Golden files for SentencePiece's BPE: models trained here, and what `sentencepiece` and llama.cpp make of lines.
usage: sentencepiece_goldens.py OUT_DIR
(needs sentencepiece 0.2.3, protobuf 7.36, xllamacpp 2026.10, gguf 0.19, tokenizers 0.23, jinja2 3.1)

NAME.model           a `tokenizer.model`
sentencepiece.json   the lines; for each model the ids by `sentencepiece` and the text it makes of them, and the same by
                     llama.cpp from a GGUF file with the model's pieces, which stand there, too; control tokens read as such
                     and as text
The models: with a space before a text and bytes for what has no piece; without and with symbols that a user defined; with
characters mapped (nmt_nfkc) and no bytes; with letters made small, too (nmt_nfkc_cf); with pieces that are not used."""
import json, os, random, sys, tempfile
import sentencepiece
from sentencepiece import sentencepiece_model_pb2
import llama_cpp, text_goldens

DEFINED = ["<tool>", "\u2581\u2581", "\u2581\u2581\u2581\u2581", "\n\n", "<start>", "ab\u2581c", "é<"]
COMMON = dict(model_type="bpe", vocab_size=700, character_coverage=0.999, num_threads=1, minloglevel=2,
              hard_vocab_limit=False)
PLAIN = dict(normalization_rule_name="identity", remove_extra_whitespaces=False, byte_fallback=True)
MODELS = {
    "prefix": dict(PLAIN, add_dummy_prefix=True, allow_whitespace_only_pieces=True),
    "defined": dict(PLAIN, add_dummy_prefix=False, user_defined_symbols=DEFINED, split_digits=True,
                    control_symbols=["<turn>", "<|end|>"]),
    "mapped": dict(add_dummy_prefix=True, user_defined_symbols=DEFINED[:1] + DEFINED[5:], character_coverage=0.98),
    "small": dict(normalization_rule_name="nmt_nfkc_cf", add_dummy_prefix=False, byte_fallback=True),
}
LINES = ["  two  spaces ", "<tool>x", "x<tool>  y", " <tool>", "ab c", "aab cc", "<turn>hi<|end|> there", "<s>a</s>", "<unk>",
         "<0x0A>", "\u2581", "a\u2581\u2581b", "\n\n\n", "é<start>", "<<start>>", "\ufb01 \u2460 \uff21\uff22 \u00bd", "I\u0307 İ ẞ", "\u00ad\u200b"]


def train(name, folder):
    prefix = os.path.join(folder, name)
    texts = list(text_goldens.training_text(random.Random(24)))
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(texts), model_prefix=prefix, **{**COMMON, **MODELS[name]})
    os.remove(prefix + ".vocab")
    proto = sentencepiece_model_pb2.ModelProto()
    proto.ParseFromString(open(prefix + ".model", "rb").read())
    return proto


def unused(proto):
    """Every fifth piece that merging makes is only a step to others."""
    proto = sentencepiece_model_pb2.ModelProto.FromString(proto.SerializeToString())
    made = [p for p in proto.pieces if p.type == 1 and len(p.piece) > 1]
    for piece in made[::5]:
        piece.type = 5
    return proto


def write_gguf(path, proto):
    pieces = proto.pieces
    llama_cpp.write_vocabulary(path, "llama", [p.piece for p in pieces], [p.type for p in pieces], scores=[p.score for p in pieces],
                               keys=dict(bos_token_id=1, eos_token_id=2, unknown_token_id=0,
                                         add_space_prefix=proto.normalizer_spec.add_dummy_prefix))


def main(out):
    lines = LINES + text_goldens.lines(random.Random(25), 160)
    golden = {"lines": lines, "models": {}}
    lib = llama_cpp.library()
    protos = {name: train(name, out) for name in MODELS}
    protos["unused"] = unused(protos["prefix"])
    for name, proto in protos.items():
        path = os.path.join(out, name + ".model")
        open(path, "wb").write(proto.SerializeToString())
        model = sentencepiece.SentencePieceProcessor(model_file=path)
        ids = [model.encode(line) for line in lines]
        golden["models"][name] = entry = {"ids": ids, "texts": [model.decode(x) for x in ids]}
        # Without bytes llama.cpp ends at a character that has no piece.
        if proto.trainer_spec.byte_fallback:
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "vocabulary.gguf")
                write_gguf(path, proto)
                v = llama_cpp.Vocabulary(lib, path)
                entry["llama"] = {kind: [v.encode(line, kind == "special") for line in lines] for kind in ["text", "special"]}
                entry["tokens"], entry["token_type"] = [p.piece for p in proto.pieces], [p.type for p in proto.pieces]
                entry["scores"] = [p.score for p in proto.pieces]
                entry["add_space_prefix"] = proto.normalizer_spec.add_dummy_prefix
                entry["llama_texts"] = [v.decode(x) for x in entry["llama"]["special"]]
    json.dump(golden, open(os.path.join(out, "sentencepiece.json"), "w"), ensure_ascii=False, separators=(",", ":"))


if __name__ == "__main__":
    main(sys.argv[1])
