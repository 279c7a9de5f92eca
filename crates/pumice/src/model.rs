//! Models on devices: a graph with its weights, compiled and filled.

use crate::device::Device;
use crate::error::Error;
use crate::plan_file;
use pumice_compile::Options;
use pumice_import::{Model, WeightBytes};
use pumice_plan::CheckedPlan;
use pumice_runtime::Executable;

/// An executable with its weights in place.
#[derive(Clone)]
pub struct Loaded {
    /// The executable.
    pub exe: Executable,
}

/// Where the plan of a model is from.
#[cfg(feature = "models")]
pub(crate) struct PlanSource<'a> {
    /// One that was made before: nothing is compiled.
    pub(crate) plan: Option<&'a CheckedPlan>,
    /// Otherwise, how it is compiled.
    pub(crate) compile: &'a Options,
    /// Ranges where there are no specializations.
    pub(crate) suggested: fn() -> pumice_models::specialize::Cuts,
}

impl Loaded {
    /// Compiles a model and uploads its weights. `progress` hears of every tensor: how many are done, of how many.
    ///
    /// # Errors
    /// Weights that are missing or do not fit are found before anything is uploaded.
    pub fn new(
        model: &Model,
        device: &Device,
        options: &Options,
        progress: impl FnMut(usize, usize),
    ) -> Result<Loaded, Error> {
        model.check()?;
        let exe = crate::compile(&model.graph, device, options)?;
        load_weights(&exe, model, progress)?;
        Ok(Loaded { exe })
    }

    /// By a plan that was given, or by compiling.
    #[cfg(feature = "models")]
    pub(crate) fn by(
        source: PlanSource<'_>,
        model: &Model,
        device: &Device,
        progress: impl FnMut(usize, usize),
    ) -> Result<Loaded, Error> {
        if let Some(plan) = source.plan {
            return Loaded::with_plan(model, plan.clone(), device, progress);
        }
        let mut compile = source.compile.clone();
        if compile.specializations.is_empty() {
            compile.specializations = (source.suggested)();
        }
        Loaded::new(model, device, &compile, progress)
    }

    /// As [`Loaded::new`], with a plan that was made before: nothing is compiled.
    ///
    /// # Errors
    /// A plan that was made from another graph; otherwise as [`Loaded::new`].
    pub fn with_plan(
        model: &Model,
        plan: CheckedPlan,
        device: &Device,
        progress: impl FnMut(usize, usize),
    ) -> Result<Loaded, Error> {
        model.check()?;
        plan_file::check_graph(&plan, &model.graph)?;
        let exe = Executable::new(device.shared(), plan, device.host_ops())?;
        load_weights(&exe, model, progress)?;
        Ok(Loaded { exe })
    }
}

/// Compiles a model and uploads its weights: a user's own graph with a user's own file in two lines.
///
/// ```no_run
/// # let (graph, device) = (pumice::GraphBuilder::new("g").build()?, pumice::Device::cpu());
/// # let options = pumice::Options::default();
/// let model = pumice::Model::from_safetensors(graph, "weights.safetensors")?;
/// let exe = pumice::load(&model, &device, &options)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`Loaded::new`].
pub fn load(model: &Model, device: &Device, options: &Options) -> Result<Executable, Error> {
    Ok(Loaded::new(model, device, options, |_, _| {})?.exe)
}

/// Uploads every weight of a model, piece by piece: the host never holds a tensor as a whole.
///
/// # Errors
/// [`Error::Runtime`] for a file that cannot be read, or a param that does not fit.
pub fn load_weights(
    exe: &Executable,
    model: &Model,
    progress: impl FnMut(usize, usize),
) -> Result<(), Error> {
    Ok(exe.read_params(&WeightBytes(model.weights.as_ref()), progress)?)
}
