//! Values of params and data sets: by rules, from a source, by name; and what they are now.

use super::error::TrainerError;
use super::trainer::Trainer;
use pumice_plan::StateInit;
use pumice_runtime::{NameKind, RuntimeError, TensorInfo};
use pumice_train::{Init, names};
use pumice_types::{ByteSource, DType, Encoding, SourceError, Stored, Tensor, TensorView};
use std::sync::Arc;

impl Trainer {
    /// Gives every trained param its first value by the rules, and every frozen one of floats that has none yet, and
    /// begins training anew: moments, counts, the scale of the loss, draws, running statistics and what was accumulated
    /// are as in a trainer that was just made. Data sets stay. Draws are made from the seed as well: another one drops
    /// other elements.
    ///
    /// # Errors
    /// [`TrainerError::Recipe`] for each param that no rule is for; [`TrainerError::Run`] where the device fails.
    pub fn init(&mut self, init: &Init, seed: u64) -> Result<(), TrainerError> {
        let missing = self.exe.missing_params();
        let floats = |p: &TensorInfo| p.encoding.plain().is_some_and(DType::is_float);
        let frozen = self.exe.params();
        let extents: Vec<Vec<u64>> = frozen.iter().map(|p| p.shape.iter().map(|e| e.max).collect()).collect();
        let (drawn, others): (Vec<_>, Vec<_>) =
            frozen.iter().zip(&extents).partition(|(p, _)| missing.contains(&p.name) && floats(p));
        let others: Vec<(&str, &[u64])> = others.into_iter().map(lent).collect();
        let trained = self.trained.iter().map(|t| (t.name.as_str(), t.shape.as_slice()));
        let all: Vec<(&str, &[u64])> = trained.chain(drawn.into_iter().map(lent)).collect();
        let values = init.tensors_beside(&all, &others, seed)?;
        let names: Vec<String> = all.into_iter().map(|(name, _)| name.to_owned()).collect();
        names.iter().zip(values).try_for_each(|(name, value)| self.set(name, value.view()))?;
        self.seed = seed;
        self.begin_anew()
    }

    /// Everything but params and data sets as at the beginning.
    fn begin_anew(&mut self) -> Result<(), TrainerError> {
        let plan = self.exe.plan();
        let own = plan.states.iter().filter(|state| state.init != StateInit::Given);
        let states: Vec<String> = own.map(|state| state.name.clone()).collect();
        let first = |name: &str, default: f64| match name {
            "seed_low" => f64::from(self.seed as u32),
            "seed_high" => f64::from((self.seed >> 32) as u32),
            _ => default,
        };
        let scalars = plan.scalars.iter().map(|s| (s.name.clone(), first(&s.name, s.default)));
        let scalars: Vec<(String, f64)> = scalars.collect();
        states.iter().try_for_each(|name| self.session.state(name)?.reset())?;
        scalars.iter().try_for_each(|(name, value)| self.session.set_scalar(name, *value))?;
        self.rows.forget();
        (self.updates, self.skips) = (0, 0);
        Ok(())
    }

    /// Gives every param its value from a file or any other source of tensors, floats of any width as f32, and begins
    /// training anew, as [`Trainer::init`]: what was kept belongs to other weights. Running statistics
    /// that the source has are taken as well, and draws begin again by the seed of the last `init`. [`Trainer::set`]
    /// changes nothing but its param.
    ///
    /// # Errors
    /// [`TrainerError::Source`] for a tensor that is not there or cannot be read, [`TrainerError::Run`] for one that
    /// does not fit.
    pub fn load(&mut self, source: &dyn ByteSource) -> Result<(), TrainerError> {
        // What does not fit is found before anything of the source is taken.
        for param in &self.trained {
            stored(source, &param.name, &param.shape).map_err(|error| of_source(&param.name, error))?;
        }
        let mut statistics = Vec::new();
        for name in self.statistics.iter().filter(|name| source.stored(name).is_ok()) {
            let shape = self.session.state(name)?.read()?.shape().to_vec();
            statistics.push((name.clone(), read(source, name, &shape).map_err(|e| of_source(name, e))?));
        }
        if !self.exe.params().is_empty() {
            self.exe.read_params(source, |_, _| {})?;
        }
        for i in 0..self.trained.len() {
            let (name, shape) = (self.trained[i].name.clone(), &self.trained[i].shape);
            let tensor = read(source, &name, shape).map_err(|error| of_source(&name, error))?;
            self.set(&name, tensor.view())?;
        }
        self.begin_anew()?;
        statistics.iter().try_for_each(|(name, value)| self.set(name, value.view()))
    }

    /// Gives one param or running statistic a value: f32, or as the graph has it. Moments and counts stay as they are.
    ///
    /// # Errors
    /// [`TrainerError::Run`] for a name that neither has, and for a tensor unlike it.
    pub fn set(&mut self, name: &str, value: TensorView<'_>) -> Result<(), TrainerError> {
        self.expect_name(name)?;
        if self.is_state(name) {
            let halves = matches!(value.encoding(), Encoding::Plain(DType::F16 | DType::BF16));
            let wide = if halves { value.encoding().decode(value.bytes()) } else { None };
            let mut state = self.session.state(name)?;
            match wide.map(|wide| Tensor::new(&wide, value.shape())) {
                Some(Ok(wide)) => state.write(wide.view())?,
                _ => state.write(value)?,
            }
        } else {
            self.exe.set_param_view(name, value)?;
        }
        Ok(())
    }

    /// All rows of an input that is a data set ([`Recipe::data_set`](pumice_train::Recipe::data_set)), which stay on
    /// the device.
    ///
    /// # Errors
    /// [`TrainerError::Run`] for an input that is none, and for a tensor unlike it; [`TrainerError::Index`] for a
    /// target that is no class.
    pub fn set_data(&mut self, input: &str, rows: TensorView<'_>) -> Result<(), TrainerError> {
        self.inputs.check_indices(input, &rows)?;
        Ok(self.session.state(&names::data(input))?.write(rows)?)
    }

    /// What a param or a running statistic is now.
    ///
    /// # Errors
    /// [`TrainerError::Run`] for a name that neither has, [`TrainerError::NotSet`] where it was never given a value.
    pub fn get(&mut self, name: &str) -> Result<Tensor, TrainerError> {
        self.expect_name(name)?;
        let mut missing = self.session.missing_states().into_iter().chain(self.exe.missing_params());
        if missing.any(|missing| missing == name) {
            return Err(TrainerError::NotSet { names: vec![name.to_owned()] });
        }
        if self.is_state(name) {
            return Ok(self.session.state(name)?.read()?);
        }
        Ok(self.exe.param(name)?)
    }

    /// Whether a name is one of a trained param or a running statistic.
    fn is_state(&self, name: &str) -> bool {
        self.trained.iter().any(|t| t.name == name) || self.statistics.iter().any(|s| s == name)
    }

    /// That there is such a param or running statistic; the error says which there are.
    fn expect_name(&self, name: &str) -> Result<(), TrainerError> {
        let frozen = self.exe.params();
        if self.is_state(name) || frozen.iter().any(|p| p.name == name) {
            return Ok(());
        }
        let trained = self.trained.iter().map(|t| t.name.clone());
        let frozen = frozen.into_iter().map(|p| p.name.clone());
        let known = trained.chain(frozen).chain(self.statistics.iter().cloned()).collect();
        Err(RuntimeError::UnknownName { kind: NameKind::Param, name: name.to_owned(), known }.into())
    }
}

fn lent<'a>((param, shape): (&'a TensorInfo, &'a Vec<u64>)) -> (&'a str, &'a [u64]) {
    (param.name.as_str(), shape.as_slice())
}

fn of_source(name: &str, source: SourceError) -> TrainerError {
    TrainerError::Source { name: name.to_owned(), source }
}

fn failed(name: &str, why: String) -> SourceError {
    let source = Arc::from(Box::<dyn std::error::Error + Send + Sync>::from(why));
    SourceError { name: name.to_owned(), source }
}

/// How a source has a tensor, which is to have these extents.
fn stored(source: &dyn ByteSource, name: &str, shape: &[u64]) -> Result<Stored, SourceError> {
    let stored = source.stored(name)?;
    if stored.shape == shape {
        return Ok(stored);
    }
    Err(failed(name, format!("its extents are {:?}, those of the param {shape:?}", stored.shape)))
}

/// A tensor of a source as f32, of these extents.
fn read(source: &dyn ByteSource, name: &str, shape: &[u64]) -> Result<Tensor, SourceError> {
    let stored = stored(source, name, shape)?;
    let bytes = pumice_types::tensor::byte_count(stored.encoding, &stored.shape);
    let mut data = vec![0; bytes.map_err(|e| failed(name, e.to_string()))? as usize];
    source.read_bytes(name, 0, &mut data)?;
    let values = stored.encoding.decode(&data);
    let values = values.ok_or_else(|| failed(name, "its bytes are no whole blocks".into()))?;
    Tensor::new(&values, &stored.shape).map_err(|e| failed(name, e.to_string()))
}
