//! Pipelines: made when first needed, in parallel, once per device, with the driver's cache kept on disk.
//!
//! In: kernel calls. Out: a pipeline with its argument layout. Two calls share a pipeline when kernel, variant,
//! specialization and filled holes agree. Nothing here knows what a call is for.

use crate::abandoned;
use crate::cache_file::{CacheFile, CacheIdentity, Content};
use crate::codegen::FloatControls;
use crate::error::device_error;
use crate::kernel_source::KernelSource;
use crate::raw::{DeviceShared, Pipeline, PipelineCache, PipelineLayout, SetLayout, ShaderModule};
use crate::slot_access::{SlotAccess, tighten};
use indexmap::{IndexMap, IndexSet};
use pumice_plan::kernel::interface::{Addressing, frame_binding};
use pumice_plan::kernel::{HoleFill, HoleInput, KernelDecl, KernelName, Layout};
use pumice_plan::{KernelCall, Use};
use pumice_runtime::device::DeviceError;
use pumice_types::scalar::ScalarExpr;
use std::borrow::Cow;
use std::num::NonZero;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// A call that needs a pipeline, with the uses its operands and slots point at.
#[derive(Clone, Copy)]
pub(crate) struct PipelineRequest<'a> {
    pub(crate) call: &'a KernelCall,
    pub(crate) uses: &'a [Use],
}

/// A pipeline that is ready, and how its arguments are laid out.
#[derive(Clone)]
pub(crate) struct Ready {
    pub(crate) pipeline: Arc<Pipeline>,
    pub(crate) layout: Layout,
    pub(crate) decl: &'static KernelDecl,
}

/// How far making pipelines is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Made<'a> {
    pub(crate) done: usize,
    pub(crate) total: usize,
    /// The call whose pipeline was made last.
    pub(crate) label: &'a str,
}

/// What tells pipelines apart.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    kernel: KernelName,
    variant: Cow<'static, str>,
    spec: Vec<(u32, u32)>,
    holes: Vec<HoleKey>,
    /// Descriptor form only: the module depends on them.
    slots: Vec<SlotAccess>,
}

/// A filled hole, as far as the module depends on it.
#[derive(Clone, PartialEq, Eq, Hash)]
struct HoleKey {
    hole: Cow<'static, str>,
    expr: ScalarExpr,
    inputs: Vec<HoleInput>,
    result: Option<u16>,
    stores: Vec<(u8, u16)>,
}

impl From<&HoleFill> for HoleKey {
    fn from(fill: &HoleFill) -> HoleKey {
        HoleKey {
            hole: fill.hole.clone(),
            expr: fill.expr.clone(),
            inputs: fill.inputs.to_vec(),
            result: fill.result,
            stores: fill.stores.to_vec(),
        }
    }
}

/// All pipelines of a device.
pub(crate) struct Pipelines {
    shared: Arc<DeviceShared>,
    source: Arc<dyn KernelSource>,
    addressing: Addressing,
    controls: FloatControls,
    threads: usize,
    cache: PipelineCache,
    file: Option<CacheFile>,
    layouts: Mutex<IndexMap<(u32, u32), Arc<PipelineLayout>>>,
    known: Mutex<Known>,
    /// Called whenever pipelines are ready, or could not be made.
    changed: Condvar,
    notes: Mutex<Vec<String>>,
}

/// Pipelines that are there, and those that some thread is making. No pipeline is made twice: it would take its time
/// twice, and the one too many would be destroyed while the other runs.
#[derive(Default)]
struct Known {
    ready: IndexMap<Key, Ready>,
    making: IndexSet<Key>,
}

impl Known {
    /// Neither there nor being made.
    fn is_free(&self, key: &Key) -> bool {
        !self.ready.contains_key(key) && !self.making.contains(key)
    }
}

/// A key that this thread makes. However that ends (an error, a panic), it is free for others when this goes.
struct Claim<'a> {
    of: &'a Pipelines,
    key: Key,
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        lock(&self.of.known).making.swap_remove(&self.key);
        self.of.changed.notify_all();
    }
}

/// What one call of [`Pipelines::prepare`] has done so far.
#[derive(Default)]
struct Batch {
    /// Pipelines that it made, with the labels of their calls.
    new: Vec<(String, Ready)>,
    /// Pipelines that its threads are making.
    making: usize,
    failure: Option<DeviceError>,
}

/// How pipelines are made.
pub(crate) struct PipelineOptions {
    pub(crate) source: Arc<dyn KernelSource>,
    pub(crate) addressing: Addressing,
    /// The float behaviour every module declares.
    pub(crate) controls: FloatControls,
    /// Threads that make pipelines; `None`: as many as the machine runs.
    pub(crate) threads: Option<usize>,
    /// Folder of the cache and identity of the device; `None`: nothing is read or written.
    pub(crate) cache: Option<(std::path::PathBuf, CacheIdentity)>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The maps are changed by single inserts: a panic elsewhere leaves them valid.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pipelines {
    /// Where code comes from.
    pub(crate) fn source(&self) -> &dyn KernelSource {
        self.source.as_ref()
    }

    /// Reads the cache; no pipeline is made yet.
    pub(crate) fn new(
        shared: &Arc<DeviceShared>,
        options: PipelineOptions,
    ) -> Result<Pipelines, DeviceError> {
        if let Some((folder, _)) = &options.cache {
            abandoned::remove(folder, SystemTime::now());
        }
        let file =
            options.cache.map(|(folder, identity)| CacheFile::new(&folder, identity, Content::Pipelines));
        let mut notes = Vec::new();
        let initial = match file.as_ref().map(|f| (f.load(), f.path())) {
            Some((Ok(Some(data)), _)) => data,
            Some((Err(refusal), path)) => {
                notes.push(format!("pipeline cache {} is not used: {refusal}", path.display()));
                Vec::new()
            }
            Some((Ok(None), _)) | None => Vec::new(),
        };
        let available = std::thread::available_parallelism().map_or(1, NonZero::get);
        Ok(Pipelines {
            shared: shared.clone(),
            source: options.source,
            addressing: options.addressing,
            controls: options.controls,
            threads: options.threads.unwrap_or(available).max(1),
            cache: PipelineCache::new(shared, &initial).map_err(device_error)?,
            file,
            layouts: Mutex::default(),
            known: Mutex::default(),
            changed: Condvar::new(),
            notes: Mutex::new(notes),
        })
    }

    /// The addressing form of every pipeline.
    pub(crate) fn addressing(&self) -> Addressing {
        self.addressing
    }

    /// What happened to the cache, for people.
    pub(crate) fn notes(&self) -> Vec<String> {
        lock(&self.notes).clone()
    }

    /// The pipeline of a call that was prepared.
    pub(crate) fn get(&self, request: PipelineRequest<'_>) -> Result<Ready, DeviceError> {
        let key = self.key(request);
        let missing =
            || DeviceError::Unsupported(format!("{} before its pipeline was made", request.call.label()));
        lock(&self.known).ready.get(&key).cloned().ok_or_else(missing)
    }

    /// Makes every pipeline that is not there yet and returns them with the labels of their calls; waits for those that
    /// other threads are making. What was made stays, also when another one fails. `made` hears of each one, from the
    /// thread that made it, when it is there for all: it may take its time, and prepare other pipelines.
    pub(crate) fn prepare<'a>(
        &self,
        requests: impl Iterator<Item = PipelineRequest<'a>>,
        made: &(dyn Fn(Made<'_>) + Sync),
    ) -> Result<Vec<(String, Ready)>, DeviceError> {
        let wanted: IndexMap<Key, PipelineRequest<'a>> = requests.map(|r| (self.key(r), r)).collect();
        let batch = Mutex::new(Batch::default());
        let free = self.count_free(&wanted);
        std::thread::scope(|scope| {
            for _ in 1..self.threads.min(free) {
                // Where the system gives no further thread, the others do the work.
                let work = || self.make_free(&wanted, &batch, made);
                if std::thread::Builder::new().spawn_scoped(scope, work).is_err() {
                    break;
                }
            }
            self.make_free(&wanted, &batch, made);
        });
        while self.wait_for_others(&wanted, &batch) {
            self.make_free(&wanted, &batch, made);
        }
        let Batch { new, failure, .. } = batch.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(failure) = failure {
            return Err(failure);
        }
        if !new.is_empty() {
            self.store()?;
        }
        Ok(new)
    }

    /// How many are neither there nor being made.
    fn count_free(&self, wanted: &IndexMap<Key, PipelineRequest<'_>>) -> usize {
        let known = lock(&self.known);
        wanted.keys().filter(|key| known.is_free(key)).count()
    }

    /// Makes pipelines that nobody makes, one after the other, until none is left or one failed.
    fn make_free<'a>(
        &self,
        wanted: &IndexMap<Key, PipelineRequest<'a>>,
        batch: &Mutex<Batch>,
        made: &(dyn Fn(Made<'_>) + Sync),
    ) {
        while let Some((claim, request)) = self.claim(wanted, batch) {
            let result = self.make(request);
            let label = request.call.label();
            let published = self.publish(wanted, batch, claim, (label.clone(), result));
            // Nothing is held here: neither a lock nor a claim.
            if let Some((done, total)) = published {
                made(Made { done, total, label: &label });
            }
        }
    }

    /// The first that is neither there nor being made, which is this thread's now.
    fn claim<'a>(
        &self,
        wanted: &IndexMap<Key, PipelineRequest<'a>>,
        batch: &Mutex<Batch>,
    ) -> Option<(Claim<'_>, PipelineRequest<'a>)> {
        let (mut known, mut batch) = (lock(&self.known), lock(batch));
        if batch.failure.is_some() {
            return None;
        }
        let (key, request) = wanted.iter().find(|(key, _)| known.is_free(key))?;
        known.making.insert(key.clone());
        batch.making += 1;
        Some((Claim { of: self, key: key.clone() }, *request))
    }

    /// Has what was made there for all. Returns how many the batch made, and how many it will have made; nothing where
    /// making failed.
    fn publish(
        &self,
        wanted: &IndexMap<Key, PipelineRequest<'_>>,
        batch: &Mutex<Batch>,
        claim: Claim<'_>,
        (label, result): (String, Result<Ready, DeviceError>),
    ) -> Option<(usize, usize)> {
        let (mut known, mut batch) = (lock(&self.known), lock(batch));
        batch.making -= 1;
        let ready = match result {
            Ok(ready) => ready,
            Err(error) => {
                batch.failure = batch.failure.take().or(Some(error));
                // The claim goes last, when its lock is free.
                drop((known, batch));
                return None;
            }
        };
        known.ready.insert(claim.key.clone(), ready.clone());
        batch.new.push((label, ready));
        let free = wanted.keys().filter(|key| known.is_free(key)).count();
        let (done, left) = (batch.new.len(), batch.making + free);
        drop((known, batch));
        drop(claim);
        Some((done, done + left))
    }

    /// Waits while other threads make all that are missing. Whether some are free to be made; none where the batch
    /// failed.
    fn wait_for_others(&self, wanted: &IndexMap<Key, PipelineRequest<'_>>, batch: &Mutex<Batch>) -> bool {
        if lock(batch).failure.is_some() {
            return false;
        }
        let mut known = lock(&self.known);
        loop {
            if wanted.keys().any(|key| known.is_free(key)) {
                return true;
            }
            if wanted.keys().all(|key| known.ready.contains_key(key)) {
                return false;
            }
            known = self.changed.wait(known).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn make(&self, request: PipelineRequest<'_>) -> Result<Ready, DeviceError> {
        let call = request.call;
        let defect = |why: String| DeviceError::Unsupported(why);
        let decl = call.check().map_err(|e| defect(e.to_string()))?;
        let layout = decl.layout();
        let mut words = self.source.spirv(call, self.addressing, self.controls).map_err(defect)?;
        if self.addressing == Addressing::Descriptor {
            let accesses = SlotAccess::of(decl, request);
            words = tighten(&words, &accesses).map_err(|e| defect(format!("{}: {e}", call.label())))?;
        }
        let pipeline_layout = self.layout(decl, &layout)?;
        let module = ShaderModule::new(&self.shared, &words).map_err(device_error)?;
        let pipeline = Pipeline::new(&self.shared, &pipeline_layout, &module, &call.spec, &self.cache)
            .map_err(device_error)?;
        Ok(Ready { pipeline: Arc::new(pipeline), layout, decl })
    }

    fn layout(&self, decl: &KernelDecl, layout: &Layout) -> Result<Arc<PipelineLayout>, DeviceError> {
        let bindings = match self.addressing {
            Addressing::Address => 0,
            Addressing::Descriptor => frame_binding(decl) + 1 + u32::from(layout.block),
        };
        let key = (layout.push_bytes(), bindings);
        let mut layouts = lock(&self.layouts);
        if let Some(found) = layouts.get(&key) {
            return Ok(found.clone());
        }
        let set = match bindings {
            0 => None,
            n => Some(Arc::new(SetLayout::new(&self.shared, n).map_err(device_error)?)),
        };
        let made = Arc::new(PipelineLayout::new(&self.shared, key.0, set).map_err(device_error)?);
        layouts.insert(key, made.clone());
        Ok(made)
    }

    /// Writes the cache. A folder that cannot be written is noted and is no error.
    fn store(&self) -> Result<(), DeviceError> {
        let Some(file) = &self.file else { return Ok(()) };
        let data = self.cache.data().map_err(device_error)?;
        if let Err(refusal) = file.store(&data) {
            let note = format!("pipeline cache {} is not written: {refusal}", file.path().display());
            lock(&self.notes).push(note);
        }
        Ok(())
    }

    fn key(&self, request: PipelineRequest<'_>) -> Key {
        let call = request.call;
        let slots = match (self.addressing, call.check()) {
            (Addressing::Descriptor, Ok(decl)) => SlotAccess::of(decl, request),
            _ => Vec::new(),
        };
        Key {
            kernel: call.kernel.clone(),
            variant: call.variant.clone(),
            spec: call.spec.clone(),
            holes: call.holes.iter().map(HoleKey::from).collect(),
            slots,
        }
    }
}
