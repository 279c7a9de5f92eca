"""All log probabilities of `pumice generate` beside numpy's in f64 (numpy_decoder.py), which is fed with the tokens that pumice took.

usage: generate_logits.py PROGRAM MODEL.gguf PROMPTS.json [-n 64] [--count N] [--kv f32] [--device D] [--text FILE --characters 3000]

Each text of PROMPTS.json is continued greedily; --text adds the beginning of a file, for prompts longer than a window. Logits are known
but for one number that is added to all of a position, so log probabilities are compared: largest difference of each position, over
the range of the reference's logits there. Where the reference's best token is another, the distance of its two is printed.
Exit code 1 where one is further off than --allowed (1e-3 of the range; caches in f16: 5e-3). Needs numpy and gguf.
"""
import argparse, json, re, subprocess, sys, tempfile

import numpy as np

from numpy_decoder import Model, Text

# One of a token's likeliest ones, with a text that may hold any character.
LIKELY = re.compile(rb'\{"id":(\d+),"text":"(?:[^"\\]|\\.)*",(?:"bytes":\[[\d,]*\],)?"log_prob":([^,}]+)\}')


def generated(args, prompt, vocab):
    """Ids of the prompt, ids that followed, and f32 [ids, vocab] log probabilities."""
    words = [args.program, "generate", "--model", args.model, "--prompt", prompt, "-n", str(args.n), "--greedy", "--kv", args.kv,
             "--logprobs", str(vocab), "--json", "--device", args.device]
    with tempfile.TemporaryFile() as out:
        subprocess.run(words, check=True, stdout=out, stderr=subprocess.DEVNULL)
        out.seek(0)
        line = out.read().strip().split(b"\n")[-1]
    # Millions of small objects: the likeliest tokens are cut out and read as plain numbers, without their texts.
    pairs = np.array([m.group(1, 2) for m in LIKELY.finditer(line)], dtype=np.float64).reshape(-1, vocab, 2)
    rows = np.full(pairs.shape[:2], np.nan, np.float32)
    np.put_along_axis(rows, pairs[..., 0].astype(int), pairs[..., 1], axis=1)
    report = json.loads(re.sub(rb"\[,*\]", b"[]", LIKELY.sub(b"", line)))
    assert len(rows) == len(report["ids"]) and not np.isnan(rows).any(), "a token has no log probability"
    return report["prompt_ids"], report["ids"], rows


def compared(model, prompt, ids, got):
    """Largest differences of positions over their ranges, and places where the reference's best token is another: distance over range."""
    want = model.run([Text(model)], [np.array(prompt + ids[:-1])], len(prompt) - 1)[0]
    wide = want.max(-1) - want.min(-1)
    top = want.max(-1, keepdims=True)
    want -= top + np.log(np.exp(want - top).sum(-1, keepdims=True))
    far = np.abs(got - want).max(-1) / wide
    rows = np.arange(len(ids))
    gaps = (want.max(-1) - want[rows, ids]) / wide
    return far, wide, {int(p): float(f"{gaps[p]:.1e}") for p in np.flatnonzero(want.argmax(-1) != ids)}


def main():
    p = argparse.ArgumentParser()
    p.add_argument("program"), p.add_argument("model"), p.add_argument("prompts"), p.add_argument("-n", type=int, default=64)
    p.add_argument("--count", type=int), p.add_argument("--kv", default="f32"), p.add_argument("--device", default="auto")
    p.add_argument("--text"), p.add_argument("--characters", type=int, default=3000), p.add_argument("--allowed", type=float)
    args = p.parse_args()
    allowed = args.allowed or {"f32": 1e-3, "f16": 5e-3}[args.kv]
    model, worst = Model(args.model), 0.0
    with open(args.prompts, encoding="utf-8") as f:
        prompts = json.load(f)[: args.count]
    if args.text:
        with open(args.text, newline="") as f:
            prompts.append(f.read()[: args.characters])
    for number, text in enumerate(prompts):
        prompt, ids, got = generated(args, text, len(model.head))
        far, wide, other = compared(model, prompt, ids, got)
        worst = max([worst, far.max(), *other.values()])
        print(f"prompt {number}: {len(prompt)} + {len(ids)} tokens of {got.shape[1]} logits, range {wide.min():.1f} to {wide.max():.1f}; "
              f"largest difference {far.max():.2e} of the range at {far.argmax()}, median {np.median(far):.2e}; other best at {other}", flush=True)
    print(f"largest difference {worst:.2e} of the range, {allowed} is allowed")
    return 0 if worst <= allowed else 1


if __name__ == "__main__":
    sys.exit(main())
