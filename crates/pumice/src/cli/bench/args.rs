//! Arguments of `pumice bench`, and the tests that they ask for.

use crate::cli::CommandError;
use crate::cli::compiler::CompilerArgs;
use crate::cli::hub::{HubArgs, Takes};
use crate::cli::progress::Progress;
use crate::cli::reading::ReadingArgs;
use crate::cli::words::whole;
use std::io::Write;
use std::path::PathBuf;

/// Arguments of `pumice bench`.
#[derive(clap::Args, Clone, Debug)]
#[command(
    after_help = "ppN reads a prompt of N tokens; tgN makes N tokens, one after the other; @ dD: after D others. Tokens are random, \
    and of a prompt's reading the token after it is part. What is timed of tgN is what the device does for a token, choosing the \
    likeliest one and telling it included; drawing by a sampler and making text are not. A test runs once before it is timed.\n\n\
    GB/s are the bytes of weights and valid cache rows that the plan reads for a token; `of copy` is their share of the device's \
    rate of copying (`pumice devices`). TFLOPS are those of a prompt's products. Loading ends when a first token was read: cold is \
    this program's first time, with files and kernels as the caches of system and pumice have them, warm the time after.\n\n\
    Keys of --json: model, family, params, model_bytes, device, copy_gb_per_s, kv, precision, context, levels_per_token, load \
    (cold_s, warm_s), tests (test, kind: prompt or decode, tokens, depth, samples: tokens a second, median, min, max; of prompts \
    flops, tflops; of decode bytes_per_token, gb_per_s, share_of_copy), notes."
)]
pub struct BenchArgs {
    /// A GGUF file, a folder in Hugging Face layout, or a name in the hub such as ORG/REPO:Q4_K_M (feature hub); no
    /// vocabulary is needed
    #[arg(long, short, value_name = "MODEL", required_unless_present = "seeded")]
    pub model: Option<PathBuf>,
    /// What the program knows of the hub
    #[command(flatten)]
    pub hub: HubArgs,
    /// Use the small model with seeded weights, which needs no file
    #[arg(long, alias = "offline", conflicts_with_all = ["model", "quantize", "ignore_key"])]
    pub seeded: bool,
    /// Tokens of prompts; 0: none
    #[arg(short = 'p', long = "n-prompt", value_name = "N,…", default_value = "512", value_delimiter = ',', value_parser = whole::<u64>)]
    pub prompts: Vec<u64>,
    /// Tokens that are made; 0: none
    #[arg(short = 'n', long = "n-gen", value_name = "N,…", default_value = "128", value_delimiter = ',', value_parser = whole::<u64>)]
    pub made: Vec<u64>,
    /// Tokens that the caches hold before
    #[arg(short = 'd', long = "n-depth", value_name = "N,…", default_value = "0", value_delimiter = ',', value_parser = whole::<u64>)]
    pub depths: Vec<u64>,
    /// How often each test is timed; the median is told, with the least and the most
    #[arg(short = 'r', long = "repetitions", value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub repetitions: u32,
    /// Tokens that the caches have room for [default: as many as the tests need]
    #[arg(long, value_name = "N", value_parser = whole::<u64>)]
    pub context: Option<u64>,
    /// How the model is read
    #[command(flatten)]
    pub reading: ReadingArgs,
    /// How the model is compiled
    #[command(flatten)]
    pub compiler: CompilerArgs,
    /// Draw tokens a second against depth into this file
    #[arg(long, value_name = "FILE.svg")]
    pub svg: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// Where to run: `auto`, `cpu` (the interpreter), a device's number or a part of its name
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    pub device: String,
    #[arg(short = 'b', long, hide = true, value_name = "N", num_args = 0..=1, default_missing_value = "")]
    batch_size: Option<String>,
    #[arg(short = 't', long, hide = true, value_name = "N", num_args = 0..=1, default_missing_value = "")]
    threads: Option<String>,
}

/// What a test does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    Prompt,
    Decode,
}

/// One test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Test {
    pub kind: Kind,
    pub tokens: u64,
    pub depth: u64,
}

impl Test {
    /// Its name, as llama-bench has it.
    pub fn name(&self) -> String {
        let kind = match self.kind {
            Kind::Prompt => "pp",
            Kind::Decode => "tg",
        };
        match self.depth {
            0 => format!("{kind}{}", self.tokens),
            depth => format!("{kind}{} @ d{depth}", self.tokens),
        }
    }

    /// Tokens that the caches hold in the end. Decoding begins after a token that was read.
    fn context(&self) -> u64 {
        let first = u64::from(self.kind == Kind::Decode);
        self.depth.saturating_add(self.tokens).saturating_add(first)
    }
}

impl BenchArgs {
    /// The same, with the path of a model that is given by its name in the hub.
    pub(super) fn located(
        &self,
        progress: &Progress,
        log: &mut dyn Write,
    ) -> Result<BenchArgs, CommandError> {
        let mut located = self.clone();
        if let Some(given) = &self.model {
            located.model = Some(self.hub.located(given, Takes::Any, progress, log)?);
        }
        Ok(located)
    }

    /// The tests, depth by depth.
    ///
    /// # Errors
    /// What is refused, and arguments that leave nothing to do.
    pub(super) fn tests(&self) -> Result<Vec<Test>, CommandError> {
        let usage = |text: &str| Err(CommandError::Usage(text.to_owned()));
        if self.batch_size.is_some() {
            return usage(
                "-b, --batch-size is no choice here: how many tokens of a prompt one run takes is part of the plan (128 at most)",
            );
        }
        if self.threads.is_some() {
            return usage(
                "-t, --threads is no choice here: a GPU has none, and a driver for CPUs takes those that it finds (lavapipe: \
                 LP_NUM_THREADS)",
            );
        }
        let mut tests = Vec::new();
        for &depth in &self.depths {
            let of = |kind, all: &[u64]| -> Vec<Test> {
                let asked = all.iter().filter(|&&tokens| tokens > 0);
                asked.map(|&tokens| Test { kind, tokens, depth }).collect()
            };
            tests.extend(of(Kind::Prompt, &self.prompts));
            tests.extend(of(Kind::Decode, &self.made));
        }
        if tests.is_empty() {
            return usage("-p 0 and -n 0 leave nothing to measure");
        }
        Ok(tests)
    }

    /// Tokens that the caches must have room for, of at most as many as the model was trained for.
    pub(super) fn planned(&self, tests: &[Test], trained: u64) -> Result<u64, CommandError> {
        let longest = tests.iter().max_by_key(|test| test.context());
        let Some((test, needed)) = longest.map(|test| (test.name(), test.context())) else { return Ok(1) };
        let room = self.context.unwrap_or(trained);
        if needed <= room {
            return Ok(self.context.unwrap_or(needed));
        }
        let whose = if self.context.is_some() { "--context has" } else { "the model was trained for" };
        Err(CommandError::Usage(format!("{test} needs a context of {needed} tokens, and {whose} {room}")))
    }
}
