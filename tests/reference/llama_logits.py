"""Golden logits of a GGUF file: numpy in f64 over weights that the public gguf package dequantizes (numpy_decoder.py says which).

usage: llama_logits.py MODEL.gguf PROMPTS.json OUT.safetensors
       llama_logits.py --compare MODEL.gguf GOLDENS.safetensors LOGITS.f32
       llama_logits.py --llama MODEL.gguf TEXT [TOKENS]

Needs gguf, numpy, tokenizers and jinja2; vocabularies are byte-level. The first form continues each text of PROMPTS.json greedily
by 64 tokens and writes what a run must give that is fed with them (tests/data/smollm2). The second form makes all logits again and
compares every one with those that a run dumped: f32, little-endian, [prompts, 64, vocab], as `cargo run --example logits -- --dump`
writes them.

OUT.safetensors: `prompt` i32 [prompts, longest], right-padded with -1; `next` i32 [prompts, 64], the reference's greedy ids: those
at p follow the logits at p; `range` f32 [prompts, 64, 2], smallest and largest logit; `top_ids` i32 and `top` f32 [prompts, 64, 32],
the largest in falling order; `fixed_ids` i32 [64] and `fixed` f32 [prompts, 64, 64], logits of ids that are always the same.

The third form holds llama.cpp (xllamacpp 2026.10.11549) beside numpy: each product with a matrix that llama.cpp computes for the
first 48 tokens of a text, against numpy's with the same activations, exact and rounded as ggml rounds them; then the logits. It
showed why llama.cpp's logits of files of `pumice convert` are further than 2 % of their range from numpy's: ggml rounds activations to
8 bits. SmolLM2-135M-Instruct, shakespeare.txt, 2026-11-30; largest differences as shares of the range of a product, or of a
position's logits:

file                                    f16       q8_0      q4_k (180 of 211 matrices are q5_0)
211 products from exact ones            3.2e-4    1.5e-2    1.4e-2
211 products from rounded ones          3.4e-7    2.4e-7    3.7e-7
logits of llama.cpp from exact ones     0.19 %    3.57 %    8.98 %
logits of rounding numpy from exact     0.19 %    3.84 %    9.97 %
rounding numpy, embeddings 1e-7 off     0.09 %    4.60 %    7.87 %    from rounding numpy; the exact one moves by less than 0.01 %
the values as f32, llama.cpp's logits             0.08 %    0.08 %    from exact ones

So what llama.cpp multiplies is what the files say, and rounding alone sets its logits off. No other computation with rounded activations
comes nearer to them: one activation that falls to the other side moves all that follows. Where the same values stand as f32
(`pumice convert --quantize f32` of the file; bit for bit what the gguf package makes of it) nothing is rounded, and the logits agree.
"""
import ctypes
import json
import struct
import sys

import numpy as np

from numpy_decoder import Model, Text

STEPS, TOP, FIXED = 64, 32, 64
TOLERANCE = 1e-3  # of the range of a position's logits


def tokenizer(model):
    """The file's tokenizer as the package `tokenizers` runs it."""
    import text_goldens

    of = lambda key: model.fields["tokenizer.ggml." + key]
    return text_goldens.tokenizer(of("pre"), of("tokens"), of("token_type"), of("merges"), True)


def continued(model, prompts):
    """Logits [prompts, STEPS, vocab] after each prompt and each of the tokens that follow it greedily."""
    texts = [Text(model) for _ in prompts]
    steps = [[rows[-1] for rows in model.run(texts, prompts)]]
    for step in range(1, STEPS):
        last = [np.array([logits.argmax()]) for logits in steps[-1]]
        steps.append([rows[-1] for rows in model.run(texts, last)])
        print(f"\r{step + 1} of {STEPS} tokens", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return np.array(steps).transpose(1, 0, 2)


def write(path, tensors, about):
    """A safetensors file."""
    kinds = {np.dtype(np.int32): "I32", np.dtype(np.float32): "F32"}
    header, at = {"__metadata__": {"about": about}}, 0
    for name, a in tensors.items():
        header[name] = {"dtype": kinds[a.dtype], "shape": list(a.shape), "data_offsets": [at, at + a.nbytes]}
        at += a.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        for a in tensors.values():
            out.write(np.ascontiguousarray(a).tobytes())


def read(path):
    with open(path, "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        data = f.read()
    kinds = {"I32": np.int32, "F32": np.float32}
    of = lambda t: np.frombuffer(data[slice(*t["data_offsets"])], kinds[t["dtype"]]).reshape(t["shape"])
    return {name: of(t) for name, t in header.items() if name != "__metadata__"}


def make(path, prompts_path, out):
    model = Model(path)
    encode = tokenizer(model)
    with open(prompts_path, encoding="utf-8") as f:
        prompts = [np.array(encode.encode(text).ids) for text in json.load(f)]
    logits = continued(model, prompts)
    top_ids = np.argsort(-logits, axis=-1, kind="stable")[..., :TOP]
    fixed_ids = np.sort(np.random.default_rng(135).choice(logits.shape[-1], FIXED, replace=False))
    longest = max(map(len, prompts))
    tensors = {
        "prompt": np.array([np.pad(p, (0, longest - len(p)), constant_values=-1) for p in prompts], np.int32),
        "next": top_ids[..., 0].astype(np.int32),
        "range": np.stack([logits.min(-1), logits.max(-1)], -1).astype(np.float32),
        "top_ids": top_ids.astype(np.int32),
        "top": np.take_along_axis(logits, top_ids, -1).astype(np.float32),
        "fixed_ids": fixed_ids.astype(np.int32),
        "fixed": logits[..., fixed_ids].astype(np.float32),
    }
    write(out, tensors, "tests/reference/llama_logits.py says what the tensors are")
    gaps = (tensors["top"][..., 0] - tensors["top"][..., 1]) / (tensors["range"][..., 1] - tensors["range"][..., 0])
    print(f"{logits.shape[0]} prompts of {[len(p) for p in prompts]} tokens; closest pair of best logits {gaps.min():.1e} of the range")
    for ids in tensors["next"]:
        print(repr(encode.decode(ids.tolist(), skip_special_tokens=False)))


def compare(path, goldens_path, dump):
    model, golden = Model(path), read(goldens_path)
    vocab = len(model.table)
    got = np.fromfile(dump, "<f4").reshape(len(golden["next"]), STEPS, vocab)
    worst = 0.0
    for number, (prompt, follow) in enumerate(zip(golden["prompt"], golden["next"])):
        prompt = prompt[prompt >= 0]
        want = model.run([Text(model)], [np.concatenate([prompt, follow[:-1]])])[0][len(prompt) - 1 :]
        wide = want.max(-1) - want.min(-1)
        far = np.abs(got[number] - want).max(-1) / wide
        other = np.flatnonzero(got[number].argmax(-1) != want.argmax(-1))
        best = np.sort(want, -1)
        unlike = [p for p in other if best[p, -1] - best[p, -2] > TOLERANCE * wide[p]]
        worst = max(worst, far.max(), np.inf if unlike else 0)
        print(f"prompt {number}: {STEPS} x {vocab} logits, largest difference {far.max():.2e} of the range; "
              f"another token at {other.tolist()}{' WRONG' if unlike else ''}", flush=True)
    print(f"largest difference {worst:.2e} of the range, {TOLERANCE} is allowed")
    return 0 if worst <= TOLERANCE else 1


class Tensor(ctypes.Structure):
    """ggml_tensor."""


Tensor._fields_ = [
    ("type", ctypes.c_int32), ("buffer", ctypes.c_void_p), ("ne", ctypes.c_int64 * 4), ("nb", ctypes.c_size_t * 4),
    ("op", ctypes.c_int32), ("op_params", ctypes.c_int32 * 16), ("flags", ctypes.c_int32), ("src", ctypes.POINTER(Tensor) * 10),
    ("view_src", ctypes.c_void_p), ("view_offs", ctypes.c_size_t), ("data", ctypes.c_void_p), ("name", ctypes.c_char * 64)]
Seen = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.POINTER(Tensor), ctypes.c_bool, ctypes.c_void_p)
CB_EVAL = 88  # where llama_context_params has the function that sees what is computed


def rows(t):
    """The values of an f32 tensor that lies in one piece."""
    assert t.type == 0 and t.nb[0] == 4 and t.nb[1] == 4 * t.ne[0] and t.ne[2] == t.ne[3] == 1
    return np.ctypeslib.as_array(ctypes.cast(t.data, ctypes.POINTER(ctypes.c_float)), (t.ne[1], t.ne[0])).astype(np.float64)


class Products:
    """Of each matrix how far llama.cpp's product with it is from numpy's of the same activations, exact and rounded."""

    def __init__(self, model):
        self.model, self.far = model, {}
        self.seen = Seen(self.see)

    def see(self, tensor, is_question, _):
        t = tensor.contents
        name = t.src[0].contents.name.decode() if t.src[0] and t.src[1] else ""
        matrix = self.model.weights.get(name)
        is_product = matrix is not None and matrix.ndim == 2 and t.ne[0] == len(matrix) and t.src[1].contents.type == 0
        if is_product and not is_question:
            x, got, matrix = rows(t.src[1].contents), rows(t), matrix.astype(np.float64).T
            self.far[name] = [np.abs(x @ matrix - got).max() / np.ptp(got) for x in [x, self.model.rounded[name](x)]]
        return is_product or not is_question

    def __call__(self, params):
        place = ctypes.addressof(params) + CB_EVAL
        assert not ctypes.c_void_p.from_address(place).value, "another layout of llama_context_params"
        ctypes.memmove(place, ctypes.byref(self.seen), 8)


def beside_llama(path, text, tokens=48):
    import llama_cpp
    import perplexity

    model = Model(path, rounding=True)
    products = Products(model)
    llama = perplexity.Llama(llama_cpp.library(), path, 512, products)
    with open(text, newline="") as f:
        ids = np.array(llama.encode(f.read())[: int(tokens)])
    theirs = llama.logits(ids.tolist(), 0).astype(np.float64)
    far = np.array(list(products.far.values()))
    print(f"{len(far)} products: exact {far[:, 0].max():.1e}, median {np.median(far[:, 0]):.1e}; rounded {far[:, 1].max():.1e}")
    run = lambda: model.run([Text(model)], [ids])[0]
    apart = lambda a, b: "{:.2%}, median {:.2%}".format(*(f(np.abs(a - b).max(-1) / np.ptp(b, -1)) for f in [np.max, np.median]))
    rounded, table = run(), model.table
    model.table = table * (1 + 1e-7 * np.random.default_rng(0).standard_normal(table.shape))
    rounded_near = run()
    model.rounded = {}
    exact_near, model.table = run(), table
    exact = run()
    print("llama.cpp from exact", apart(theirs, exact), "| llama.cpp from rounded", apart(theirs, rounded))
    print("rounded from exact", apart(rounded, exact), "| with embeddings 1e-7 off: rounded", apart(rounded_near, rounded),
          "| exact", apart(exact_near, exact))
    return 0


if __name__ == "__main__":
    if sys.argv[1] == "--llama":
        sys.exit(beside_llama(*sys.argv[2:]))
    if sys.argv[1] == "--compare":
        sys.exit(compare(*sys.argv[2:]))
    make(*sys.argv[1:])
