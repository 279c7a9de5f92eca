//! Stored params: setting, reading, and re-running the load steps of those that changed.
//!
//! A gate keeps versions apart: whoever sets params or runs load steps has it alone, a run of any session
//! shares it from its first byte to its last. So a run sees one version, and `set_param` takes effect at
//! the next run of each session. What was stored is what is read back; derived bytes are never shown. A streamed param
//! is passed through while it is set, alone as well; if that fails, it counts as never set. Sources, progress and host
//! steps are called while the gate is passed and no mutex is held.

use crate::device::{DeviceError, FillWeights, Loaded};
use crate::error::{NameKind, RuntimeError};
use crate::gate::{Gate, Shared};
use crate::tables::{Tables, find, part};
use crate::values::convert_f32;
use pumice_plan::{ParamSlot, Plan, StepId};
use pumice_types::{DType, Encoding, Stored, Tensor, TensorView};

/// Bytes for a param or a state: as stored, or f32 to be rounded to the float dtype stored.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Payload<'a> {
    Stored(&'a [u8]),
    Floats(&'a [u8]),
}

impl<'a> Payload<'a> {
    /// Of a view for a slot of this encoding and shape. F32 is taken for every float dtype; blocks are taken as they
    /// are.
    pub fn of_view(
        kind: NameKind,
        name: &str,
        encoding: impl Into<Encoding>,
        shape: &[u64],
        view: &TensorView<'a>,
    ) -> Result<Payload<'a>, RuntimeError> {
        let payload = Payload::of_encoding(kind, name, encoding.into(), view)?;
        check_shape(kind, name, shape, view.shape())?;
        view.check().map_err(|source| RuntimeError::Tensor { kind, name: name.to_owned(), source })?;
        Ok(payload)
    }

    fn of_encoding(
        kind: NameKind,
        name: &str,
        encoding: Encoding,
        view: &TensorView<'a>,
    ) -> Result<Payload<'a>, RuntimeError> {
        let is_float = encoding.plain().is_some_and(DType::is_float);
        let remedy = match encoding {
            Encoding::Plain(DType::F32) => "convert it first",
            Encoding::Plain(_) if is_float => "convert it to that or to f32 first",
            Encoding::Plain(_) => "convert it first",
            Encoding::Blocks(_) => "give its blocks; quantize values first",
            Encoding::Codes(_) => "give its codes; quantize values first",
        };
        match view.encoding() {
            given if given == encoding => Ok(Payload::Stored(view.bytes())),
            Encoding::Plain(DType::F32) if is_float => Ok(Payload::Floats(view.bytes())),
            given => {
                Err(RuntimeError::DType { kind, name: name.to_owned(), expected: encoding, given, remedy })
            }
        }
    }

    /// Whether a stored tensor is a param as it is; false where it is f32 that is rounded first.
    pub fn check_stored(name: &str, slot: &ParamSlot, stored: &Stored) -> Result<bool, RuntimeError> {
        let kind = NameKind::Param;
        check_shape(kind, name, &slot.shape, &stored.shape)?;
        if slot.encoding == stored.encoding {
            return Ok(true);
        }
        let rounds = stored.encoding == DType::F32 && slot.encoding.plain().is_some_and(DType::is_float);
        if rounds {
            return Ok(false);
        }
        let remedy = "compile for the encoding that the source has";
        let (expected, given) = (slot.encoding, stored.encoding);
        Err(RuntimeError::DType { kind, name: name.to_owned(), expected, given, remedy })
    }

    /// Of a slice for a slot of this dtype and number of bytes.
    pub fn of_floats(
        kind: NameKind,
        name: &str,
        encoding: impl Into<Encoding>,
        bytes: u64,
        values: &'a [f32],
    ) -> Result<Payload<'a>, RuntimeError> {
        let (view, encoding) = (TensorView::f32(values, [values.len() as u64]), encoding.into());
        let payload = Payload::of_encoding(kind, name, encoding, &view)?;
        check_length(kind, name, "elements", encoding.elements(bytes), values.len() as u64)?;
        Ok(payload)
    }

    /// Stored bytes from byte `at` on; pieces begin and end between elements.
    fn fill(self, dtype: DType, at: u64, out: &mut [u8]) {
        match self {
            Payload::Stored(bytes) => out.copy_from_slice(&bytes[at as usize..][..out.len()]),
            Payload::Floats(bytes) => {
                // Float bytes for each stored byte: 4 bytes hold one f32 or two of 16 bits.
                let each = Encoding::Plain(dtype).elements(4) as usize;
                let from = &bytes[at as usize * each..][..out.len() * each];
                let put = |at: u64, piece: &[u8]| {
                    out[at as usize..][..piece.len()].copy_from_slice(piece);
                    Ok::<(), std::convert::Infallible>(())
                };
                let Ok(()) = convert_f32(dtype, from, put);
            }
        }
    }

    /// Hands the stored bytes to `part`, piece by piece, each with its offset.
    pub fn write(
        self,
        dtype: DType,
        mut part: impl FnMut(u64, &[u8]) -> Result<(), DeviceError>,
    ) -> Result<(), DeviceError> {
        match self {
            Payload::Stored([]) | Payload::Floats([]) => Ok(()),
            Payload::Stored(bytes) => part(0, bytes),
            Payload::Floats(bytes) => convert_f32(dtype, bytes, part),
        }
    }
}

/// Compares a shape with a static one.
pub(crate) fn check_shape(
    kind: NameKind,
    name: &str,
    expected: &[u64],
    given: &[u64],
) -> Result<(), RuntimeError> {
    let name = || name.to_owned();
    if expected.len() != given.len() {
        return Err(RuntimeError::Rank { kind, name: name(), expected: expected.len(), given: given.len() });
    }
    match expected.iter().zip(given).enumerate().find(|(_, (e, g))| e != g) {
        None => Ok(()),
        Some((axis, (e, &given))) => {
            Err(RuntimeError::Extent { kind, name: name(), axis, expected: e.to_string(), given })
        }
    }
}

/// Compares a number of elements or bytes.
pub(crate) fn check_length(
    kind: NameKind,
    name: &str,
    unit: &'static str,
    expected: u64,
    given: u64,
) -> Result<(), RuntimeError> {
    if expected == given {
        return Ok(());
    }
    Err(RuntimeError::Length { kind, name: name.to_owned(), unit, expected, given })
}

/// What is known of the weights.
#[derive(Debug)]
pub(crate) struct ParamState {
    /// Whether each param has a value. One without bytes always has.
    set: Vec<bool>,
    /// Whether the load steps of each param are still to be run.
    changed: Vec<bool>,
    /// Whether the load program ran as a whole.
    loaded: bool,
}

impl ParamState {
    /// Until they are written, params count as never set.
    fn begin_set(&mut self, tables: &Tables, params: &[usize]) {
        for &p in params {
            self.set[p] = tables.param_bytes[p] == 0;
            // What is derived from a streamed param is made while it is set.
            self.changed[p] |= tables.streams[p].is_none();
        }
    }

    fn end_set(&mut self, params: &[usize]) {
        params.iter().for_each(|&p| self.set[p] = true);
    }

    /// Whether a param has a value.
    pub fn is_set(&self, param: usize) -> bool {
        self.set.get(param).is_some_and(|set| *set)
    }

    fn missing(&self, plan: &Plan) -> Vec<String> {
        let without = plan.params.iter().zip(&self.set).filter(|(_, set)| !**set);
        without.map(|(slot, _)| slot.name.clone()).collect()
    }

    fn is_ready(&self) -> bool {
        self.loaded && !self.changed.contains(&true)
    }

    /// The load steps that are still to be run.
    fn load_steps(&self, tables: &Tables) -> Vec<StepId> {
        match (self.is_ready(), self.loaded) {
            (true, _) => Vec::new(),
            (false, true) => tables.load.steps(&self.changed),
            (false, false) => tables.load.all(),
        }
    }

    fn end_load(&mut self) {
        self.loaded = true;
        self.changed.fill(false);
    }
}

/// The weights of an executable.
#[derive(Debug)]
pub(crate) struct Params {
    gate: Gate<ParamState>,
}

/// As long as it lives nobody sets anything.
pub(crate) type Held<'a> = Shared<'a, ParamState>;

impl Params {
    /// Nothing set.
    pub fn new(tables: &Tables) -> Params {
        let set: Vec<bool> = tables.param_bytes.iter().map(|&b| b == 0).collect();
        Params { gate: Gate::new(ParamState { changed: vec![false; set.len()], set, loaded: false }) }
    }

    /// Holds off every set, to read what is set.
    pub fn read(&self) -> Held<'_> {
        self.gate.share_to_read()
    }

    /// Whether every param has a value, once nobody sets any.
    ///
    /// # Errors
    /// [`RuntimeError::MissingParams`] with those that have none; [`RuntimeError::InsideSet`] in code that setting them
    /// called.
    pub fn check_set(&self, plan: &Plan) -> Result<(), RuntimeError> {
        let names = self.gate.share(false)?.look(|state| state.missing(plan));
        if names.is_empty() { Ok(()) } else { Err(RuntimeError::MissingParams { names }) }
    }

    /// Stores params together, so that no run sees some of them old and some new.
    pub fn store(
        &self,
        plan: &Plan,
        tables: &Tables,
        loaded: &dyn Loaded,
        values: &[(usize, Payload<'_>)],
    ) -> Result<(), RuntimeError> {
        let alone = self.gate.alone()?;
        for &(param, payload) in values {
            let (Some(slot), Some(tied)) = (plan.params.get(param), tables.tied.get(param)) else {
                return Err(RuntimeError::plan(plan, format!("there is no param {param}")));
            };
            alone.change(|state| state.begin_set(tables, tied));
            let dtype = slot.encoding.dtype();
            match tables.streams[param] {
                Some(stream) => loaded.stream(stream, &mut |_, at, out| {
                    payload.fill(dtype, at, out);
                    Ok(())
                })?,
                None => payload.write(dtype, |at, bytes| {
                    loaded.write_weights(part(slot.span, at, bytes.len() as u64), bytes)
                })?,
            }
            alone.change(|state| state.end_set(tied));
        }
        Ok(())
    }

    /// Fills params, each with as many bytes as it has, straight where the device keeps them, or takes them from. Kept
    /// ones come first, and are filled together.
    pub fn fill(
        &self,
        plan: &Plan,
        tables: &Tables,
        loaded: &dyn Loaded,
        params: &[usize],
        fill: &mut FillWeights<'_>,
    ) -> Result<(), RuntimeError> {
        let (kept, streamed) = params.split_at(params.partition_point(|&p| tables.streams[p].is_none()));
        let spans: Vec<_> =
            kept.iter().map(|&p| part(plan.params[p].span, 0, tables.param_bytes[p])).collect();
        let failed = |e| match e {
            DeviceError::Source(e) => RuntimeError::Source(e),
            e => e.into(),
        };
        let alone = self.gate.alone()?;
        alone.change(|state| params.iter().for_each(|&p| state.begin_set(tables, &tables.tied[p])));
        loaded.fill_weights(&spans, fill).map_err(failed)?;
        alone.change(|state| kept.iter().for_each(|&p| state.end_set(&tables.tied[p])));
        for (i, &p) in (kept.len()..).zip(streamed) {
            let Some(stream) = tables.streams[p] else { continue };
            loaded.stream(stream, &mut |_, at, out| fill(i, at, out)).map_err(failed)?;
            alone.change(|state| state.end_set(&[p]));
        }
        Ok(())
    }

    /// Names of the params that were never set, or are being set.
    pub fn missing(&self, plan: &Plan) -> Vec<String> {
        self.gate.look(|state| state.missing(plan))
    }

    /// Every param set and every load step run; as long as what is returned lives nobody sets anything. `calls_user`:
    /// whether host steps run meanwhile.
    pub fn ready(
        &self,
        plan: &Plan,
        tables: &Tables,
        loaded: &dyn Loaded,
        calls_user: bool,
    ) -> Result<Held<'_>, RuntimeError> {
        let shared = self.gate.share(calls_user)?;
        if shared.look(ParamState::is_ready) {
            return Ok(shared);
        }
        drop(shared);
        let alone = self.gate.alone()?;
        let names = alone.change(|state| state.missing(plan));
        if !names.is_empty() {
            return Err(RuntimeError::MissingParams { names });
        }
        let steps = alone.change(|state| state.load_steps(tables));
        if !steps.is_empty() {
            loaded.run_load(&steps)?;
        }
        alone.change(ParamState::end_load);
        Ok(alone.downgrade(calls_user))
    }

    /// What was stored; of a param that is kept.
    pub fn get(
        &self,
        plan: &Plan,
        tables: &Tables,
        loaded: &dyn Loaded,
        name: &str,
    ) -> Result<Tensor, RuntimeError> {
        let param = find(&tables.params, NameKind::Param, name)?;
        let slot = &plan.params[param];
        if tables.streams[param].is_some() {
            return Err(RuntimeError::NotKept { name: name.to_owned() });
        }
        let held = self.read();
        if !held.look(|state| state.is_set(param)) {
            return Err(RuntimeError::MissingParams { names: vec![name.to_owned()] });
        }
        let mut bytes = vec![0; tables.param_bytes[param] as usize];
        if !bytes.is_empty() {
            loaded.read_weights(part(slot.span, 0, bytes.len() as u64), &mut bytes)?;
        }
        Tensor::from_bytes(slot.encoding, &slot.shape, bytes).map_err(|source| RuntimeError::Tensor {
            kind: NameKind::Param,
            name: name.to_owned(),
            source,
        })
    }
}
