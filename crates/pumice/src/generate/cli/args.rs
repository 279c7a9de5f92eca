//! Arguments of `pumice generate`, and what they ask for.

use crate::cli::CommandError;
use crate::cli::compiler::CompilerArgs;
use crate::cli::hub::HubArgs;
use crate::cli::reading::ReadingArgs;
use crate::cli::texts;
use crate::cli::today;
use crate::cli::words::whole;
use crate::generate::{ChatSettings, JsonValue, Message, Prompt, Request, Sampler, SuggestedSampling};
use pumice_models::{Date, TemplateArguments};
use std::path::PathBuf;

/// Arguments of `pumice generate`.
#[derive(clap::Args, Clone, Debug)]
#[command(
    after_help = "Tokens are chosen in this order: penalties, bias, temperature, top-k, typical, top-p, min-p. \
    What is not given is what the model's makers suggest, and is printed; --greedy takes of it the repetition penalty alone."
)]
pub struct GenerateArgs {
    /// A GGUF file, a folder in Hugging Face layout, or a name in the hub such as ORG/REPO:Q4_K_M (feature hub)
    #[arg(long, short, value_name = "MODEL", required_unless_present = "seeded")]
    pub model: Option<PathBuf>,
    /// Use the small model with seeded weights, which needs no file; its text means nothing
    #[arg(long, alias = "offline", conflicts_with_all = ["model", "quantize", "ignore_key"])]
    pub seeded: bool,
    /// Continue this text, taken as it is; `-` is the standard input
    #[arg(long, short, value_name = "TEXT")]
    pub prompt: Option<String>,
    /// Continue the text of this file, taken as it is
    #[arg(long, short, value_name = "FILE", conflicts_with = "prompt")]
    pub file: Option<PathBuf>,
    /// Answer this message, through the model's chat template; `-` is the standard input. Without it, --prompt and
    /// --file: a conversation
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["prompt", "file"])]
    pub chat: Option<String>,
    /// What the model is told before a conversation
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["prompt", "file"])]
    pub system: Option<String>,
    /// The most tokens; -1: to the end of the context [default: 256, of a conversation's answers -1]
    #[arg(short, long = "tokens", value_name = "N", allow_negative_numbers = true, value_parser = tokens)]
    pub n: Option<Tokens>,
    /// How tokens are chosen
    #[command(flatten)]
    pub sampling: SamplingArgs,
    /// End an answer before this text; may be given several times
    #[arg(long, value_name = "TEXT")]
    pub stop: Vec<String>,
    /// Never choose a token that ends an answer
    #[arg(long)]
    pub ignore_eos: bool,
    /// Tell the log probability of each token and of the N most probable ones (with --json)
    #[arg(long, value_name = "N", requires = "json", value_parser = whole::<usize>)]
    pub logprobs: Option<usize>,
    /// Tokens that prompt and answer may have together [default: the model's, 2048 at most]
    #[arg(long, short, value_name = "N", allow_negative_numbers = true, value_parser = whole::<u64>)]
    pub context: Option<u64>,
    /// How the model is read
    #[command(flatten)]
    pub reading: ReadingArgs,
    /// A chat template in place of the model's own
    #[arg(long, value_name = "FILE", conflicts_with_all = ["prompt", "file"])]
    pub template: Option<PathBuf>,
    /// Set a value that the chat template asks for, such as enable_thinking=false; may be given several times
    #[arg(long, value_name = "K=V", conflicts_with_all = ["prompt", "file"])]
    pub template_arg: Vec<String>,
    /// The day that a chat template is told [default: today, by UTC]
    #[arg(long, value_name = "YYYY-MM-DD", value_parser = today::day, conflicts_with_all = ["prompt", "file"])]
    pub date: Option<Date>,
    /// Tools that the model may call: a JSON list of descriptions
    #[arg(long, value_name = "FILE", conflicts_with_all = ["prompt", "file"])]
    pub tools: Option<PathBuf>,
    /// Run a plan that `pumice compile` made of the model, and compile nothing
    #[arg(long, value_name = "X.plan", conflicts_with_all = ["seeded", "context", "kv", "table", "precision"])]
    pub plan: Option<PathBuf>,
    /// How the model is compiled
    #[command(flatten)]
    pub compiler: CompilerArgs,
    /// Print one JSON object on one line instead of the text as it comes; in a conversation one a turn
    #[arg(long)]
    pub json: bool,
    /// Where to run: `auto`, `cpu` (the interpreter), a device's number or a part of its name
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    pub device: String,
    /// What is known and not there yet
    #[command(flatten)]
    pub later: LaterArgs,
    /// What the program knows of the hub
    #[command(flatten)]
    pub hub: HubArgs,
}

/// How tokens are chosen.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct SamplingArgs {
    /// Take the likeliest token every time, after penalties
    #[arg(long, conflicts_with_all = ["temp", "top_k", "top_p", "min_p", "typical", "seed"])]
    pub greedy: bool,
    /// Temperature: below 1 likelier tokens, above 1 rarer ones; 0 is --greedy [default: 0.7]
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub temp: Option<f32>,
    /// Draw from the K likeliest tokens; 0 from all [default: 40]
    #[arg(long, value_name = "K", allow_negative_numbers = true, value_parser = whole::<usize>)]
    pub top_k: Option<usize>,
    /// Draw from the fewest tokens that have this probability together; 1 is off [default: 0.95]
    #[arg(long, value_name = "P", allow_negative_numbers = true)]
    pub top_p: Option<f32>,
    /// Draw from tokens with this share of the likeliest one's probability; 0 is off
    #[arg(long, value_name = "P", allow_negative_numbers = true)]
    pub min_p: Option<f32>,
    /// Draw from the most typical tokens that have this probability together; 1 is off
    #[arg(long, value_name = "P", allow_negative_numbers = true)]
    pub typical: Option<f32>,
    /// Divide the logits of tokens that were there, by 1e-6 to 1e6; 1 is off
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub repeat_penalty: Option<f32>,
    /// So many of the last tokens count for penalties
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = whole::<usize>)]
    pub repeat_last_n: usize,
    /// Subtract from the logits of tokens that were there, -1e6 to 1e6
    #[arg(long, value_name = "X", default_value_t = 0.0, allow_negative_numbers = true)]
    pub presence_penalty: f32,
    /// Subtract from the logits of tokens as often as they were there, -1e6 to 1e6
    #[arg(long, value_name = "X", default_value_t = 0.0, allow_negative_numbers = true)]
    pub frequency_penalty: f32,
    /// Add to the logit of a token; -inf is never; may be given several times
    #[arg(long, value_name = "ID=X", value_parser = bias)]
    pub logit_bias: Vec<(u32, f32)>,
    /// The same seed draws the same tokens from the same logits [default: another one each time, printed]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<u64>)]
    pub seed: Option<u64>,
}

/// Options that other programs have, and that come later here: refused by name.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct LaterArgs {
    #[arg(long, hide = true, value_name = "TEXT", num_args = 0..=1, default_missing_value = "")]
    grammar: Option<String>,
    #[arg(long, hide = true, value_name = "FILE", num_args = 0..=1, default_missing_value = "")]
    lora: Option<String>,
    #[arg(long, hide = true, value_name = "FILE", num_args = 0..=1, default_missing_value = "")]
    image: Option<String>,
}

impl LaterArgs {
    fn check(&self) -> Result<(), CommandError> {
        let asked = [("--grammar", &self.grammar), ("--lora", &self.lora), ("--image", &self.image)];
        match asked.into_iter().find(|(_, given)| given.is_some()) {
            Some((name, _)) => Err(CommandError::Usage(format!("{name} is not there yet; it comes later"))),
            None => Ok(()),
        }
    }
}

/// Tokens at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tokens {
    /// So many.
    Most(usize),
    /// To the end of the context.
    Context,
}

impl Tokens {
    fn most(self) -> usize {
        match self {
            Tokens::Most(n) => n,
            Tokens::Context => usize::MAX,
        }
    }
}

fn tokens(text: &str) -> Result<Tokens, String> {
    if text == "-1" {
        return Ok(Tokens::Context);
    }
    let n = whole::<usize>(text).map_err(|wanted| format!("{wanted}, or -1 for the end of the context"))?;
    Ok(Tokens::Most(n))
}

fn bias(text: &str) -> Result<(u32, f32), String> {
    let parsed = text.split_once('=').and_then(|(id, x)| Some((id.parse().ok()?, x.parse().ok()?)));
    parsed.ok_or_else(|| "a token's number and what is added to its logit are wanted, as 42=-1.5".to_owned())
}

/// What the command is to do.
pub(super) enum Task {
    /// One answer.
    Answer(Prompt),
    /// A conversation.
    Talk,
}

impl GenerateArgs {
    /// What it is to do. `is_terminal`: somebody is there to talk with.
    pub(super) fn task(&self, is_terminal: bool) -> Result<Task, CommandError> {
        self.later.check()?;
        let usage = |text: &str| Err(CommandError::Usage(text.to_owned()));
        let text = texts::given(self.prompt.as_deref(), self.file.as_deref())?;
        match (text, &self.chat) {
            (Some(text), _) if text.is_empty() => {
                usage("the text of the prompt is empty: give at least a word")
            }
            (Some(text), _) => Ok(Task::Answer(Prompt::Text(text))),
            (None, Some(message)) => {
                let message = texts::given(Some(message), None)?.unwrap_or_default();
                let turn = Message::new("user", message);
                Ok(Task::Answer(Prompt::Chat(self.system_turn().into_iter().chain([turn]).collect())))
            }
            (None, None) if is_terminal => Ok(Task::Talk),
            (None, None) => usage(
                "nothing to answer: give a text to continue with --prompt \"…\", or a message to answer with \
                 --chat \"…\"; a conversation needs a terminal",
            ),
        }
    }

    /// The turn before all others.
    pub(super) fn system_turn(&self) -> Option<Message> {
        self.system.as_ref().map(|text| Message::new("system", text.as_str()))
    }

    /// What chat templates get.
    pub(super) fn chat_settings(&self) -> Result<ChatSettings, CommandError> {
        let usage = |name: &str, e: &dyn std::fmt::Display| CommandError::Usage(format!("{name}: {e}"));
        let mut arguments = TemplateArguments::default();
        for argument in &self.template_arg {
            arguments.parse(argument).map_err(|e| usage("--template-arg", &e))?;
        }
        let tools: Vec<JsonValue> = match &self.tools {
            Some(path) => serde_json::from_str(&texts::read(path)?)
                .map_err(|e| usage("--tools", &format!("{}: {e}; a JSON list is wanted", path.display())))?,
            None => Vec::new(),
        };
        let template = self.template.as_deref().map(texts::read).transpose()?;
        let date = self.date.map_or_else(today::today, Ok)?;
        Ok(ChatSettings::default().template(template).tools(tools).arguments(arguments).date(date))
    }

    /// What is asked for each answer. `seed` is what nobody gave.
    pub(super) fn request(&self, suggested: &SuggestedSampling, seed: u64, most: usize) -> Request {
        Request::default()
            .tokens(self.n.map_or(most, Tokens::most))
            .sampler(self.sampling.sampler(suggested, seed))
            .stop(self.stop.iter().map(String::as_str))
            .ignore_end(self.ignore_eos)
            .log_probs(self.logprobs)
    }
}

impl SamplingArgs {
    /// The sampler: what was given, else what is suggested, else the program's own.
    pub(super) fn sampler(&self, suggested: &SuggestedSampling, seed: u64) -> Sampler {
        let mut own = Sampler::default().temperature(0.7).top_k(40).top_p(0.95);
        own = suggested.sampler(own).seed(self.seed.unwrap_or(seed));
        if self.greedy {
            own = Sampler::default().repeat_penalty(own.repeat_penalty);
        }
        let set = |own: &mut f32, given: Option<f32>| *own = given.unwrap_or(*own);
        set(&mut own.temperature, self.temp);
        set(&mut own.top_p, self.top_p);
        set(&mut own.min_p, self.min_p);
        set(&mut own.typical, self.typical);
        set(&mut own.repeat_penalty, self.repeat_penalty);
        own.top_k = self.top_k.unwrap_or(own.top_k);
        own.repeat_last_n(self.repeat_last_n)
            .presence_penalty(self.presence_penalty)
            .frequency_penalty(self.frequency_penalty)
            .bias(self.logit_bias.clone())
    }
}
