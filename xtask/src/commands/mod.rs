//! The command line of xtask: one variant and one file per command. In: arguments. Out: the command's
//! outcome. Never here: the work itself.

mod bench;
mod carry;
mod ci;
#[cfg_attr(not(feature = "libraries"), allow(dead_code))]
mod demo;
#[cfg_attr(not(feature = "libraries"), allow(dead_code))]
mod hist;
#[cfg(not(feature = "libraries"))]
mod libraries;
mod new_op;
mod ops;
mod package;
#[cfg_attr(not(feature = "libraries"), allow(dead_code))]
mod plan;
#[cfg_attr(not(feature = "libraries"), allow(dead_code))]
mod plan_diff;
mod shaders;
mod snippet;
mod test;
mod tidy;
mod tokens;
mod tune;

use clap::{Parser, Subcommand};

use crate::checkout::Checkout;
use crate::failure::Outcome;

/// pumice's developer tools.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", disable_version_flag = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run every test suite; device suites need a Vulkan driver
    Test(test::Args),
    /// Embed a handful of sentences with all-MiniLM-L6-v2 on the best device found
    Demo(demo::Args),
    /// Check the house rules: sizes, borders, names, links, coverage
    Tidy(tidy::Args),
    /// Count the tokens of Rust by crate and folder, and in functions
    Tokens(tokens::Args),
    /// Print the op x duty table; fails where a duty is missing
    Ops(ops::Args),
    /// Write the files and lines that a new op needs
    NewOp(new_op::Args),
    /// Compile the kernels to SPIR-V and regenerate their table (needs a C++ compiler and cmake)
    Shaders(shaders::Args),
    /// Print the schedule of a model: levels, barriers, segments, regions, bytes, floor
    Plan(plan::Args),
    /// Print the dispatch histogram of a model's plan
    Hist(hist::Args),
    /// Compare the plans of two models or of two saved plans
    PlanDiff(plan_diff::Args),
    /// Measure the speed lines and print them with floor, reference and ratio
    Bench(crate::example::Args),
    /// Measure kernels on a device and write its selection table
    Tune(crate::example::Args),
    /// Build the programs that a machine with a GPU and nothing else runs
    Carry(carry::Args),
    /// Package every published crate and build it from its package
    Package(package::Args),
    /// Build and run the README's program as a crate of its own, and count its packages
    Snippet(snippet::Args),
    /// Everything that CI runs, tests last
    Ci(ci::Args),
}

/// How a plan is made.
#[derive(clap::Args)]
#[cfg_attr(not(feature = "libraries"), allow(dead_code))]
pub struct PlanOptions {
    /// What to plan for: h200, lavapipe, or a file with a Target as JSON
    #[arg(long, value_name = "TARGET", default_value = "h200")]
    pub target: String,
    /// A selection table as JSON (`cargo xtask tune` writes one) instead of the target's own
    #[arg(long, value_name = "FILE")]
    pub table: Option<std::path::PathBuf>,
    /// Arithmetic of products: exact, f16 or int8
    #[arg(long, value_name = "PRECISION", default_value = "exact")]
    pub precision: String,
    /// Give every value its own bytes (`Bump`) instead of using dead ones again (`Packed`)
    #[arg(long)]
    pub bump: bool,
    /// Leave out every pass that a plan does not need
    #[arg(long)]
    pub unfused: bool,
}

/// A model and how its plan is made.
#[derive(clap::Args)]
#[cfg_attr(not(feature = "libraries"), allow(dead_code))]
pub struct ModelArgs {
    /// A sentence encoder folder (weights not needed), a GGUF file, an `.ir` file, a plan of `pumice compile`, a
    /// saved plan (`.json`), or a built-in model: seeded-minilm, tiny-decoder
    pub model: String,
    #[command(flatten)]
    pub options: PlanOptions,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

impl Cli {
    /// Runs the chosen command on the checkout around the current folder.
    pub fn run(self) -> Outcome {
        let checkout = Checkout::find()?;
        match self.command {
            Command::Test(args) => test::run(&args, &checkout),
            Command::Tidy(args) => tidy::run(&args, &checkout),
            Command::Tokens(args) => tokens::run(&args, &checkout),
            Command::Ops(args) => ops::run(&args, &checkout),
            Command::NewOp(args) => new_op::run(&args, &checkout),
            Command::Shaders(args) => shaders::run(&args, &checkout),
            Command::Bench(args) => bench::run(&args, &checkout),
            Command::Tune(args) => tune::run(&args, &checkout),
            Command::Carry(args) => carry::run(&args, &checkout),
            Command::Package(args) => package::run(&args, &checkout),
            Command::Snippet(args) => snippet::run(&args, &checkout),
            Command::Ci(args) => ci::run(&args, &checkout),
            command => command.run_with_libraries(&checkout),
        }
    }
}

impl Command {
    /// The commands that need pumice's packages.
    #[cfg(feature = "libraries")]
    fn run_with_libraries(self, checkout: &Checkout) -> Outcome {
        match self {
            Command::Demo(args) => demo::run(&args, checkout),
            Command::Plan(args) => plan::run(&args, checkout),
            Command::Hist(args) => hist::run(&args, checkout),
            Command::PlanDiff(args) => plan_diff::run(&args, checkout),
            _ => Ok(()),
        }
    }

    #[cfg(not(feature = "libraries"))]
    fn run_with_libraries(self, checkout: &Checkout) -> Outcome {
        libraries::start_again(checkout)
    }
}

#[cfg(all(test, feature = "libraries"))]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn help_names_the_built_in_models() {
        let mut cli = super::Cli::command();
        for command in ["plan", "hist"] {
            let help = cli.find_subcommand_mut(command).expect("a command").render_long_help().to_string();
            let missing: Vec<&str> = crate::plans::built_in().filter(|name| !help.contains(name)).collect();
            assert!(missing.is_empty(), "{command}: {missing:?}");
        }
    }
}
