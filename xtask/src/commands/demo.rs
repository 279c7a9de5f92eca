//! `cargo xtask demo`: real models on real input. In: a model folder, or the network, or neither. Out: the
//! memory plan, a one-screen schedule summary, the device used and why, the table of similarities, an answer. Never
//! here: an installation that was not asked for.

use std::path::PathBuf;

/// Options of `demo`.
#[derive(clap::Args)]
pub struct Args {
    /// A sentence encoder in Hugging Face layout, instead of downloading all-MiniLM-L6-v2
    #[arg(long, value_name = "DIR")]
    model: Option<PathBuf>,
    /// First install Mesa's Vulkan drivers with apt
    #[arg(long)]
    install: bool,
    /// Use the small model with seeded weights, which needs no network
    #[arg(long, alias = "offline", conflicts_with = "model")]
    seeded: bool,
    /// Sentences to compare, instead of the built-in handful
    sentences: Vec<String>,
}

#[cfg(feature = "libraries")]
pub use run::run;

#[cfg(feature = "libraries")]
mod run {
    use std::ops::ControlFlow;
    use std::path::{Path, PathBuf};
    use std::time::Instant;

    use indicatif::{ProgressBar, ProgressStyle};
    use pumice::embed::{EmbedOptions, Embedder, similarity_table};
    use pumice::generate::{
        ChatSettings, Conversation, Event, GenerateOptions, Generator, LanguageOptions, Message, Request,
    };
    use pumice::{Device, DeviceChoice, DeviceKind};
    use pumice_plan::print::summary;
    use pumice_vulkan::DeviceOptions;

    use super::Args;
    use crate::checkout::Checkout;
    use crate::drivers;
    use crate::failure::{Failure, Outcome};
    use crate::heartbeat::Heartbeat;
    use crate::model;
    use crate::output::say;

    /// Two of the same, two of another thing, one of neither.
    const SENTENCES: [&str; 5] = [
        "The weather is lovely today.",
        "It is warm and sunny outside.",
        "He drove his car to the stadium.",
        "She took the train to the city.",
        "A compiler plans memory before the code runs.",
    ];
    const SEED: u64 = 1;
    const QUESTIONS: [&str; 2] = ["What is the capital of France?", "And of Italy?"];
    /// Of the model that needs no file.
    const TEMPLATE: &str = "{% for m in messages %}{{ m.content }} {% endfor %}";
    const ANSWER_TOKENS: usize = 48;

    /// Chooses model and device, compiles, embeds the sentences and prints what happened.
    pub fn run(args: &Args, checkout: &Checkout) -> Outcome {
        if args.install {
            drivers::install()?;
        }
        let folder = folder(args, checkout)?;
        let choice = device(checkout)?;
        let start = Instant::now();
        let opening = Heartbeat::start("opening the model");
        let mut embedder = open(folder.as_deref(), &choice.device)?;
        drop(opening);
        let opened = start.elapsed();
        let plan = embedder.executable().plan();
        say(&format!("\n{}", summary(plan)))?;
        for note in embedder.notes() {
            say(&format!("note: {note}\n"))?;
        }
        let sentences: Vec<String> = match args.sentences.is_empty() {
            true => SENTENCES.map(str::to_owned).into(),
            false => args.sentences.clone(),
        };
        let start = Instant::now();
        let embedding = Heartbeat::start("embedding, with the driver's compiler at work");
        let embeddings = embedder.embed(&sentences, |_| {}).map_err(|e| Failure::said(e.to_string()))?;
        drop(embedding);
        let embedded = start.elapsed();
        say(&format!(
            "\n{} sentences on {}: model opened in {:.2} s, first embedding (pipelines included) in {:.2} s\n\n",
            sentences.len(),
            choice.device.name(),
            opened.as_secs_f64(),
            embedded.as_secs_f64()
        ))?;
        say(&similarity_table(&sentences, &embeddings))?;
        answer(args, checkout, &choice.device)
    }

    /// A conversation of two turns with a language model, text as it comes.
    fn answer(args: &Args, checkout: &Checkout, device: &Device) -> Outcome {
        let failed = |e: pumice::Error| Failure::said(e.to_string());
        let fetched = match args.seeded {
            true => Err("--seeded".to_owned()),
            false => model::fetch(checkout, &model::SMOLLM2)
                .map(|folder| folder.join(model::SMOLLM2_FILE))
                .map_err(|failure| failure.to_string()),
        };
        let opening = Heartbeat::start("opening the language model");
        let options = GenerateOptions::default();
        let generator = match &fetched {
            Ok(file) => Generator::open(file, device, &options, |_, _| {}),
            Err(reason) => {
                say(&format!(
                    "\nno language model ({reason}): a small one with seeded weights writes nonsense\n"
                ))?;
                let chat = ChatSettings::default().template(TEMPLATE.to_owned());
                let model = LanguageOptions::default().context(256);
                Generator::seeded(SEED, device, &options.chat(chat).model(model))
            }
        };
        let generator = generator.map_err(failed)?;
        drop(opening);
        let mut conversation = generator.conversation().map_err(failed)?;
        QUESTIONS.into_iter().try_for_each(|question| turn(&mut conversation, question))?;
        let model = fetched.map_or_else(|_| "MODEL".to_owned(), |file| file.display().to_string());
        say(&format!(
            "\nnow you: cargo install --path crates/pumice --features cli,hub, then pumice generate --model {model}\n"
        ))
    }

    /// One turn. Of the second one, only what is new is read.
    fn turn(conversation: &mut Conversation, question: &str) -> Outcome {
        say(&format!("\n> {question}\n"))?;
        let request = Request::default().tokens(ANSWER_TOKENS);
        let answer = conversation.say(Message::new("user", question), &request, |heard| match heard {
            Event::Text(piece) if say(piece).is_err() => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        });
        let answer = answer.map_err(|e| Failure::said(e.to_string()))?;
        let first = (answer.kernels_time + answer.prompt_time).as_secs_f64();
        let rate = answer.decode_rate();
        say(&format!(
            "\n\n{} prompt tokens read, {} kept; first text after {first:.2} s; then {rate:.1} tokens a second\n",
            answer.prompt_read, answer.prompt_kept
        ))
    }

    /// The model's folder; `None` stands for the seeded model. A folder that the user names must be there.
    fn folder(args: &Args, checkout: &Checkout) -> Outcome<Option<PathBuf>> {
        if let Some(folder) = &args.model {
            return Ok(Some(folder.clone()));
        }
        let reason = match args.seeded {
            true => "--seeded".to_owned(),
            false => match model::fetch(checkout, &model::MINILM) {
                Ok(folder) => return Ok(Some(folder)),
                Err(failure) => format!("all-MiniLM-L6-v2 could not be had: {failure}"),
            },
        };
        say(&format!(
            "model: a small one with seeded weights ({reason}); its numbers mean little, the machinery is the same\n"
        ))?;
        Ok(None)
    }

    fn device(checkout: &Checkout) -> Outcome<DeviceChoice> {
        let cache = checkout.target_folder()?.join("demo").join("pipelines");
        let choice = Device::choose(&DeviceOptions::default().cache_dir(Some(cache)));
        say(&format!("device: {} ({})\n", choice.device.name(), choice.why))?;
        if let Some(better) = &choice.better {
            say(&format!("faster: {better}\n"))?;
        }
        if choice.device.kind() == DeviceKind::Interpreter {
            say(&drivers::advice())?;
        }
        Ok(choice)
    }

    fn open(folder: Option<&Path>, device: &Device) -> Outcome<Embedder> {
        let options = EmbedOptions::default();
        let Some(folder) = folder else {
            return Embedder::offline(SEED, device, &options).map_err(|e| Failure::said(e.to_string()));
        };
        say(&format!("model: {}\n", folder.display()))?;
        let style = ProgressStyle::with_template("{bar:32} {pos}/{len} tensors");
        let bar = ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        let embedder = Embedder::open(folder, device, &options, |done, all| {
            bar.set_length(all as u64);
            bar.set_position(done as u64);
        });
        bar.finish_and_clear();
        embedder.map_err(|e| Failure::said(format!("{}: {e}", folder.display())))
    }
}
