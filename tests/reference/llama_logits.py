"""Golden logits of a GGUF file: numpy in f64 over weights that the public gguf package dequantizes (numpy_decoder.py says which).

usage: llama_logits.py MODEL.gguf PROMPTS.json OUT.safetensors
       llama_logits.py --compare MODEL.gguf GOLDENS.safetensors LOGITS.f32

Needs gguf, numpy, tokenizers and jinja2; vocabularies are byte-level. The first form continues each text of PROMPTS.json greedily
by 64 tokens and writes what a run must give that is fed with them (tests/data/smollm2). The second form makes all logits again and
compares every one with those that a run dumped: f32, little-endian, [prompts, 64, vocab], as `cargo run --example logits -- --dump`
writes them.

OUT.safetensors: `prompt` i32 [prompts, longest], right-padded with -1; `next` i32 [prompts, 64], the reference's greedy ids: those
at p follow the logits at p; `range` f32 [prompts, 64, 2], smallest and largest logit; `top_ids` i32 and `top` f32 [prompts, 64, 32],
the largest in falling order; `fixed_ids` i32 [64] and `fixed` f32 [prompts, 64, 64], logits of ids that are always the same.
"""
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


if __name__ == "__main__":
    if sys.argv[1] == "--compare":
        sys.exit(compare(*sys.argv[2:]))
    make(*sys.argv[1:])
