//! The examples run: whole programs by the public face, each of which asserts what it shows. Cargo builds them with the
//! tests.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The program of an example, which lies beside the folder of this test.
fn program(name: &str) -> PathBuf {
    let own = std::env::current_exe().expect("a program has a path");
    let target = own.parent().and_then(Path::parent).expect("tests lie in `deps`");
    target.join("examples").join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

fn runs(name: &str) {
    let program = program(name);
    assert!(program.exists(), "{} is not built; run `cargo build --examples`", program.display());
    let output = Command::new(&program).output().expect("it starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{name}: {}\n{}", text(&output.stdout), text(&output.stderr));
}

macro_rules! examples {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                runs(stringify!($name));
            }
        )*

        /// None is left out.
        #[test]
        fn all_examples_are_run() {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
            for file in std::fs::read_dir(folder).expect("the folder of examples") {
                let path = file.expect("an entry").path();
                let name = path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
                assert!([$(stringify!($name)),*].contains(&&*name), "{name} is not run");
            }
        }
    };
}
examples! { cnn custom_op detector_tail host_op knn_graph log_mel mamba_block mlp moe_layer newton resident_accumulator sampler second_derivatives symbolic_batch tagger tiny_decoder train_mlp }
