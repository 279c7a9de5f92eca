"""llama_tokenize and llama_detokenize of the library in the wheel `xllamacpp` (2026.10), by ctypes, and the GGUF files that
hold a vocabulary alone. Needs gguf 0.19, too."""
import ctypes as C, importlib.util, os
from gguf import GGUFWriter

# The C structure is larger than any version's; `vocab_only` is the first bool after 9 words of 8 bytes.
VOCAB_ONLY = 72


class Params(C.Structure):
    _fields_ = [("bytes", C.c_uint8 * 256)]


def library():
    folder = importlib.util.find_spec("xllamacpp").submodule_search_locations[0]
    lib = C.CDLL(os.path.join(folder, "xllamacpp.abi3.so"))
    lib.llama_model_default_params.restype = Params
    lib.llama_model_load_from_file.restype = C.c_void_p
    lib.llama_model_load_from_file.argtypes = [C.c_char_p, Params]
    lib.llama_model_get_vocab.restype = C.c_void_p
    lib.llama_model_get_vocab.argtypes = [C.c_void_p]
    lib.llama_tokenize.argtypes = [C.c_void_p, C.c_char_p, C.c_int32, C.POINTER(C.c_int32), C.c_int32, C.c_bool, C.c_bool]
    lib.llama_detokenize.argtypes = [C.c_void_p, C.POINTER(C.c_int32), C.c_int32, C.c_char_p, C.c_int32, C.c_bool, C.c_bool]
    quiet = C.CFUNCTYPE(None, C.c_int, C.c_char_p, C.c_void_p)(lambda *_: None)
    lib.llama_log_set(quiet, None)
    lib.quiet = quiet
    return lib


class Vocabulary:
    """The tokenizer of a GGUF file."""

    def __init__(self, lib, path):
        params = lib.llama_model_default_params()
        params.bytes[VOCAB_ONLY] = 1
        self.lib, self.model = lib, lib.llama_model_load_from_file(path.encode(), params)
        assert self.model, path
        self.vocab = lib.llama_model_get_vocab(self.model)

    def encode(self, text, special, add=False):
        data = text.encode()
        room = len(data) + 16
        ids = (C.c_int32 * room)()
        count = self.lib.llama_tokenize(self.vocab, data, len(data), ids, room, add, special)
        assert count >= 0
        return list(ids[:count])

    def decode(self, ids):
        room = 64 * len(ids) + 64
        text = C.create_string_buffer(room)
        count = self.lib.llama_detokenize(self.vocab, (C.c_int32 * len(ids))(*ids), len(ids), text, room, False, True)
        assert count >= 0
        return text.raw[:count].decode("utf-8", "replace")


def write_vocabulary(path, model, tokens, types, pre=None, scores=None, merges=None, keys={}, name=None):
    """A GGUF file of a vocabulary and no tensors; `keys` go under `tokenizer.ggml`."""
    w = GGUFWriter(path, "llama")
    if name:
        w.add_name(name)
    w.add_context_length(128), w.add_embedding_length(8), w.add_block_count(1), w.add_feed_forward_length(8)
    w.add_head_count(1), w.add_layer_norm_rms_eps(1e-5)
    w.add_tokenizer_model(model), w.add_token_list(tokens), w.add_token_types(types)
    if pre is not None:
        w.add_tokenizer_pre(pre)
    if scores is not None:
        w.add_token_scores(scores)
    if merges is not None:
        w.add_token_merges(merges)
    for key, value in keys.items():
        (w.add_bool if isinstance(value, bool) else w.add_uint32)("tokenizer.ggml." + key, value)
    w.write_header_to_file(), w.write_kv_data_to_file(), w.write_tensors_to_file(), w.close()
