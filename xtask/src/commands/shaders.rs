//! `cargo xtask shaders`: kernels to SPIR-V. In: `shaders/**/*.comp` and the kernel declarations. Out:
//! `shaders/spv/` and its table, written by `pumice-shader-build`. Never here: C++; the shader compiler is a
//! package of its own, built in its own folder by a child cargo.

use crate::checkout::Checkout;
use crate::child;
use crate::failure::{Failure, Outcome};

/// Options of `shaders`.
#[derive(clap::Args)]
pub struct Args {
    /// Passed to pumice-shader-build
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    rest: Vec<String>,
}

/// Builds and runs the shader compiler with a target folder of its own.
pub fn run(args: &Args, checkout: &Checkout) -> Outcome {
    for (program, use_of_it) in [("cmake", "builds shaderc"), ("c++", "builds shaderc")] {
        if !child::answers(program, &["--version"]) {
            let how = "apt install build-essential cmake ninja-build";
            return Err(Failure::said(format!("`{program}` ({use_of_it}) is missing; for example: {how}")));
        }
    }
    let target = checkout.target_folder()?.join("shader-build");
    let mut command = child::cargo();
    command.args(["run", "--release", "--package", "pumice-shader-build", "--target-dir"]).arg(target);
    command
        .arg("--")
        .arg("--root")
        .arg(checkout.root.join("shaders"))
        .args(&args.rest)
        .current_dir(&checkout.root);
    child::run(&mut command)
}
