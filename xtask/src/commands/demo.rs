//! `cargo xtask demo`: a real model on real input. In: a model folder, or the network, or neither. Out: the
//! memory plan, a one-screen schedule summary, the device used and why, the table of similarities. Never
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
    /// Use the small seeded model and no network
    #[arg(long, conflicts_with = "model")]
    offline: bool,
}

#[cfg(feature = "libraries")]
pub use run::run;

#[cfg(feature = "libraries")]
mod run {
    use super::*;
    use crate::checkout::Checkout;
    use crate::drivers;
    use crate::failure::{Failure, Outcome};
    use crate::model;

    /// Chooses the model, compiles it, embeds the sentences and prints what happened.
    pub fn run(args: &Args, checkout: &Checkout) -> Outcome {
        if args.install {
            drivers::install()?;
        }
        let folder = folder(args, checkout);
        println!("model: {folder:?}");
        Err(Failure::said("not there yet"))
    }

    /// The model's folder; `None` stands for the seeded model.
    fn folder(args: &Args, checkout: &Checkout) -> Option<PathBuf> {
        if args.offline {
            println!(
                "model: small, seeded weights (--offline): the numbers mean nothing, the machinery is the same"
            );
            return None;
        }
        match args.model.clone().map_or_else(|| model::fetch(checkout), Ok) {
            Ok(folder) => Some(folder),
            Err(failure) => {
                println!("all-MiniLM-L6-v2 could not be had: {failure}");
                println!(
                    "model: small, seeded weights instead: the numbers mean nothing, the machinery is the same"
                );
                None
            }
        }
    }
}
