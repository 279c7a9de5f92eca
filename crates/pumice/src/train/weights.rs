//! Values of params and data sets: by rules, from a source, by name; and what they are now.

use super::error::TrainerError;
use super::source::{Wanted, Widened, halves_as_f32};
use super::trainer::Trainer;
use pumice_plan::{StateInit, StateSlot};
use pumice_runtime::{NameKind, RuntimeError, TensorInfo};
use pumice_train::{Init, names};
use pumice_types::{ByteSource, DType, Encoding, Tensor, TensorView};

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

    /// Gives every param its value from a file or any other source of tensors, and begins training anew, as
    /// [`Trainer::init`]: what was kept belongs to other weights. Floats of any width are taken for a param of floats,
    /// trained (blocks of floats as well) or frozen. Running statistics that the source has are taken too, a state of
    /// integers in its own type, and draws begin again by the seed of the last `init`. [`Trainer::set`] changes nothing
    /// but its param.
    ///
    /// # Errors
    /// [`TrainerError::Source`] for a tensor that is not there, cannot be read or is of other extents or another type,
    /// [`TrainerError::Run`] for a frozen param that does not fit: nothing of the source is taken. Only frozen params
    /// are not read beforehand: where reading one fails, they count as never given, and all else is as it was. Where
    /// the device fails, [`TrainerError::Run`], some are new.
    pub fn load(&mut self, source: &dyn ByteSource) -> Result<(), TrainerError> {
        let all = self.wanted();
        let there = all.into_iter().filter(|wanted| wanted.is_needed || source.stored(&wanted.name).is_ok());
        let there: Vec<Wanted> = there.collect();
        // What does not fit is found before anything is read, and what cannot be read before anything is taken.
        there.iter().try_for_each(|wanted| wanted.check(source))?;
        let values: Vec<Tensor> =
            there.iter().map(|wanted| wanted.read(source)).collect::<Result<_, TrainerError>>()?;
        let frozen = self.exe.params();
        if !frozen.is_empty() {
            self.exe.read_params(&Widened::new(source, &frozen), |_, _| {})?;
        }
        let (params, statistics): (Vec<_>, Vec<_>) =
            there.iter().zip(&values).partition(|(wanted, _)| wanted.is_needed);
        params.into_iter().try_for_each(|(wanted, value)| self.set(&wanted.name, value.view()))?;
        self.begin_anew()?;
        statistics.into_iter().try_for_each(|(wanted, value)| self.set(&wanted.name, value.view()))
    }

    /// What a source is asked for: trained params, and statistics if it has them.
    fn wanted(&self) -> Vec<Wanted> {
        let states = self.exe.plan().states.iter();
        let of = |state: &StateSlot| {
            let is_needed = self.trained.iter().any(|t| t.name == state.name);
            Wanted { name: state.name.clone(), shape: state.shape.clone(), dtype: state.dtype, is_needed }
        };
        states.filter(|state| self.is_state(&state.name)).map(of).collect()
    }

    /// Gives one param or running statistic a value: floats of any width, or as the graph has it. Moments and counts
    /// stay as they are.
    ///
    /// # Errors
    /// [`TrainerError::Run`] for a name that neither has, and for a tensor unlike it.
    pub fn set(&mut self, name: &str, value: TensorView<'_>) -> Result<(), TrainerError> {
        self.expect_name(name)?;
        let wide = halves_as_f32(self.encoding_of(name), &value);
        let value = wide.as_ref().map_or(value, Tensor::view);
        if self.is_state(name) {
            self.session.state(name)?.write(value)?;
        } else {
            self.exe.set_param_view(name, value)?;
        }
        Ok(())
    }

    /// How a param or a running statistic is stored.
    fn encoding_of(&self, name: &str) -> Option<Encoding> {
        let plan = self.exe.plan();
        let state = plan.states.iter().find(|state| state.name == name).map(|state| state.dtype.into());
        let param = || plan.params.iter().find(|param| param.name == name).map(|param| param.encoding);
        state.or_else(param)
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
