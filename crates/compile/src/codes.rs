//! Codes beside scales: values of params that products read where they lie, and the dense copy for those that cannot.
//!
//! A value of `dequantize_linear` over params is placed on the bytes of its codes, seen as f32 of another encoding;
//! what else makes it is kept by the version of those bytes. Which scale an element has follows from its index among
//! the codes, so any view of them is a view of the values.

use crate::cx::{LowerCx, LowerResult, Refusal};
use crate::meaning::{self, StepMeaning};
use crate::step::StepBuilder;
use crate::unplaced::{PlacedView, StorageClass};
use crate::views::restride;
use pumice_ir::ops::DequantizeLinear;
use pumice_ir::ops::dequantize_linear::ScalePlaces;
use pumice_ir::shape::product;
use pumice_ir::{GraphBuilder, Value, ValueId, ValueType};
use pumice_plan::kernel::codes::{NONE, kind};
use pumice_plan::kernel::{ArgValue, Bound, CallBuilder, FloatStorage};
use pumice_plan::kernels::copy::DequantizeLinear as Kernel;
use pumice_plan::{Access, Storage, View};
use pumice_types::{DType, DimExpr};
use std::sync::Arc;

/// What makes values of codes.
#[derive(Clone, Debug, PartialEq)]
pub struct Scales {
    op: DequantizeLinear,
    scale: PlacedView,
    zero: Option<PlacedView>,
    places: ScalePlaces,
    /// Of the values.
    dtype: DType,
}

/// Words that say which scale an element has.
const PLACES: [&str; 6] =
    ["code_inner", "code_extent", "code_block", "code_outer", "code_axis", "code_along"];

/// The name of what stands beside an operand in the meaning of its step.
fn named(operand: &str, what: &str) -> Arc<str> {
    format!("{operand}.{what}").into()
}

/// To what products are rounded, as kernels know it.
fn rounding(dtype: DType) -> u32 {
    match dtype {
        DType::F16 => 1,
        DType::BF16 => 2,
        _ => 0,
    }
}

/// Whether a view shows values of codes.
pub fn is_coded(view: &View) -> bool {
    FloatStorage::of(view) == FloatStorage::Codes
}

/// The same place seen as f32, which is what codes are before they are scaled, whatever their values are rounded to.
pub fn seen(at: &PlacedView) -> PlacedView {
    let view = View { dtype: DType::F32, ..View::clone(&at.view) };
    PlacedView { view: view.into(), ..at.clone() }
}

/// Codes, scales or zero points as kernels that read codes take them: dense, and stored in a way they know.
pub fn operand(cx: &mut LowerCx<'_>, v: ValueId) -> LowerResult<PlacedView> {
    let at = cx.stored(v)?;
    // A param of codes is itself; a value that is made of codes is not.
    let own = cx.graph.ty(v).encoding.codes().is_some();
    let at = if own { at } else { cx.decoded(&at)? };
    let taken = at.view.is_dense() && kind(&at.view).is_some();
    if taken { Ok(at) } else { cx.dense_at(&at, cx.graph.value(v).name.clone()) }
}

impl Scales {
    /// Those of a node whose operands have places.
    pub fn of(
        cx: &mut LowerCx<'_>,
        op: &DequantizeLinear,
        operands: [Option<ValueId>; 3],
    ) -> LowerResult<Scales> {
        let [q, scale, zero] = operands;
        let (q, scale) = (q.ok_or("it has no codes")?, scale.ok_or("it has no scale")?);
        let shapes = [q, scale].map(|v| cx.graph.ty(v).shape.clone());
        let places = op.places(&shapes[0], &shapes[1]).map_err(|e| e.to_string())?;
        let dtype = op.output_dtype.unwrap_or(cx.graph.ty(scale).dtype());
        let zero = zero.map(|v| operand(cx, v)).transpose()?;
        Ok(Scales { op: op.clone(), scale: operand(cx, scale)?, zero, places, dtype })
    }

    /// Whether kernels may read the values of these codes where they lie: these are known when loading, no scale is a
    /// state's, which a later step may write, and no extent varies.
    fn stays(&self, cx: &LowerCx<'_>, q: &PlacedView) -> bool {
        let class = |at: &PlacedView| cx.unplaced.buffer_of(at.version).class;
        let encoding = cx.unplaced.versions[q.version.0 as usize].ty.encoding;
        let small = encoding.decode(&[]).is_some() && !encoding.plain().is_some_and(DType::is_float);
        let ScalePlaces { inner, extent, block, steps } = &self.places;
        let fixed = [inner, extent, block].into_iter().chain(steps).all(|e| e.as_const().is_some());
        let kept =
            self.beside().all(|(_, at)| !matches!(class(at), StorageClass::State(_) | StorageClass::Frame));
        let known = class(q).is_load_time() && kept && small;
        let other = cx.scales.get(&q.version).is_some_and(|known| known != self);
        fixed && known && !other && q.view.storage != Storage::Arena && !q.is_empty()
    }

    /// The values on the bytes of the codes, if kernels may read them there.
    pub fn in_place(&self, cx: &mut LowerCx<'_>, q: &PlacedView) -> Option<PlacedView> {
        if !self.stays(cx, q) {
            return None;
        }
        cx.scales.insert(q.version, self.clone());
        let encoding = cx.unplaced.versions[q.version.0 as usize].ty.encoding;
        let view = View { dtype: self.dtype, storage: Storage::Encoded(encoding), ..View::clone(&q.view) };
        Some(PlacedView { view: view.into(), ..q.clone() })
    }

    /// Scales, and what zero points are there.
    fn beside(&self) -> impl Iterator<Item = (&'static str, &PlacedView)> {
        [("scale", Some(&self.scale)), ("zero", self.zero.as_ref())]
            .into_iter()
            .filter_map(|(name, at)| Some((name, at?)))
    }

    /// The values of an input of that name, in the meaning of a step that reads codes.
    pub fn meant(&self, g: &GraphBuilder, name: &str, q: &View) -> Value {
        let input = |name: &str, view: &View| g.input(name, ValueType::new(view.dtype, view.shape.clone()));
        let q = input(name, q);
        let mut beside = self.beside().map(|(what, at)| input(&named(name, what), &at.view));
        let (scale, zero) = (beside.next().unwrap_or(q), beside.next());
        // Nodes of a body, which come after these, have names of their own.
        let scope = named(name, "codes");
        g.scoped(&scope, |g| g.scaled_elements(&self.op, [q, scale], zero, self.dtype))
    }

    /// Binds scales and zero points to a step whose operand of that name is codes: `s` and `z` of a call, and what says
    /// how they are stored.
    fn bind(
        &self,
        step: &mut StepBuilder,
        call: CallBuilder,
        name: &str,
        codes: &Bound,
        q: &View,
    ) -> CallBuilder {
        let bound: Vec<Bound> = self
            .beside()
            .map(|(what, at)| {
                let bound = step.touch(at, Access::ShaderRead);
                step.input(named(name, what), &bound);
                bound
            })
            .collect();
        let zero = bound.get(1).cloned().unwrap_or_else(|| codes.unread());
        let of = |view: &View| kind(view).unwrap_or(NONE);
        call.operand("s", bound[0].clone())
            .operand("z", zero)
            .constant("code_kind", of(q))
            .constant("scale_kind", of(&self.scale.view))
            .constant("zero_kind", self.zero.as_ref().map_or(NONE, |at| of(&at.view)))
            .constant("code_round", rounding(self.dtype))
    }

    /// How many scales there are.
    fn count(&self) -> DimExpr {
        product(&self.scale.view.shape)
    }

    /// The places of scales with as few divisions as they take: those of blocks that fill the axis go on from row to
    /// row.
    fn shortest(&self) -> [u32; 6] {
        let ScalePlaces { inner, extent, block, steps } = &self.places;
        let number = |e: &DimExpr| e.as_const().and_then(|n| u32::try_from(n).ok()).unwrap_or(0);
        let [inner, extent, block] = [inner, extent, block].map(number);
        let [outer, axis, along] = steps.each_ref().map(number);
        let endless =
            outer == extent / block.max(1) * axis && extent.is_multiple_of(block.max(1)) && along == 1;
        let whole = [outer, axis, along] == [0; 3];
        match endless || whole {
            true => [inner, 0, block, 0, axis, along],
            false => [inner, extent, block, outer, axis, along],
        }
    }

    /// The call of a step whose operand 0 is codes, with the places of scales as arguments.
    pub fn of_operand(
        &self,
        cx: &mut LowerCx<'_>,
        step: &mut StepBuilder,
        call: CallBuilder,
        (codes, view): (&Bound, &View),
    ) -> CallBuilder {
        let ScalePlaces { inner, extent, block, steps: [outer, axis, along] } = &self.places;
        let call = call.own("scales", cx.arg(&self.count()));
        let places = PLACES.into_iter().zip([inner, extent, block, outer, axis, along]);
        let call = places.fold(call, |call, (name, value)| call.own(name, cx.arg(value)));
        self.bind(step, call, &meaning::operand(0), codes, view)
    }

    /// The call of a product whose right operand is codes.
    pub fn of_product(
        &self,
        step: &mut StepBuilder,
        call: CallBuilder,
        name: &str,
        b: (&Bound, &View),
    ) -> CallBuilder {
        let places = self.shortest();
        let [inner, extent, block, outer, axis, along] = places;
        let fours = |n: u32| n.is_multiple_of(4);
        let in_a_block = inner == 1 && fours(block) && fours(extent);
        let in_a_row = along == 0 && fours(inner);
        let shared = in_a_block || in_a_row || [outer, axis, along] == [0; 3];
        let call = self.bind(step, call, name, b.0, b.1).constant("code_shared", shared.into());
        let scales = self.count().as_const().and_then(|n| u32::try_from(n).ok()).unwrap_or(0);
        let call = call.own("scales", ArgValue::U32(scales));
        PLACES.into_iter().zip(places).fold(call, |call, (name, value)| call.constant(name, value))
    }
}

impl LowerCx<'_> {
    /// What makes the values that a view of codes shows.
    pub fn scales_of(&self, at: &PlacedView) -> Option<Scales> {
        if is_coded(&at.view) { self.scales.get(&at.version).cloned() } else { None }
    }

    /// Whether a view shows all values of a param of codes, one after the other.
    pub fn is_all_codes(&self, at: &PlacedView) -> bool {
        let shape = &self.unplaced.versions[at.version.0 as usize].ty.shape;
        at.view.is_dense() && at.view.shape == **shape && self.scales_of(at).is_some()
    }

    /// The values of codes as elements: those of the whole param, once for all that want them so.
    pub fn decoded_codes(&mut self, at: &PlacedView) -> LowerResult<PlacedView> {
        let scales = self.scales_of(at).ok_or("it reads codes without scales")?;
        let version = &self.unplaced.versions[at.version.0 as usize];
        let (name, shape) = (version.name.clone(), version.ty.shape.clone());
        let view = View::dense(scales.dtype, at.view.storage, &shape);
        let codes = PlacedView { version: at.version, part: at.part, view: view.into() };
        let values = match self.copy_of(&codes) {
            Some(values) => values,
            None => {
                let ty = ValueType::new(scales.dtype, shape);
                let values = self.alloc(name, StorageClass::Scratch, Storage::Arena, &ty)?;
                let first = self.unplaced.steps.len();
                step(self, &scales, &codes, &values)?;
                self.because(first, "its reader takes elements, and it is stored as codes");
                self.remember_copy(&codes, &values);
                values
            }
        };
        Ok(restride(&values, at.view.shape.clone(), at.view.strides.clone(), at.view.offset.clone()))
    }
}

/// What a step computes that writes the values of codes.
fn values_meant(cx: &LowerCx<'_>, scales: &Scales, q: &PlacedView) -> LowerResult<StepMeaning> {
    let output = |g: &GraphBuilder| g.output("o0", scales.meant(g, &meaning::operand(0), &q.view));
    let meaning = meaning::made(cx.graph, output);
    meaning.map_err(|e| Refusal(format!("its meaning is not a graph: {e}")))
}

/// The step that writes the values of codes.
pub fn step(cx: &mut LowerCx<'_>, scales: &Scales, q: &PlacedView, y: &PlacedView) -> LowerResult {
    let count = product(&q.view.shape);
    if count.is(0) {
        return Ok(());
    }
    cx.fits_u32(&count, "the codes")?;
    let q = if is_coded(&q.view) { seen(q) } else { q.clone() };
    let meaning = values_meant(cx, scales, &q)?;
    let mut step = StepBuilder::new();
    let codes = step.read(0, &q);
    let call = CallBuilder::new(&Kernel::DECL, Kernel::plain).own("n", cx.arg(&count));
    let call = scales.of_operand(cx, &mut step, call, (&codes, &q.view));
    let y = step.write(y);
    let call = call.operand("q", codes).operand("y", y);
    let grid = cx.grid(&count.ceil_div(&DimExpr::constant(1024)))?;
    step.dispatch(cx, call, grid, meaning)
}
