"""Decoders of GGUF files in numpy, f64 over weights that the public gguf package dequantizes: Llama, Qwen 2 and 2.5, Gemma 3.

Written from the models' papers and GGUF's description of its keys and tensors, to compare other programs with; nothing is fast here.
In GGUF files Llama's rows of q and k are ordered so that neighbours turn as pairs, the others turn halves; Gemma's norms hold 1 + w.
Keys that would change a result and are not computed are refused. Needs numpy and gguf.

With `rounding` activations are rounded before each product with a matrix as ggml's code for x86 rounds them: by the matrix's encoding
to blocks of 8 bits (q8_0, q8_K) or to f16.
"""
import numpy as np
from gguf import GGMLQuantizationType as Type, GGUFReader, dequantize

HEAD_ROWS = 16384  # of the head that are made f64 at once


def silu(x):
    return x / (1 + np.exp(-x))


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x * x * x)))


def to_f16(x):
    return x.astype(np.float16).astype(np.float64)


def to_q8_0(x):
    """Blocks of 32: 127 steps to the largest, of a width that is an f16."""
    blocks = x.astype(np.float32).reshape(*x.shape[:-1], -1, 32)
    most = np.abs(blocks).max(-1, keepdims=True)
    steps = np.rint(blocks * np.divide(127, most, out=np.zeros_like(most), where=most > 0))
    return (steps * to_f16(most / np.float32(127))).reshape(x.shape)


def to_q8_k(x):
    """Blocks of 256: 127 steps to the one that is farthest from 0, which becomes -127; the other side ends at 127."""
    blocks = x.astype(np.float32).reshape(*x.shape[:-1], -1, 256)
    farthest = np.take_along_axis(blocks, np.abs(blocks).argmax(-1, keepdims=True), -1)
    steps_to_one = np.divide(-127, farthest, out=np.zeros_like(farthest), where=farthest != 0)
    step = np.divide(1, steps_to_one, out=np.zeros_like(farthest), where=farthest != 0)
    return (np.minimum(127, np.rint(blocks * steps_to_one)) * step.astype(np.float64)).reshape(x.shape)


# What ggml multiplies a matrix of an encoding with.
ROUNDED = {Type.F16: to_f16, Type.Q8_0: to_q8_0, Type.Q5_0: to_q8_0, Type.Q4_0: to_q8_0,
           Type.Q4_K: to_q8_k, Type.Q5_K: to_q8_k, Type.Q6_K: to_q8_k, Type.F32: lambda x: x}

# By general.architecture: whether halves turn instead of neighbours, the activation of the gate, and whether it is a Gemma: the embedding
# times the root of its width, and layers of two kinds (see `kind`). Biases and further norms are where the file has them.
FAMILIES = {"llama": (False, silu, False), "qwen2": (True, silu, False), "gemma3": (True, gelu_tanh, True)}

REFUSED = ["attn_logit_softcapping", "final_logit_softcapping", "attention.scale", "logit_scale", "embedding_scale", "residual_scale",
           "expert_count", "rope.scaling.attn_factor", "attention.causal"]


class Model:
    """The file's weights as f32, its metadata by key."""

    def __init__(self, path, rounding=False):
        reader = GGUFReader(path)
        self.rounded = {t.name: ROUNDED[t.tensor_type] for t in reader.tensors} if rounding else {}
        self.fields = {name: field.contents() for name, field in reader.fields.items()}
        self.family = self.fields["general.architecture"]
        self.halves, self.activation, self.is_gemma = FAMILIES[self.family]
        for key in REFUSED:
            assert not self.of(key), f"{self.family}.{key} is not computed"
        self.weights = {}
        for t in reader.tensors:
            shape = [int(n) for n in t.shape[::-1]]
            self.weights[t.name] = dequantize(t.data, t.tensor_type).astype(np.float32).reshape(shape)
        self.layers, self.heads, self.hidden = (self.of(k) for k in ["block_count", "attention.head_count", "embedding_length"])
        self.kv_heads = self.of("attention.head_count_kv", self.heads)
        self.width = self.of("attention.key_length", self.hidden // self.heads)
        assert self.of("attention.value_length", self.width) == self.width
        self.rotated = self.of("rope.dimension_count", self.width)
        self.eps = self.of("attention.layer_norm_rms_epsilon")
        self.table = self.weights["token_embd.weight"]
        self.head_name = "output.weight" if "output.weight" in self.weights else "token_embd.weight"
        self.head = self.weights[self.head_name]
        self.kinds = [self.kind(layer) for layer in range(self.layers)]

    def of(self, key, otherwise=None):
        return self.fields.get(f"{self.family}.{key}", otherwise)

    def kind(self, layer):
        """A layer's window, none where it sees all that was before, and the angles by which its pairs turn from one position to the next.

        Of Gemma 3's layers one of six sees everything; the others have rotary settings of their own, which are never scaled.
        """
        base, window = self.of("rope.freq_base", 10000.0), None
        local = self.is_gemma and (layer + 1) % self.of("attention.sliding_window_pattern", 6) != 0
        if local:
            base, window = self.of("rope.freq_base_swa", 10000.0), self.of("attention.sliding_window")
        rates = np.float64(base) ** -(np.arange(0, self.rotated, 2) / self.rotated)
        if not local:
            scaling = self.of("rope.scaling.type", "none")
            assert scaling in ["none", "linear"], f"rotary scaling {scaling} is not computed"
            rates = rates / (self.of("rope.scaling.factor", 1.0) if scaling == "linear" else 1.0)
            rates = rates / self.weights.get("rope_freqs.weight", np.float32(1)).astype(np.float64)
        return window, rates

    def weight(self, name):
        return self.weights[name].astype(np.float64)

    def norm(self, x, name):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + self.eps) * self.weight(name)

    def norm_if_any(self, x, name):
        return self.norm(x, name) if name in self.weights else x

    def product(self, x, name):
        """x times a matrix of the file, plus its bias where it has one."""
        y = self.rounded.get(name + ".weight", lambda x: x)(x) @ self.weight(name + ".weight").T
        return y + self.weight(name + ".bias") if name + ".bias" in self.weights else y

    def rotate(self, x, positions, rates):
        """x [rows, heads, width]; of what turns, neighbours or the two halves are pairs."""
        angles = positions[:, None, None] * rates
        c, s = np.cos(angles), np.sin(angles)
        n = self.rotated
        first, second = (slice(0, n // 2), slice(n // 2, n)) if self.halves else (slice(0, n, 2), slice(1, n, 2))
        y = x.copy()
        u, v = x[..., first], x[..., second]
        y[..., first], y[..., second] = u * c - v * s, u * s + v * c
        return y

    def attend(self, q, k, v, positions, window):
        """q [rows, heads, width] at these positions over k, v [keys, kv_heads, width] → [rows, heads · width].

        A window of w is a query's own key and the w - 1 before it.
        """
        group = self.heads // self.kv_heads
        k, v = np.repeat(k, group, axis=1), np.repeat(v, group, axis=1)
        scores = q.transpose(1, 0, 2) @ k.transpose(1, 2, 0) / np.sqrt(self.width)
        back = positions[:, None] - np.arange(len(k))
        hidden = back < 0 if window is None else (back < 0) | (back >= window)
        scores[:, hidden] = -np.inf
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        scores /= scores.sum(-1, keepdims=True)
        return (scores @ v.transpose(1, 0, 2)).transpose(1, 0, 2).reshape(len(q), -1)

    def attention(self, i, h, texts, cuts, positions):
        """What layer i's attention makes of normed rows; keys and values go into the texts."""
        window, rates = self.kinds[i]
        of_heads = lambda name, heads: self.product(h, f"blk.{i}.{name}").reshape(len(h), heads, -1)
        q, k, v = of_heads("attn_q", self.heads), of_heads("attn_k", self.kv_heads), of_heads("attn_v", self.kv_heads)
        q, k = self.norm_if_any(q, f"blk.{i}.attn_q_norm.weight"), self.norm_if_any(k, f"blk.{i}.attn_k_norm.weight")
        q, k = self.rotate(q, positions, rates), self.rotate(k, positions, rates)
        rows = []
        for text, cut in zip(texts, cuts):
            text.append(i, k[cut], v[cut])
            rows.append(self.attend(q[cut], text.keys[i], text.values[i], positions[cut], window))
        return self.product(np.concatenate(rows), f"blk.{i}.attn_output")

    def feed(self, i, h):
        gate, up = self.product(h, f"blk.{i}.ffn_gate"), self.product(h, f"blk.{i}.ffn_up")
        return self.product(self.activation(gate) * up, f"blk.{i}.ffn_down")

    def run(self, texts, pieces, first=0):
        """New tokens for several texts at once, one piece of ids each; the logits after each new token from a piece's `first` on."""
        ids = np.concatenate(pieces)
        ends = np.cumsum([len(p) for p in pieces])
        cuts = [slice(end - len(p), end) for p, end in zip(pieces, ends)]
        positions = np.concatenate([len(t) + np.arange(len(p)) for t, p in zip(texts, pieces)])
        x = self.table[ids].astype(np.float64)
        if self.is_gemma:
            x = x * np.sqrt(self.hidden)
        for i in range(self.layers):
            h = self.attention(i, self.norm(x, f"blk.{i}.attn_norm.weight"), texts, cuts, positions)
            x = x + self.norm_if_any(h, f"blk.{i}.post_attention_norm.weight")
            h = self.feed(i, self.norm(x, f"blk.{i}.ffn_norm.weight"))
            x = x + self.norm_if_any(h, f"blk.{i}.post_ffw_norm.weight")
        return [self.logits(x[cut][first:]) for cut in cuts]

    def logits(self, x):
        x = self.rounded.get(self.head_name, lambda x: x)(self.norm(x, "output_norm.weight"))
        y = np.empty((len(x), len(self.head)))
        for at in range(0, len(self.head), HEAD_ROWS):
            y[:, at : at + HEAD_ROWS] = x @ self.head[at : at + HEAD_ROWS].astype(np.float64).T
        return y


class Text:
    """Keys and values of the tokens so far."""

    def __init__(self, model):
        empty = np.zeros((0, model.kv_heads, model.width))
        self.keys, self.values = [empty] * model.layers, [empty] * model.layers

    def __len__(self):
        return len(self.keys[-1])

    def append(self, layer, k, v):
        self.keys[layer] = np.concatenate([self.keys[layer], k])
        self.values[layer] = np.concatenate([self.values[layer], v])
