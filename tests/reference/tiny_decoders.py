"""Tiny language models of every family, by transformers, with their logits: folders that pumice reads.

    python tiny_decoders.py OUT [FAMILY ...]        (transformers 5.24.0, torch 2.15.0)

Each folder has config.json, model.safetensors (bf16, from a seed) and expected.safetensors: `ids` i32[64] and `logits`
f32[64, vocab], computed in f32, then the 64 likeliest tokens that follow one by one, `greedy` i32[64], and what they were
chosen by, `greedy_logits` f32[64, vocab]. Every model has what its family has: windows and original contexts below 32, a layer of
each kind, biases, softcaps, norms of queries and keys.
"""

import json
import sys
import zlib
from pathlib import Path

import torch
import transformers as t
from safetensors.torch import save_file

VOCAB, TOKENS = 288, 64
COMMON = dict(
    vocab_size=VOCAB, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
    num_key_value_heads=2, max_position_embeddings=128, bos_token_id=1, eos_token_id=2, pad_token_id=0,
)
LLAMA3 = dict(rope_type="llama3", rope_theta=10000.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
              original_max_position_embeddings=16)
YARN = dict(rope_type="yarn", rope_theta=10000.0, factor=4.0, original_max_position_embeddings=16, beta_fast=32.0,
            beta_slow=1.0, mscale=1.0, mscale_all_dim=1.0, llama_4_scaling_beta=0.1)
PLAIN = dict(rope_type="default", rope_theta=10000.0)
GEMMA3 = dict(sliding_window=16, num_hidden_layers=6, rope_parameters=dict(
    sliding_attention=PLAIN, full_attention=dict(rope_type="linear", factor=8.0, rope_theta=1000000.0)))


def longrope(half):
    return dict(rope_type="longrope", rope_theta=10000.0, original_max_position_embeddings=32,
                partial_rotary_factor=0.5, short_factor=[1.0 + 0.05 * i for i in range(half)],
                long_factor=[1.5 + 0.4 * i for i in range(half)])


# Name: configuration, what it changes, whether config.json is spelled as transformers 4 did.
FAMILIES = {
    "llama": (t.LlamaConfig, dict(head_dim=16, rope_parameters=PLAIN, tie_word_embeddings=False), False),
    "llama3": (t.LlamaConfig, dict(head_dim=32, rope_parameters=LLAMA3, tie_word_embeddings=True), True),
    "llama_bias": (t.LlamaConfig, dict(attention_bias=True, mlp_bias=True, rope_parameters=PLAIN), False),
    "mistral": (t.MistralConfig, dict(head_dim=16, sliding_window=24, rope_parameters=PLAIN), True),
    "ministral3": (t.Ministral3Config, dict(head_dim=16, rope_parameters=YARN), False),
    "qwen2": (t.Qwen2Config, dict(rope_parameters=PLAIN, use_sliding_window=True, sliding_window=20,
                                  max_window_layers=1), False),
    "qwen25": (t.Qwen2Config, dict(rope_parameters=PLAIN, tie_word_embeddings=True), True),
    "qwen3": (t.Qwen3Config, dict(head_dim=32, rope_parameters=PLAIN, tie_word_embeddings=True), True),
    "gemma2": (t.Gemma2Config, dict(head_dim=32, query_pre_attn_scalar=32, sliding_window=16,
                                    rope_parameters=PLAIN), False),
    "gemma3": (t.Gemma3TextConfig, dict(GEMMA3, head_dim=32, query_pre_attn_scalar=24), False),
    "gemma3_4b": (t.Gemma3TextConfig, dict(GEMMA3, head_dim=16, query_pre_attn_scalar=16, hidden_size=32,
                                           intermediate_size=48), False),
    "phi": (t.PhiConfig, dict(rope_parameters=dict(PLAIN, partial_rotary_factor=0.4), intermediate_size=256,
                              num_key_value_heads=4), True),
    "phi_norms": (t.PhiConfig, dict(rope_parameters=dict(PLAIN, partial_rotary_factor=0.5), qk_layernorm=True), False),
    "phi3": (t.Phi3Config, dict(rope_parameters=dict(PLAIN, partial_rotary_factor=1.0), sliding_window=24,
                                original_max_position_embeddings=128), True),
    "phi4": (t.Phi3Config, dict(rope_parameters=longrope(4), original_max_position_embeddings=32,
                                tie_word_embeddings=True), False),
    "smollm3": (t.SmolLM3Config, dict(num_hidden_layers=4, rope_parameters=PLAIN), False),
    "olmo2": (t.Olmo2Config, dict(rope_parameters=PLAIN), True),
    "granite": (t.GraniteConfig, dict(rope_parameters=PLAIN, embedding_multiplier=6.0, logits_scaling=4.0,
                                      residual_multiplier=0.22, attention_multiplier=0.1), False),
    "stablelm": (t.StableLmConfig, dict(rope_parameters=dict(PLAIN, partial_rotary_factor=0.25),
                                        use_qkv_bias=True), True),
    "stablelm12": (t.StableLmConfig, dict(rope_parameters=dict(PLAIN, partial_rotary_factor=0.25),
                                          qk_layernorm=True, use_parallel_residual=True), False),
    "glm4": (t.Glm4Config, dict(head_dim=16, rope_parameters=dict(PLAIN, partial_rotary_factor=0.5)), False),
    "cohere": (t.CohereConfig, dict(rope_parameters=PLAIN, logit_scale=0.0625, use_qk_norm=True), False),
    "starcoder2": (t.Starcoder2Config, dict(rope_parameters=PLAIN, sliding_window=None), False),
    "falcon3": (t.LlamaConfig, dict(head_dim=24, rope_parameters=dict(PLAIN, rope_theta=1000042.0)), False),
    "gpt2": (t.GPT2Config, dict(n_embd=64, n_layer=2, n_head=4, n_positions=128, n_ctx=128), False),
}


def configuration(name):
    kind, changes, _ = FAMILIES[name]
    if kind is t.GPT2Config:
        return kind(vocab_size=VOCAB, bos_token_id=1, eos_token_id=2, **changes)
    return kind(**{**COMMON, **changes})


def in_version_4(config):
    """Rotary settings as transformers 4 wrote them."""
    rope = config.pop("rope_parameters")
    config["rope_theta"] = rope.pop("rope_theta")
    if "partial_rotary_factor" in rope:
        config["partial_rotary_factor"] = rope.pop("partial_rotary_factor")
    kind = rope.pop("rope_type")
    config["rope_scaling"] = None if kind == "default" else dict(rope, rope_type=kind)
    config["torch_dtype"] = config.pop("dtype", "bfloat16")
    config["transformers_version"] = "4.46.0"
    return config


def likeliest(model, ids):
    """As many tokens after these, each the likeliest, and the logits before each."""
    chosen = []
    with torch.no_grad():
        for _ in range(TOKENS):
            chosen.append(model(ids).logits[0, -1].float())
            ids = torch.cat([ids, chosen[-1].argmax().view(1, 1)], dim=1)
    return ids[0, -TOKENS:].int(), torch.stack(chosen)


def make(out, name):
    torch.manual_seed(zlib.crc32(name.encode()))
    config = configuration(name)
    model = t.AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval()
    with torch.no_grad():
        for key, weight in model.named_parameters():
            # Norms are near 1 (or 0, where 1 is added), biases not 0, matrices keep what flows about as large.
            scale = 0.3 if weight.ndim == 1 else 1.6 / weight.shape[-1] ** 0.5
            weight.copy_((torch.randn_like(weight) * scale + (weight if weight.ndim == 1 else 0)).bfloat16())
    ids = torch.randint(3, VOCAB, (1, TOKENS))
    with torch.no_grad():
        logits = model(ids).logits[0].float()
    folder = out / name
    folder.mkdir(parents=True, exist_ok=True)
    written = {k: v.detach().bfloat16().contiguous() for k, v in model.state_dict().items()}
    if getattr(config, "tie_word_embeddings", False):
        written.pop("lm_head.weight", None)
    save_file(written, folder / "model.safetensors", metadata={"format": "pt"})
    greedy, greedy_logits = likeliest(model, ids)
    expected = {"ids": ids[0].int(), "logits": logits, "greedy": greedy, "greedy_logits": greedy_logits}
    save_file(expected, folder / "expected.safetensors")
    text = config.to_dict()
    text.update(architectures=[type(model).__name__], dtype="bfloat16")
    if FAMILIES[name][2]:
        text = in_version_4(text)
    (folder / "config.json").write_text(json.dumps(text, indent=1, sort_keys=True) + "\n")
    print(name, f"logits {logits.abs().max():.3f}, {logits.std():.3f}; {sum(v.numel() for v in written.values())} weights")


if __name__ == "__main__":
    for name in sys.argv[2:] or FAMILIES:
        make(Path(sys.argv[1]), name)
