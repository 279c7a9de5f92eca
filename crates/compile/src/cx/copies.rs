//! Copies of values for readers that cannot take them as they lie: dense, as words, as elements. Each is made once.

use super::{LowerCx, LowerResult};
use crate::unplaced::{PlacedView, StorageClass, UnplacedVersion};
use crate::{blocks, elementwise};
use pumice_ir::shape::product;
use pumice_ir::{ValueId, ValueType};
use pumice_plan::{Storage, View};
use pumice_types::{DType, Encoding};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How many times as large as what is read of it a version is at most that is copied whole.
const MOST_APART: u64 = 4;

/// The copies so far, by the version that was copied.
#[derive(Default)]
pub(super) struct Copies(BTreeMap<UnplacedVersion, Vec<(PlacedView, PlacedView)>>);

impl LowerCx<'_> {
    /// Where a value is, as elements.
    pub fn at(&mut self, value: ValueId) -> LowerResult<PlacedView> {
        let at = self.stored(value)?;
        self.decoded(&at)
    }

    /// The value as dense arena words, copied there if it is not.
    pub fn dense(&mut self, value: ValueId) -> LowerResult<PlacedView> {
        let at = self.at(value)?;
        self.dense_at(&at, self.graph.value(value).name.clone())
    }

    /// As [`LowerCx::dense`], but 16-bit floats may stay as they are stored in params and states.
    pub fn dense_typed(&mut self, value: ValueId) -> LowerResult<PlacedView> {
        let at = self.at(value)?;
        self.dense_typed_at(value, at)
    }

    /// As [`LowerCx::dense_typed`], and blocks may stay as well.
    pub fn dense_stored(&mut self, value: ValueId) -> LowerResult<PlacedView> {
        let at = self.stored(value)?;
        let at = if blocks::is_readable(self, &at.view) { at } else { self.decoded(&at)? };
        self.dense_typed_at(value, at)
    }

    fn dense_typed_at(&mut self, value: ValueId, at: PlacedView) -> LowerResult<PlacedView> {
        if at.view.dtype.is_float() && at.view.is_dense() {
            return Ok(at);
        }
        self.dense(value)
    }

    /// The value as arena words with any strides, copied where it is stored otherwise.
    pub fn words(&mut self, value: ValueId) -> LowerResult<PlacedView> {
        let at = self.at(value)?;
        self.words_at(&at, self.graph.value(value).name.clone())
    }

    /// As [`LowerCx::words`], of a located value.
    pub fn words_at(&mut self, at: &PlacedView, name: impl Into<Arc<str>>) -> LowerResult<PlacedView> {
        if at.view.is_words() { Ok(at.clone()) } else { self.dense_at(at, name) }
    }

    /// A located value as dense arena words.
    pub fn dense_at(&mut self, at: &PlacedView, name: impl Into<Arc<str>>) -> LowerResult<PlacedView> {
        if at.view.is_words() && at.view.is_dense() {
            return Ok(at.clone());
        }
        if let Some(copy) = self.copy_of(at) {
            return Ok(copy);
        }
        let ty = ValueType::new(at.view.dtype, at.view.shape.clone());
        let to = self.alloc(name, StorageClass::Scratch, Storage::Arena, &ty)?;
        let why = if at.view.is_words() {
            "its reader takes dense values, and these lie apart or in another order"
        } else {
            "its reader takes words, and it is stored otherwise"
        };
        elementwise::copy(self, at, &to, why)?;
        self.remember_copy(at, &to);
        Ok(to)
    }

    /// A value of one element as the first word of a version that has nothing else, where a kernel of the frame reads
    /// it: copied to scratch if it is not.
    pub fn word_of(&mut self, at: &PlacedView, why: &str) -> LowerResult<PlacedView> {
        let version = &self.unplaced.versions[at.version.0 as usize];
        let alone = pumice_ir::shape::product(&version.ty.shape).is(1) && at.part.is_none();
        let word = at.view.is_words() && at.view.offset.is(0);
        if alone && word && is_read_by_frame(self.unplaced.buffer_of(at.version).class) {
            return Ok(at.clone());
        }
        let ty = ValueType::new(at.view.dtype, at.view.shape.clone());
        let to = self.alloc("word", StorageClass::Scratch, Storage::Arena, &ty)?;
        elementwise::copy(self, at, &to, why)?;
        Ok(to)
    }

    /// Notes why the steps from `first` on are there, where they do not say it yet.
    pub fn because(&mut self, first: usize, why: &str) {
        let silent = self.unplaced.steps[first..].iter_mut().filter(|step| step.reason.is_empty());
        silent.for_each(|step| why.clone_into(&mut step.reason));
    }

    /// Whether a version is that of a copy of another.
    pub(super) fn is_copy_of(&self, copy: UnplacedVersion, of: UnplacedVersion) -> bool {
        self.copies.0.get(&of).into_iter().flatten().any(|(_, made)| made.version == copy)
    }

    /// The dense copy that was made of a place.
    pub fn copy_of(&self, at: &PlacedView) -> Option<PlacedView> {
        self.copied_as(at, at.view.dtype)
    }

    fn copied_as(&self, at: &PlacedView, dtype: DType) -> Option<PlacedView> {
        let mut copies = self.copies.0.get(&at.version).into_iter().flatten();
        copies.find(|(from, copy)| from == at && copy.view.dtype == dtype).map(|(_, copy)| copy.clone())
    }

    /// From now on that copy of a place serves whoever wants one.
    pub fn remember_copy(&mut self, at: &PlacedView, copy: &PlacedView) {
        self.copies.0.entry(at.version).or_default().push((at.clone(), copy.clone()));
    }

    /// Whether a place is so much of its version that a copy may be one of the whole.
    pub fn is_worth_whole(&self, at: &PlacedView) -> bool {
        let whole = &self.unplaced.versions[at.version.0 as usize].ty.shape;
        let symbols = self.graph.symbols();
        let [whole, part] = [&whole[..], &at.view.shape[..]].map(|shape| product(shape).upper(symbols));
        part.saturating_mul(MOST_APART) >= whole
    }

    /// Words of f32 rounded to a narrower dtype and stored so, seen as the f32 that they stand for. The whole version
    /// is rounded, once for all who read parts of it; none where the place is little of it, or not its words.
    pub fn rounded_at(&mut self, at: &PlacedView, dtype: DType) -> LowerResult<Option<PlacedView>> {
        let version = &self.unplaced.versions[at.version.0 as usize];
        let shape = version.ty.shape.to_vec();
        let is_words = at.view.is_words() && [at.view.dtype, version.ty.dtype()] == [DType::F32; 2];
        if !is_words || at.part.is_some() || !self.is_worth_whole(at) {
            return Ok(None);
        }
        let storage = at.view.storage;
        let from = PlacedView { view: View::dense(DType::F32, storage, &shape).into(), ..at.clone() };
        let copy = match self.copied_as(&from, dtype) {
            Some(copy) => copy,
            None => {
                let to = ValueType::new(dtype, shape);
                let to = self.alloc("rounded", StorageClass::Scratch, Storage::Natural, &to)?;
                elementwise::cast(
                    self,
                    &from,
                    &to,
                    "products read it rounded, and it is read more than once",
                )?;
                self.remember_copy(&from, &to);
                to
            }
        };
        let storage = Storage::Encoded(Encoding::Plain(dtype));
        let view = View { storage, ..View::clone(&at.view) };
        Ok(Some(PlacedView { version: copy.version, part: None, view: view.into() }))
    }
}

/// Whether kernels of the frame read words of such a buffer.
fn is_read_by_frame(class: StorageClass) -> bool {
    use StorageClass::{HostResult, Input, Scratch, State};
    matches!(class, Scratch | State(_) | Input(_) | HostResult)
}
