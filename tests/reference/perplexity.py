"""Perplexity of a text by other programs, in the way of llama.cpp's llama-perplexity, beside `pumice perplexity --json`.

usage: perplexity.py MODEL.gguf TEXT [--windows N] [--window 512] [--numpy] [--pumice PROGRAM] [--kv f32,f16]

Windows of 512 tokens (--window: of so many), each begun with the token that begins texts where the model wants one, of each the
second half scored. llama.cpp is the library in the wheel `xllamacpp` 2026.10.11549 with its own caches (f16); --numpy is f64 over
weights that gguf 0.19 dequantizes, for the families of numpy_decoder.py. --pumice compares ids of the whole text and both perplexities.
Needs numpy 2.3, gguf 0.19, xllamacpp.
"""
import argparse, ctypes as C, json, subprocess, sys

import numpy as np

import llama_cpp


class ContextParams(C.Structure):
    """The head of llama_context_params; what follows keeps its default."""

    _fields_ = [("n_ctx", C.c_uint32), ("n_batch", C.c_uint32), ("n_ubatch", C.c_uint32), ("rest", C.c_uint8 * 500)]


class Batch(C.Structure):
    _fields_ = [("n_tokens", C.c_int32), ("token", C.POINTER(C.c_int32)), ("embd", C.c_void_p), ("pos", C.POINTER(C.c_int32)),
                ("n_seq_id", C.POINTER(C.c_int32)), ("seq_id", C.POINTER(C.POINTER(C.c_int32))), ("logits", C.POINTER(C.c_int8))]


class Llama:
    """llama.cpp's logits."""

    def __init__(self, lib, path, window, change=lambda params: None):
        lib.llama_context_default_params.restype = ContextParams
        lib.llama_init_from_model.restype, lib.llama_init_from_model.argtypes = C.c_void_p, [C.c_void_p, ContextParams]
        lib.llama_batch_init.restype, lib.llama_batch_init.argtypes = Batch, [C.c_int32, C.c_int32, C.c_int32]
        lib.llama_decode.argtypes = [C.c_void_p, Batch]
        lib.llama_get_logits.restype, lib.llama_get_logits.argtypes = C.POINTER(C.c_float), [C.c_void_p]
        lib.llama_get_memory.restype, lib.llama_get_memory.argtypes = C.c_void_p, [C.c_void_p]
        lib.llama_memory_clear.argtypes = [C.c_void_p, C.c_bool]
        lib.llama_vocab_n_tokens.argtypes = [C.c_void_p]
        for name in ["llama_vocab_get_add_bos", "llama_vocab_bos"]:
            getattr(lib, name).argtypes = [C.c_void_p]
        lib.llama_vocab_get_add_bos.restype = C.c_bool
        self.lib, self.model = lib, lib.llama_model_load_from_file(path.encode(), lib.llama_model_default_params())
        assert self.model, path
        self.vocab = lib.llama_model_get_vocab(self.model)
        params = lib.llama_context_default_params()
        assert (params.n_batch, params.n_ubatch) == (2048, 512), "another layout of llama_context_params"
        params.n_ctx = params.n_batch = params.n_ubatch = window
        change(params)
        self.context = lib.llama_init_from_model(self.model, params)
        self.batch = lib.llama_batch_init(window, 0, 1)
        self.bos = lib.llama_vocab_bos(self.vocab) if lib.llama_vocab_get_add_bos(self.vocab) else None

    def encode(self, text):
        return llama_cpp.Vocabulary.encode(self, text, False, True)

    def logits(self, ids, first):
        """f32 [len(ids) - first, vocab]: those after each token from `first` on."""
        b, lib = self.batch, self.lib
        b.n_tokens = len(ids)
        for i, token in enumerate(ids):
            b.token[i], b.pos[i], b.n_seq_id[i], b.logits[i] = token, i, 1, i >= first
            b.seq_id[i][0] = 0
        lib.llama_memory_clear(lib.llama_get_memory(self.context), True)
        assert lib.llama_decode(self.context, b) == 0
        rows, width = len(ids) - first, lib.llama_vocab_n_tokens(self.vocab)
        return np.ctypeslib.as_array(lib.llama_get_logits(self.context), (rows, width)).copy()


class Numpy:
    def __init__(self, path):
        import numpy_decoder

        self.model, self.text = numpy_decoder.Model(path), numpy_decoder.Text

    def logits(self, ids, first):
        return self.model.run([self.text(self.model)], [np.array(ids)], first)[0]


def perplexity(engine, ids, bos, windows, size):
    """e to the mean of -ln p over the second halves."""
    sums, count, first = 0.0, 0, size // 2
    for w in range(windows):
        window = list(ids[w * size : (w + 1) * size])
        if bos is not None:
            window[0] = bos
        rows = engine.logits(window, first)[:-1].astype(np.float64)
        rows -= rows.max(-1, keepdims=True)
        targets = window[first + 1 :]
        surprise = np.log(np.exp(rows).sum(-1)) - rows[np.arange(len(targets)), targets]
        sums, count = sums + surprise.sum(), count + len(targets)
        print(f"[{w + 1}] {np.exp(sums / count):.4f}", end=" ", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return float(np.exp(sums / count)), count


def pumice(program, args, windows):
    def run(*words):
        out = subprocess.run([program, *words, "--model", args.model, "--file", args.text, "--json"], check=True, stdout=subprocess.PIPE)
        return json.loads(out.stdout)

    ids = run("tokenize", "--no-parse-special")["ids"]
    own = {kv: run("perplexity", "--kv", kv, "--chunks", str(windows), "--context", str(args.window)) for kv in args.kv.split(",")}
    return ids, own


def main():
    p = argparse.ArgumentParser()
    p.add_argument("model"), p.add_argument("text"), p.add_argument("--windows", type=int, default=10)
    p.add_argument("--window", type=int, default=512)
    p.add_argument("--numpy", action="store_true"), p.add_argument("--pumice"), p.add_argument("--kv", default="f32,f16")
    args = p.parse_args()
    llama = Llama(llama_cpp.library(), args.model, args.window)
    ids = llama.encode(open(args.text, newline="").read())
    windows = min(args.windows, len(ids) // args.window)
    told = {"model": args.model.rsplit("/")[-1], "ids": len(ids), "windows": windows, "window": args.window, "bos": llama.bos}
    told["llama.cpp"], told["tokens"] = perplexity(llama, ids, llama.bos, windows, args.window)
    if args.numpy:
        told["numpy"], _ = perplexity(Numpy(args.model), ids, llama.bos, windows, args.window)
    if args.pumice:
        own, found = pumice(args.pumice, args, windows)
        told["equal ids"] = own == ids
        for kv, report in found.items():
            assert (report["tokens"], report["text_tokens"]) == (told["tokens"], len(own)), report
            told[f"pumice {kv}"] = report["ppl"]
            for name in ["llama.cpp", "numpy"]:
                if name in told:
                    told[f"{kv} off {name}, %"] = 100 * (report["ppl"] / told[name] - 1)
    print(json.dumps(told))


if __name__ == "__main__":
    main()
