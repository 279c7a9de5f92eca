//! The rules for words by the names in `tokenizer.ggml.pre`: data alone.
//!
//! Which names go together is what llama.cpp does with them. The patterns are those of the models' published
//! `tokenizer.json` (GPT-2, Llama 3, Qwen, DeepSeek, MiniMax, Falcon), of Mistral's `tekken.json`, and of tiktoken
//! (`o200k_base`). A rule whose `tokenizer.json` composes characters (NFC) does not do so here: llama.cpp does not.
//!
//! In one thing what llama.cpp makes of a pattern is followed, as its ids show: in `o200k_base` and Tekken's, marks are
//! no part of words, and only the letters of ASCII have a case. (With the published pattern 952 of 10,000 lines of
//! mixed scripts have other ids, those with Devanagari.) In another it is not: DeepSeek's range of East Asian signs
//! has U+2028 and U+2029 in it, and llama.cpp does not cut before them after a space (23 of 2,000 lines).

/// How text is cut: by each pattern in turn, what it matches and what is between becoming words.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Rule {
    pub cuts: &'static [&'static str],
    /// Whether a word that is a token stays whole, whatever its merges would make of it.
    pub keeps_whole_words: bool,
    /// Whether a text begins with the token for it where the file does not say so.
    pub adds_bos: bool,
}

/// Words with the space before them, numbers, signs, spaces.
pub(super) const GPT2: &str = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";
/// Endings, words with one sign before them, numbers by threes, signs with the line breaks after them, line breaks,
/// spaces.
const LLAMA3: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
/// As Llama 3, each digit by itself.
const QWEN2: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
/// As Qwen 2, marks being parts of words.
const QWEN35: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
/// Words cut where small letters are followed by large ones.
const O200K: &str = r"[^\r\n\p{L}\p{N}]?[\p{L}&&[^a-z]]*[\p{L}&&[^A-Z]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{L}&&[^a-z]]+[\p{L}&&[^A-Z]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";
/// As `o200k_base` without endings, each digit by itself.
const TEKKEN: &str = r"[^\r\n\p{L}\p{N}]?[\p{L}&&[^a-z]]*[\p{L}&&[^A-Z]]+|[^\r\n\p{L}\p{N}]?[\p{L}&&[^a-z]]+[\p{L}&&[^A-Z]]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";
/// Chinese, Japanese and what stands between in Unicode, as DeepSeek has it.
const EAST_ASIAN: &str = "[\u{4E00}-\u{9FA5}\u{0800}-\u{4E00}\u{AC00}-\u{D7FF}]+";
/// Letters that have a case, as DeepSeek LLM lists them.
const DEEPSEEK_LETTERS: &str = concat!(
    "\\s?[",
    "A-Za-z\u{B5}\u{C0}-\u{D6}\u{D8}-\u{F6}\u{F8}-\u{1BA}\u{1BC}-\u{1BF}\u{1C4}-\u{293}\u{295}-",
    "\u{2AF}\u{370}-\u{373}\u{376}\u{377}\u{37B}-\u{37D}\u{37F}\u{386}\u{388}-\u{38A}\u{38C}",
    "\u{38E}-\u{3A1}\u{3A3}-\u{3F5}\u{3F7}-\u{481}\u{48A}-\u{52F}\u{531}-\u{556}\u{10A0}-",
    "\u{10C5}\u{13A0}-\u{13F5}\u{13F8}-\u{13FD}\u{1C90}-\u{1CBA}\u{1CBD}-\u{1CBF}\u{1D00}-",
    "\u{1D2B}\u{1D6B}-\u{1D77}\u{1D79}-\u{1D9A}\u{1E00}-\u{1F15}\u{1F18}-\u{1F1D}\u{1F20}-",
    "\u{1F45}\u{1F48}-\u{1F4D}\u{1F50}-\u{1F57}\u{1F59}\u{1F5B}\u{1F5D}\u{1F5F}-\u{1F7D}",
    "\u{1F80}-\u{1FB4}\u{1FB6}-\u{1FBC}\u{1FBE}\u{1FC2}-\u{1FC4}\u{1FC6}-\u{1FCC}\u{1FD0}-",
    "\u{1FD3}\u{1FD6}-\u{1FDB}\u{1FE0}-\u{1FEC}\u{1FF2}-\u{1FF4}\u{1FF6}-\u{1FFC}\u{2102}",
    "\u{2107}\u{210A}-\u{2113}\u{2115}\u{2119}-\u{211D}\u{2124}\u{2126}\u{2128}\u{212A}-",
    "\u{212D}\u{212F}-\u{2134}\u{2139}\u{213C}-\u{213F}\u{2145}-\u{2149}\u{214E}\u{2183}",
    "\u{2184}\u{2C00}-\u{2C7B}\u{2C7E}-\u{2CE4}\u{2CEB}-\u{2CEE}\u{2CF2}\u{2CF3}\u{A640}-",
    "\u{A66D}\u{A680}-\u{A69B}\u{A722}-\u{A76F}\u{A771}-\u{A787}\u{A78B}-\u{A78E}\u{AB70}-",
    "\u{ABBF}\u{FB00}-\u{FB06}\u{FB13}-\u{FB17}\u{FF21}-\u{FF3A}\u{FF41}-\u{FF5A}\u{10400}-",
    "\u{1044F}\u{104B0}-\u{104D3}\u{104D8}-\u{104FB}\u{10C80}-\u{10CB2}\u{10CC0}-\u{10CF2}",
    "\u{118A0}-\u{118DF}\u{1E900}-\u{1E943}",
    "]+"
);
const DEEPSEEK_SIGNS: &str =
    "\\s?[!-/:-~\u{FF01}-\u{FF0F}\u{FF1A}-\u{FF5E}\u{2018}-\u{201F}\u{3000}-\u{3002}]+";
const DEEPSEEK3_WORDS: &str = r"[!\x22#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

const fn rule(cuts: &'static [&'static str]) -> Rule {
    Rule { cuts, keeps_whole_words: false, adds_bos: false }
}

/// Names that mean one rule.
pub(super) type Row = (&'static [&'static str], Rule);

/// All names, each in one row.
pub(super) const ROWS: &[Row] = &[
    (&["default"], rule(&[r"[\p{P}$+<=>^~|]+", GPT2, r"\p{N}+", "[0-9][0-9][0-9]"])),
    (
        &[
            "gpt-2",
            "phi-2",
            "olmo",
            "mpt",
            "jais",
            "gigachat",
            "mellum",
            "modern-bert",
            "a.x-4.0",
            "granite-docling",
            "trillion",
        ],
        rule(&[GPT2]),
    ),
    (
        &["smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b"],
        rule(&[r"\p{N}", GPT2]),
    ),
    (
        &["llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2"],
        Rule { cuts: &[LLAMA3], keeps_whole_words: true, adds_bos: true },
    ),
    (&["dbrx", "smaug-bpe", "chatglm-bpe", "glm4"], rule(&[LLAMA3])),
    (&["qwen2", "stablelm2", "deepseek-r1-qwen", "megrez", "hunyuan", "solar-open", "kormo"], rule(&[QWEN2])),
    (&["qwen35"], rule(&[QWEN35])),
    (&["gpt-4o", "llama4", "minimax-m2"], rule(&[O200K])),
    (&["tekken"], Rule { cuts: &[TEKKEN], keeps_whole_words: true, adds_bos: true }),
    (&["deepseek-llm"], rule(&["[\r\n]", DEEPSEEK_LETTERS, DEEPSEEK_SIGNS, r"\s+$", EAST_ASIAN, r"\p{N}+"])),
    (&["deepseek-coder"], rule(&["[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", EAST_ASIAN, r"\p{N}"])),
    (
        &["deepseek-v3", "hunyuan-dense"],
        rule(&[r"\p{N}{1,3}", "[\u{4E00}-\u{9FA5}\u{3040}-\u{309F}\u{30A0}-\u{30FF}]+", DEEPSEEK3_WORDS]),
    ),
    (&["falcon"], rule(&[r"[\p{P}$+<=>^~|`]+", GPT2, "[0-9][0-9][0-9]"])),
];
