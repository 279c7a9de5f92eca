//! `cargo xtask shaders`: kernels to SPIR-V. In: `shaders/**/*.comp` and the kernel declarations. Out:
//! `shaders/spv/` and its table, written by `pumice-shader-build`. Never here: C++; the shader compiler is a
//! package of its own, built by a child cargo outside the checkout (`native.rs`).

use crate::checkout::Checkout;
use crate::child;
use crate::failure::{Failure, Outcome};
use crate::native::Native;

/// Options of `shaders`.
#[derive(clap::Args)]
pub struct Args {
    /// Passed to pumice-shader-build
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    rest: Vec<String>,
}

/// Builds the shader compiler where it is not there yet, and runs it.
pub fn run(args: &Args, checkout: &Checkout) -> Outcome {
    for program in ["cmake", "c++", "ar"] {
        if !child::answers(program, &["--version"]) {
            let how = "apt install build-essential cmake ninja-build";
            return Err(Failure::said(format!(
                "`{program}` (builds shaderc) is missing; for example: {how}"
            )));
        }
    }
    let native = Native::find(checkout)?;
    let mut command = child::cargo();
    command.args(["run", "--release", "--package", "pumice-shader-build"]).args(native.cargo_options());
    // Of this checkout: cargo takes packages of another one, in the same place of a shared folder, for its own.
    command.arg("--target-dir").arg(checkout.root.join("target/shader-build"));
    command
        .arg("--")
        .arg("--root")
        .arg(checkout.root.join("shaders"))
        .args(&args.rest)
        .current_dir(&checkout.root);
    child::run(&mut command)
}
