//! Plans on disk: a model is compiled once, on any machine, and its plan runs with a weights file from then on.
//!
//! In: paths, plans, graphs. Out: checked plans, files written whole or not at all. What is in a file is
//! `pumice_plan::file`'s to say.
//!
//! ```
//! # use pumice::{Device, GraphBuilder, Options, PlanForm, TensorView, f32, plan_file};
//! let g = GraphBuilder::new("twice");
//! let x = g.input("x", f32([4u64]));
//! g.output("y", g.add(x, x));
//! let graph = g.build()?;
//!
//! let device = Device::cpu();
//! let plan = pumice::plan(&graph, device.target(), &Options::default())?;
//! # let folder = std::env::temp_dir().join(format!("pumice-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! # let path = folder.join("twice.plan");
//! plan_file::save(&plan, &path, PlanForm::Explain)?; // the interpreter needs what steps mean
//!
//! let plan = plan_file::load(&path)?;
//! let exe = pumice::Executable::new(device.shared(), plan, device.host_ops())?;
//! let out = exe.session()?.run(&[("x", TensorView::f32(&[1.0; 4], [4]))])?;
//! assert_eq!(out.get("y")?.to_vec::<f32>()?, [2.0; 4]);
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::error::Error;
use crate::save;
use pumice_ir::{Graph, text};
use pumice_plan::{CheckedPlan, Fingerprint, Plan, PlanFileError, PlanForm, read_plan_file};
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// Saves a plan; returns the bytes of the file.
///
/// # Errors
/// [`Error::PlanFile`] for a plan that has not the form asked for, or a place that cannot be written.
pub fn save(plan: &Plan, path: &Path, form: PlanForm) -> Result<u64, Error> {
    let failed = |source| Error::PlanFile { path: path.to_owned(), source };
    let bytes = plan.to_bytes(form).map_err(failed)?;
    save::replace(path, &bytes).map_err(|e| failed(PlanFileError::Io(e)))?;
    Ok(bytes.len() as u64)
}

/// Writes the file of a plan to an open output; returns its bytes.
///
/// # Errors
/// [`Error::PlanFile`] with the path `-`, for a plan that has not the form asked for, or an output that cannot be
/// written.
pub fn write(plan: &Plan, form: PlanForm, out: &mut dyn Write) -> Result<u64, Error> {
    let failed = |source| Error::PlanFile { path: "-".into(), source };
    let bytes = plan.to_bytes(form).map_err(failed)?;
    let written = out.write_all(&bytes).and_then(|()| out.flush());
    written.map_err(|e| failed(PlanFileError::Io(e)))?;
    Ok(bytes.len() as u64)
}

/// Reads a plan and has the checker go over it. What is no regular file, such as a pipe, is read as far as its header
/// states, and states at most 1 GiB.
///
/// # Errors
/// [`Error::PlanFile`] for a file that cannot be read, is no plan, is of another format version, or was made for other
/// kernels; [`Error::Unsound`] for a plan that was changed on its way.
pub fn load(path: &Path) -> Result<CheckedPlan, Error> {
    let plan = bytes(path).and_then(|bytes| Plan::load(&bytes));
    let plan = plan.map_err(|source| Error::PlanFile { path: path.to_owned(), source })?;
    Ok(CheckedPlan::new(plan)?)
}

/// The bytes of a plan's file, as many as its header states.
fn bytes(path: &Path) -> Result<Vec<u8>, PlanFileError> {
    let mut file = File::open(path)?;
    let known = file.metadata()?;
    read_plan_file(&mut file, known.is_file().then_some(known.len()))
}

/// By what a plan knows the graph that it was made from, whatever the graph's name: its `.ir` text.
pub fn graph_fingerprint(graph: &Graph) -> Fingerprint {
    let text = text::print(graph);
    let body = text.split_once('\n').map_or(text.as_str(), |(_, body)| body);
    Fingerprint::of(body.as_bytes())
}

/// Refuses a plan that was made from another graph, and one that does not say from which.
///
/// # Errors
/// [`Error::OtherPlan`]; [`Error::NoGraph`].
pub fn check_graph(plan: &Plan, graph: &Graph) -> Result<(), Error> {
    match plan.graph {
        Some(made_from) if made_from == graph_fingerprint(graph) => Ok(()),
        Some(_) => Err(Error::OtherPlan { plan: plan.name.clone(), model: graph.name().to_owned() }),
        None => Err(Error::NoGraph { plan: plan.name.clone(), model: graph.name().to_owned() }),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::{Device, GraphBuilder, Options, f32};
    use std::process::Command;

    /// The writer keeps the pipe open: who reads to its end waits.
    #[test]
    fn a_pipe_is_read_as_far_as_the_plan_goes() {
        let g = GraphBuilder::new("twice");
        let x = g.input("x", f32([4]));
        g.output("y", g.add(x, x));
        let graph = g.build().expect("sound");
        let plan = crate::plan(&graph, Device::cpu().target(), &Options::default()).expect("compiles");
        let pipe = std::env::temp_dir().join(format!("pumice-plan-pipe-{}", std::process::id()));
        assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo is there").success());
        let mut writer = File::options().read(true).write(true).open(&pipe).expect("opened");
        let bytes = plan.to_bytes(PlanForm::Explain).expect("a file");
        let writing = std::thread::spawn(move || writer.write_all(&bytes).map(|()| writer));
        assert_eq!(load(&pipe).expect("a plan").into_plan(), plan.into_plan());
        writing.join().expect("ends").expect("written");
        std::fs::remove_file(&pipe).expect("removed");
    }
}
