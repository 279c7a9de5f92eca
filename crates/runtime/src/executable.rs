//! A plan on a device with one copy of the weights: params are set here, sessions are made here.
//!
//! In: a device, a plan, and who prepares host steps. Out: [`Session`]s. An [`Executable`] is a handle; clones share
//! everything. It may be used from many threads at once.

use crate::device::{Device, DeviceError, HostOps, Loaded};
use crate::error::{NameKind, RuntimeError};
use crate::interface::TensorInfo;
use crate::memory::MemorySummary;
use crate::params::{Params, Payload, check_length};
use crate::session::Session;
use crate::span::span;
use crate::tables::{Tables, find, part};
use indexmap::IndexSet;
use pumice_plan::{CheckedPlan, Entry, IoSlot, Plan, ScalarSlot};
use pumice_types::{ByteSource, Bytes, Tensor, TensorView};
use std::fmt;
use std::sync::Arc;

/// A compiled graph that is ready to run.
#[derive(Clone)]
pub struct Executable {
    inner: Arc<Inner>,
}

/// What an executable and its sessions share.
pub(crate) struct Inner {
    pub plan: CheckedPlan,
    pub tables: Tables,
    pub device: Arc<dyn Device>,
    pub loaded: Arc<dyn Loaded>,
    pub params: Params,
}

/// Params by how a source stores them.
struct Stored {
    /// As they are on the device; those that are streamed come last.
    direct: Vec<usize>,
    /// As f32, which is rounded on the host.
    widened: Vec<usize>,
}

impl Executable {
    /// Takes memory for the weights of the plan, writes its constants, and makes it ready to run. Params are set
    /// afterwards.
    ///
    /// # Errors
    /// [`RuntimeError::Plan`] for a plan that contradicts itself; [`RuntimeError::Device`] where the weights
    /// and one session do not fit, a host step cannot be prepared, an op of a user is not registered
    /// ([`DeviceError::UnknownOps`]), or the device fails.
    pub fn new(
        device: Arc<dyn Device>,
        plan: CheckedPlan,
        host: Arc<dyn HostOps>,
    ) -> Result<Executable, RuntimeError> {
        span!("load", plan = plan.name.as_str(), device = device.name());
        let names = host.missing(&plan);
        if !names.is_empty() {
            return Err(DeviceError::UnknownOps { plan: plan.name.clone(), names }.into());
        }
        let tables = Tables::new(&plan)?;
        check_memory(&plan, device.as_ref())?;
        let loaded = device.load(plan.clone(), host)?;
        for constant in plan.constants.iter().filter(|c| !c.data.bytes().is_empty()) {
            let bytes = constant.data.bytes();
            loaded.write_weights(part(constant.span, 0, bytes.len() as u64), bytes)?;
        }
        let params = Params::new(&tables);
        Ok(Executable { inner: Arc::new(Inner { plan, tables, device, loaded, params }) })
    }

    pub(crate) fn of(inner: Arc<Inner>) -> Executable {
        Executable { inner }
    }

    /// What will run, where, and why.
    pub fn plan(&self) -> &CheckedPlan {
        &self.inner.plan
    }

    /// Names of the entries; one where it was compiled from one graph.
    pub fn entries(&self) -> Vec<&str> {
        self.inner.tables.entries.iter().map(String::as_str).collect()
    }

    /// The inputs of the first entry in declaration order. An extent that is a symbol alone binds it.
    pub fn inputs(&self) -> Vec<TensorInfo> {
        self.infos(self.plan().entries.first().map_or(&[], |entry| self.plan().inputs_of(entry)))
    }

    /// The outputs of the first entry in declaration order.
    pub fn outputs(&self) -> Vec<TensorInfo> {
        self.infos(self.plan().entries.first().map_or(&[], |entry| self.plan().outputs_of(entry)))
    }

    /// The inputs of an entry in declaration order.
    ///
    /// # Errors
    /// [`RuntimeError::UnknownName`] for an entry that the program does not have.
    pub fn inputs_of(&self, entry: &str) -> Result<Vec<TensorInfo>, RuntimeError> {
        Ok(self.infos(self.plan().inputs_of(self.find_entry(entry)?)))
    }

    /// The outputs of an entry in declaration order.
    ///
    /// # Errors
    /// [`RuntimeError::UnknownName`] for an entry that the program does not have.
    pub fn outputs_of(&self, entry: &str) -> Result<Vec<TensorInfo>, RuntimeError> {
        Ok(self.infos(self.plan().outputs_of(self.find_entry(entry)?)))
    }

    fn find_entry(&self, name: &str) -> Result<&Entry, RuntimeError> {
        Ok(&self.plan().entries[find(&self.inner.tables.entries, NameKind::Entry, name)?])
    }

    fn infos(&self, slots: &[IoSlot]) -> Vec<TensorInfo> {
        let plan = self.plan();
        slots.iter().map(|s| TensorInfo::of(plan, &s.name, s.dtype, &s.shape)).collect()
    }

    /// The params, as they are stored.
    pub fn params(&self) -> Vec<TensorInfo> {
        let plan = self.plan();
        plan.params.iter().map(|s| TensorInfo::fixed(plan, &s.name, s.encoding, &s.shape)).collect()
    }

    /// The states, as they are stored.
    pub fn states(&self) -> Vec<TensorInfo> {
        let plan = self.plan();
        plan.states.iter().map(|s| TensorInfo::fixed(plan, &s.name, s.dtype, &s.shape)).collect()
    }

    /// The dynamic scalars with their ranges and defaults.
    pub fn scalars(&self) -> &[ScalarSlot] {
        &self.plan().scalars
    }

    /// Name of the device it runs on.
    pub fn device_name(&self) -> String {
        self.inner.device.name()
    }

    /// Regions with their sizes, and how good the placement is; prints as a table.
    pub fn memory(&self) -> MemorySummary {
        MemorySummary::of(&self.inner.plan)
    }

    /// Makes the pipelines of every run now, in parallel, instead of at each run's first replay.
    ///
    /// # Errors
    /// [`RuntimeError::Device`] where a pipeline cannot be made.
    pub fn prepare(&self) -> Result<(), RuntimeError> {
        span!("prepare", plan = self.inner.plan.name.as_str());
        let runs: Vec<usize> = (0..self.inner.plan.runs.len()).collect();
        Ok(self.inner.loaded.prepare(&runs)?)
    }

    /// As [`Executable::prepare`], for some runs of the plan, by number.
    ///
    /// # Errors
    /// [`RuntimeError::Device`] for a run that the plan does not have, or where a pipeline cannot be made.
    pub fn prepare_runs(&self, runs: &[usize]) -> Result<(), RuntimeError> {
        span!("prepare", plan = self.inner.plan.name.as_str());
        Ok(self.inner.loaded.prepare(runs)?)
    }

    /// A new session. States begin with their initial values.
    ///
    /// # Errors
    /// [`RuntimeError::Device`] where the session's memory does not fit or the device fails.
    pub fn session(&self) -> Result<Session, RuntimeError> {
        Session::new(Arc::clone(&self.inner))
    }

    /// Sets a param of a float dtype, rounding each value to nearest even. Row-major; takes effect at the next run of
    /// each session: while runs are under way, this waits for their end.
    ///
    /// # Errors
    /// [`RuntimeError::UnknownName`]; [`RuntimeError::DType`] for a param of no float dtype;
    /// [`RuntimeError::Length`] for another number of values than it has; [`RuntimeError::SetInsideRun`] in a host step
    /// of a run of this executable, [`RuntimeError::InsideSet`] in code that another set of it called;
    /// [`RuntimeError::Device`] where the write fails, after which the param counts as never set.
    pub fn set_param(&self, name: &str, values: &[f32]) -> Result<(), RuntimeError> {
        let (param, bytes) = self.find_param(name)?;
        let encoding = self.inner.plan.params[param].encoding;
        let payload = Payload::of_floats(NameKind::Param, name, encoding, bytes, values)?;
        self.store(&[(param, payload)])
    }

    /// Sets a param from a tensor of its shape and dtype, or of f32 for a float dtype.
    ///
    /// # Errors
    /// [`RuntimeError::UnknownName`]; [`RuntimeError::DType`], [`RuntimeError::Rank`] or
    /// [`RuntimeError::Extent`] for a tensor unlike the param, [`RuntimeError::Tensor`] for a view whose
    /// bytes and shape disagree; [`RuntimeError::Device`] as in [`Executable::set_param`].
    pub fn set_param_view(&self, name: &str, view: TensorView<'_>) -> Result<(), RuntimeError> {
        self.set_params(&[(name, view)])
    }

    /// Sets a param from its natural bytes: row-major, little-endian.
    ///
    /// # Errors
    /// [`RuntimeError::UnknownName`]; [`RuntimeError::Length`] for another number of bytes than the param
    /// has; [`RuntimeError::Device`] as in [`Executable::set_param`].
    pub fn set_param_bytes(&self, name: &str, bytes: &[u8]) -> Result<(), RuntimeError> {
        let (param, expected) = self.find_param(name)?;
        check_length(NameKind::Param, name, "bytes", expected, bytes.len() as u64)?;
        self.store(&[(param, Payload::Stored(bytes))])
    }

    /// Sets several params together: a run sees all of them old or all of them new, unless the device fails meanwhile.
    /// Nothing is written unless all of them are right. Of tied names the last one counts.
    ///
    /// # Errors
    /// As [`Executable::set_param_view`], and [`RuntimeError::Duplicate`] for a name given twice. Where the
    /// device fails, params before the failing one are written and those after it are not.
    pub fn set_params(&self, values: &[(&str, TensorView<'_>)]) -> Result<(), RuntimeError> {
        let mut payloads: Vec<(usize, Payload<'_>)> = Vec::with_capacity(values.len());
        for (name, view) in values {
            let (param, _) = self.find_param(name)?;
            if payloads.iter().any(|(p, _)| *p == param) {
                return Err(RuntimeError::Duplicate { kind: NameKind::Param, name: (*name).to_owned() });
            }
            let slot = &self.inner.plan.params[param];
            payloads
                .push((param, Payload::of_view(NameKind::Param, name, slot.encoding, &slot.shape, view)?));
        }
        self.store(&payloads)
    }

    /// Sets every param from a source, piece by piece and without a copy of the whole on the host. `progress` hears how
    /// many are done, of how many. A run sees all of them old or all of them new, but for those that are rounded from
    /// f32 on the way: they follow one by one. Until all are set, runs of this executable in other threads wait.
    /// `source` and `progress` may take their time, use other executables, and read what is set of this one.
    ///
    /// # Errors
    /// [`RuntimeError::Source`] for a name that the source does not have or cannot read; [`RuntimeError::DType`],
    /// [`RuntimeError::Rank`] or [`RuntimeError::Extent`] for a tensor unlike the param, before anything is written;
    /// [`RuntimeError::SetInsideRun`] and [`RuntimeError::InsideSet`] as in [`Executable::set_param`];
    /// [`RuntimeError::Device`] where the device fails. After a failure while reading, params count as never set.
    pub fn read_params(
        &self,
        source: &dyn ByteSource,
        mut progress: impl FnMut(usize, usize),
    ) -> Result<(), RuntimeError> {
        span!("read params", plan = self.inner.plan.name.as_str());
        let slots = &self.inner.plan.params;
        let inner = &self.inner;
        let Stored { direct, widened } = self.stored(source)?;
        let mut done = 0;
        inner.params.fill(
            &inner.plan,
            &inner.tables,
            inner.loaded.as_ref(),
            &direct,
            &mut |i, at, out| {
                if at == 0 {
                    done = i;
                    progress(i, slots.len());
                }
                source.read_bytes(&slots[direct[i]].name, at, out)
            },
        )?;
        // What is rounded on the host passes through memory, one tensor at a time.
        for &i in &widened {
            done += 1;
            progress(done, slots.len());
            let slot = &slots[i];
            let mut bytes = vec![0; self.rounded_bytes(i)];
            source.read_bytes(&slot.name, 0, &mut bytes)?;
            self.store(&[(i, Payload::Floats(&bytes))])?;
        }
        progress(slots.len(), slots.len());
        Ok(())
    }

    /// How a source stores the params.
    fn stored(&self, source: &dyn ByteSource) -> Result<Stored, RuntimeError> {
        let (mut direct, mut streamed, mut widened) = (Vec::new(), Vec::new(), Vec::new());
        for (i, slot) in self.inner.plan.params.iter().enumerate() {
            let stored = source.stored(&slot.name)?;
            match Payload::check_stored(&slot.name, slot, &stored)? {
                true if self.inner.tables.streams[i].is_some() => streamed.push(i),
                true => direct.push(i),
                false => widened.push(i),
            }
        }
        direct.append(&mut streamed);
        Ok(Stored { direct, widened })
    }

    /// Bytes of a param's elements as f32.
    fn rounded_bytes(&self, param: usize) -> usize {
        let encoding = self.inner.plan.params[param].encoding;
        (encoding.elements(self.inner.tables.param_bytes[param]) * 4) as usize
    }

    /// A param as it was stored.
    ///
    /// # Errors
    /// [`RuntimeError::UnknownName`]; [`RuntimeError::NotKept`] for one that passes through (the plan's text says which
    /// do); [`RuntimeError::MissingParams`] for one that was never set; [`RuntimeError::Device`] where the read fails.
    pub fn param(&self, name: &str) -> Result<Tensor, RuntimeError> {
        let inner = &self.inner;
        inner.params.get(&inner.plan, &inner.tables, inner.loaded.as_ref(), name)
    }

    /// Names of the params that were never set.
    pub fn missing_params(&self) -> Vec<String> {
        self.inner.params.missing(&self.inner.plan)
    }

    /// The index of an output of the first entry, for `Session::run_read`.
    ///
    /// # Errors
    /// [`RuntimeError::UnknownName`] for an output that the entry does not have.
    pub fn output_index(&self, name: &str) -> Result<usize, RuntimeError> {
        let of_first = self.inner.tables.of_entries.first();
        find(of_first.map_or(&IndexSet::new(), |names| &names.outputs), NameKind::Output, name)
    }

    /// Position and bytes of a param.
    fn find_param(&self, name: &str) -> Result<(usize, u64), RuntimeError> {
        let param = find(&self.inner.tables.params, NameKind::Param, name)?;
        Ok((param, self.inner.tables.param_bytes[param]))
    }

    fn store(&self, values: &[(usize, Payload<'_>)]) -> Result<(), RuntimeError> {
        let inner = &self.inner;
        inner.params.store(&inner.plan, &inner.tables, inner.loaded.as_ref(), values)
    }
}

impl fmt::Debug for Executable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plan = &self.inner.plan;
        f.debug_struct("Executable")
            .field("plan", &plan.name)
            .field("runs", &plan.runs.len())
            .finish_non_exhaustive()
    }
}

/// Refuses a plan of which one session cannot fit, before anything is taken.
fn check_memory(plan: &Plan, device: &dyn Device) -> Result<(), DeviceError> {
    let needed: Bytes = plan.regions.iter().map(|r| r.size()).sum();
    let available = device.target().limits.memory;
    if needed <= available {
        return Ok(());
    }
    Err(DeviceError::OutOfMemory {
        what: format!("plan `{}` with one session", plan.name),
        needed,
        available,
        remedy: "lower the symbols' upper bounds or the states' extents, store weights in a narrower dtype, or use a \
                 device with more memory"
            .to_owned(),
    })
}
