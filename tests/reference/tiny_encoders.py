"""Tiny random-weight encoders in Hugging Face layout, with embeddings computed by sentence-transformers in f64.
usage: tiny_encoders.py sentences.txt OUT_DIR      (needs torch, transformers, sentence-transformers, tokenizers)

One folder per family; each differs from the others in what a reader can get wrong:
  bert        BertModel names, f16 weights, gelu_new, mean + Normalize, tokenizer.json that pads and truncates by itself
  roberta     RobertaModel names, byte-level BPE, mean + Normalize, positions from padding_idx + 1, layout of version 6
  xlmr        `roberta.` prefix and an unused head, Unigram, max pooling, no sentence_bert_config.json
  distilbert  `distilbert.` prefix and an unused head, cased WordPiece, cls pooling, not normalized
golden.safetensors in each: ids [N, S] i32 (right-padded), lengths [N] i32, embeddings [N, hidden] f32."""
import json, os, shutil, sys
import numpy as np, torch, transformers, sentence_transformers
from safetensors.numpy import save_file
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import BertConfig, BertModel, DistilBertConfig, DistilBertForMaskedLM
from transformers import RobertaConfig, RobertaModel, XLMRobertaConfig, XLMRobertaForMaskedLM

TEXTS = [line.rstrip("\n") for line in open(sys.argv[1], encoding="utf-8")]
OUT = sys.argv[2]


def word_piece(lowercase, size, names=("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")):
    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer(lowercase=lowercase, strip_accents=lowercase)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.train_from_iterator(TEXTS, trainers.WordPieceTrainer(vocab_size=size, special_tokens=list(names), show_progress=False,
                          limit_alphabet=80))
    c, s = t.token_to_id("[CLS]"), t.token_to_id("[SEP]")
    t.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
                                                     special_tokens=[("[CLS]", c), ("[SEP]", s)])
    t.decoder = decoders.WordPiece()
    return t


def byte_level():
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.train_from_iterator(TEXTS, trainers.BpeTrainer(vocab_size=320, show_progress=False,
                          special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
                          initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    t.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    return t


def unigram():
    t = Tokenizer(models.Unigram())
    t.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace("  ", " ")])
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    t.train_from_iterator(TEXTS, trainers.UnigramTrainer(vocab_size=300, unk_token="<unk>", show_progress=False,
                          special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"]))
    t.post_processor = processors.TemplateProcessing(single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>",
                                                     special_tokens=[("<s>", 0), ("</s>", 2)])
    t.decoder = decoders.Metaspace()
    return t


def randomize(model, seed):
    """Weights large enough that every layer, every bias and every norm matters."""
    g = torch.Generator().manual_seed(seed)
    for name, p in model.named_parameters():
        r = torch.randn(p.shape, generator=g)
        if "LayerNorm.weight" in name or "layer_norm.weight" in name:
            v = 1 + 0.2 * r
        elif p.dim() == 1:
            v = 0.2 * r
        else:
            v = r * (0.7 if "embeddings" in name else 1.5 / p.shape[-1] ** 0.5)
        p.data.copy_(v)
    return model.eval()


def dump(path, value):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        json.dump(value, f, indent=2)
        f.write("\n")


def write(name, model, tok, special, hidden, pooling, normalize, max_seq, model_max=64):
    d = f"{OUT}/{name}"
    os.makedirs(d, exist_ok=True)
    model.save_pretrained(d)
    tok.save(d + "/tokenizer.json")
    dump(d + "/tokenizer_config.json", dict(special, tokenizer_class="PreTrainedTokenizerFast", model_max_length=model_max))
    modules = [("Transformer", ""), ("Pooling", "1_Pooling")] + [("Normalize", "2_Normalize")] * normalize
    dump(d + "/modules.json", [dict(idx=i, name=str(i), path=p, type="sentence_transformers.models." + t)
                               for i, (t, p) in enumerate(modules)])
    dump(d + "/1_Pooling/config.json", {"word_embedding_dimension": hidden,
         **{"pooling_mode_" + k: k.startswith(pooling) and k != "mean_sqrt_len_tokens"
            for k in ("cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens")}})
    if max_seq:
        dump(d + "/sentence_bert_config.json", {"max_seq_length": max_seq, "do_lower_case": False})
    return d


def resave(d):
    """The layout that sentence-transformers 6 writes: other module names, other keys, no max_seq_length of its own."""
    sentence_transformers.SentenceTransformer(d, device="cpu", local_files_only=True).save(d + ".new", create_model_card=False)
    shutil.rmtree(d)
    os.rename(d + ".new", d)


def golden(d, limit):
    st = sentence_transformers.SentenceTransformer(d, device="cpu", local_files_only=True).double().eval()
    print(d, "max_seq_length", st.max_seq_length, [type(m).__name__ for m in st])
    assert st.max_seq_length == limit, (st.max_seq_length, limit)
    with torch.no_grad():
        e = st.encode(TEXTS, batch_size=7, convert_to_numpy=False, convert_to_tensor=True, show_progress_bar=False)
    t = Tokenizer.from_file(d + "/tokenizer.json")
    t.no_padding()
    t.enable_truncation(limit)
    rows = [t.encode(s).ids for s in TEXTS]
    ids = np.zeros((len(rows), max(map(len, rows))), np.int32)
    for i, r in enumerate(rows):
        ids[i, :len(r)] = r
    # The same by hand from the bare encoder, one text at a time: no padding, no mask.
    pooling = json.load(open(d + "/1_Pooling/config.json"))
    bare = transformers.AutoModel.from_pretrained(d).double().eval()
    worst = 0.0
    for i, r in enumerate(rows):
        with torch.no_grad():
            h = bare(input_ids=torch.tensor([r])).last_hidden_state[0]
        mode = next((k for k in ("cls", "mean", "max") if pooling.get("pooling_mode") == k
                     or pooling.get(f"pooling_mode_{k}_token") or pooling.get(f"pooling_mode_{k}_tokens")))
        p = {"cls": h[0], "mean": h.mean(0), "max": h.max(0).values}[mode]
        if os.path.basename(d) in ("bert", "roberta"):
            p = p / p.norm()
        worst = max(worst, (p - e[i]).abs().max().item())
    print(d, "sentence-transformers against the bare encoder", worst, "norms", e.norm(dim=1).min().item(), e.norm(dim=1).max().item(),
          "lengths", min(map(len, rows)), max(map(len, rows)), "cos01", torch.nn.functional.cosine_similarity(e[0], e[40], 0).item())
    assert worst < 1e-9, worst
    save_file({"ids": ids, "lengths": np.array([len(r) for r in rows], np.int32), "embeddings": e.numpy().astype(np.float32)},
              d + "/golden.safetensors")


def main():
    print("torch", torch.__version__, "transformers", transformers.__version__, "sentence-transformers", sentence_transformers.__version__)
    shape = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64)
    brackets = dict(pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]")
    angles = dict(pad_token="<pad>", unk_token="<unk>", cls_token="<s>", sep_token="</s>", mask_token="<mask>",
                  bos_token="<s>", eos_token="</s>")

    t = word_piece(True, 200)
    t.enable_truncation(16)
    t.enable_padding(length=16)
    m = BertModel(BertConfig(vocab_size=t.get_vocab_size(), max_position_embeddings=64, hidden_act="gelu_new", **shape))
    d = write("bert", randomize(m, 1).half(), t, brackets, 32, "mean", True, 48)
    golden(d, 48)

    t = byte_level()
    m = RobertaModel(RobertaConfig(vocab_size=t.get_vocab_size(), max_position_embeddings=66, type_vocab_size=1,
                                   layer_norm_eps=1e-5, **shape))
    d = write("roberta", randomize(m, 2), t, angles, 32, "mean", True, 64)
    resave(d)
    golden(d, 64)

    t = unigram()
    m = XLMRobertaForMaskedLM(XLMRobertaConfig(vocab_size=t.get_vocab_size(), max_position_embeddings=50, type_vocab_size=1,
                                               layer_norm_eps=1e-5, pad_token_id=1, bos_token_id=0, eos_token_id=2, **shape))
    d = write("xlmr", randomize(m, 3), t, angles, 32, "max", False, None, model_max=40)
    golden(d, 40)

    t = word_piece(False, 160)
    m = DistilBertForMaskedLM(DistilBertConfig(vocab_size=t.get_vocab_size(), max_position_embeddings=64, dim=32, n_layers=2,
                                               n_heads=4, hidden_dim=64))
    d = write("distilbert", randomize(m, 4), t, brackets, 32, "cls", False, 24)
    golden(d, 24)


main()
