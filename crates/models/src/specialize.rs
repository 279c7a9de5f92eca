//! Suggestions for the ranges of symbols that are worth a plan of their own, in the form that the compiler takes: for
//! a symbol, the last value of every range but the last. Ends beyond a symbol's bound cut nothing.

/// Symbols with the ends of their ranges.
pub type Cuts = Vec<(String, Vec<u64>)>;

/// The encoder's `batch` and `seq`: {1, 2..} × {1..=32, 33..=128, 129..}.
///
/// One text alone leaves a GPU mostly idle and wants its matrices split, many texts do not; short, middle and long
/// sequences want other tiles.
pub fn encoder() -> Cuts {
    vec![("batch".to_owned(), vec![1]), ("seq".to_owned(), vec![32, 128])]
}

/// The decoder's `t`: one token at a time, few, many, and the long pieces that prompts are read in on GPUs.
pub fn decoder() -> Cuts {
    vec![("t".to_owned(), vec![1, 16, 128])]
}

/// The scoring decoder's `s`: a piece of a text of which nothing is scored asks for one row.
pub fn scores() -> Cuts {
    vec![("s".to_owned(), vec![1])]
}
