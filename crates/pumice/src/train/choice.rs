//! Which micro-batch a trainer's program has: what the user says, or the one that keeps the memory at the least time.

use super::error::TrainerError;
use super::options::{MicroBatch, TrainOptions};
use super::plan::{bytes, passing};
use crate::{Device, Error, Options, plan_entries_with};
use pumice_compile::CompileError;
use pumice_ir::Graph;
use pumice_plan::{CheckedPlan, Precision, RegionKind};
use pumice_train::{
    Recipe, StepGraphs, TrainError, TrainErrors, micro_batch_graphs, micro_batch_sizes, names, step_graphs,
};
use pumice_types::Bytes;
use pumice_types::tensor::byte_count;

/// The entries of a trainer and their plan.
pub(super) struct Chosen {
    pub made: StepGraphs,
    pub plan: CheckedPlan,
}

impl Chosen {
    /// # Errors
    /// Mistakes of graph and recipe, what cannot be compiled, and what takes too much memory.
    pub(super) fn of(
        graph: &Graph,
        recipe: &Recipe,
        device: &Device,
        options: &TrainOptions,
    ) -> Result<Chosen, TrainerError> {
        // Gradients of rounded factors need the scale; f32 and bf16 have the range for them.
        let scales = options.compile.precision == Precision::F16;
        if scales && recipe.is_unguarded() {
            return Err(unscaled(graph, recipe).into());
        }
        let scaled = scales.then(|| recipe.clone().loss_scale());
        let recipe = scaled.as_ref().unwrap_or(recipe);
        let given = options.memory.or(options.compile.memory).map(Bytes);
        let limit = given.or_else(|| device.free_memory()).unwrap_or(device.target().limits.memory);
        let cuts = options.micro_batch == MicroBatch::Auto;
        let choice = Choice { graph, recipe, device, options: &options.compile, limit, cuts };
        match options.micro_batch {
            MicroBatch::Whole => choice.compiled(step_graphs(graph, recipe)?),
            MicroBatch::Rows(rows) => choice.of_rows(rows),
            MicroBatch::Auto => choice.fastest(),
        }
    }
}

impl Chosen {
    /// An estimate of the time of a batch of the most rows, in microseconds: as many micro-batches as that takes, and
    /// what comes once.
    fn time(&self) -> f64 {
        let cut = self.made.micro_batches.as_ref();
        let pieces = cut.map_or(1, |cut| cut.symbol.max.div_ceil(cut.rows.max(1)));
        let of = |entry: &str| {
            let entry = self.plan.find_entry(entry);
            let runs = entry.into_iter().flat_map(|entry| self.plan.runs_of(entry));
            runs.map(|(_, run)| run.stats.floor.total_us).fold(0.0, f64::max)
        };
        let pass = if self.made.accumulate.is_some() { of("accumulate") } else { of("step") };
        pieces as f64 * pass + of("update")
    }
}

/// What a choice is made of.
struct Choice<'a> {
    graph: &'a Graph,
    recipe: &'a Recipe,
    device: &'a Device,
    options: &'a Options,
    /// Bytes of all that lies on the device.
    limit: Bytes,
    /// Whether micro-batches are chosen, so that smaller ones help no more.
    cuts: bool,
}

impl Choice<'_> {
    /// Of micro-batches of so many rows; where that is all of them, of whole batches.
    fn of_rows(&self, rows: u64) -> Result<Chosen, TrainerError> {
        let made = micro_batch_graphs(self.graph, self.recipe, rows)?;
        let all = made.micro_batches.as_ref().is_some_and(|cut| cut.rows >= cut.symbol.max);
        self.compiled(if all { step_graphs(self.graph, self.recipe)? } else { made })
    }

    /// Of the micro-batches of which the program keeps the memory at the least time. Smaller ones than the first that
    /// keeps all its values only take longer.
    fn fastest(&self) -> Result<Chosen, TrainerError> {
        let mut sizes = micro_batch_sizes(self.graph, self.recipe);
        let fewest = sizes.last().copied().unwrap_or(1);
        if sizes.is_empty() {
            sizes.push(fewest);
        }
        // What speaks against cutting does so whether it is needed or not: memory decides nothing else.
        micro_batch_graphs(self.graph, self.recipe, fewest)?;
        let mut best: Option<(f64, Chosen)> = None;
        let mut refused: Option<(Bytes, TrainerError)> = None;
        for rows in sizes {
            let chosen = match self.of_rows(rows) {
                Err(error @ TrainerError::OutOfMemory { needed, .. }) => {
                    // Of what is too large the smallest is told.
                    if refused.as_ref().is_none_or(|(least, _)| needed <= *least) {
                        refused = Some((needed, error));
                    }
                    continue;
                }
                chosen => chosen?,
            };
            let (time, keeps_all) =
                (chosen.time(), chosen.plan.runs.iter().all(|run| run.stats.again.is_none()));
            if best.as_ref().is_none_or(|(least, _)| time < *least) {
                best = Some((time, chosen));
            }
            if keeps_all {
                break;
            }
        }
        match (best, refused) {
            (Some((_, chosen)), _) => Ok(chosen),
            (None, Some((_, error))) => Err(error),
            (None, None) => self.of_rows(fewest),
        }
    }

    fn compiled(&self, made: StepGraphs) -> Result<Chosen, TrainerError> {
        let (target, custom) = (self.device.target(), self.device.custom_ops());
        let options = with_ranges(self.options, &made);
        // What passes between host and device is known of a plan, and not counted by the compiler's limit.
        let mut besides = Bytes::ZERO;
        loop {
            let limited = options.clone().memory(self.limit.0.saturating_sub(besides.0));
            let plan = match plan_entries_with(&made.entries(), target, &limited, custom) {
                Err(Error::Compile(CompileError::OutOfMemory {
                    needed, weights, states, besides, ..
                })) => {
                    return Err(self.out_of_memory(&made, needed + besides, weights + states));
                }
                plan => plan?,
            };
            if bytes(&plan) <= self.limit {
                return Ok(Chosen { made, plan });
            }
            if passing(&plan) <= besides {
                let kept = plan.region_size(RegionKind::Weights) + plan.region_size(RegionKind::States);
                return Err(self.out_of_memory(&made, bytes(&plan), kept));
            }
            besides = passing(&plan);
        }
    }

    /// What a program is told that needs too much, of which `kept` is what no choice makes smaller.
    fn out_of_memory(&self, made: &StepGraphs, needed: Bytes, kept: Bytes) -> TrainerError {
        let rows = made.micro_batches.as_ref().map(|cut| cut.rows);
        let fewest = micro_batch_sizes(self.graph, self.recipe).last().copied();
        let data = self.data_set(made);
        let help = if kept > self.limit && data > Bytes::ZERO {
            let others = Bytes(kept.0.saturating_sub(data.0));
            format!(
                "the data set takes {data}, weights, moments and sums of gradients {others}; give rows in batches instead \
                 (`Recipe::data_set` keeps them on the device), freeze params, take an optimizer that keeps less, or a \
                 device with more memory"
            )
        } else if kept > self.limit {
            format!(
                "weights, moments and sums of gradients alone are {kept}; freeze params, take an optimizer that keeps \
                 less, or a device with more memory"
            )
        } else if self.cuts || (rows.is_some() && rows == fewest) {
            "lower the bounds of other symbols, let `Recipe::predict` name fewer outputs, which take all rows at once, \
             or take a device with more memory"
                .to_owned()
        } else {
            "smaller micro-batches need less (`MicroBatch::Auto`, along a symbol of `Recipe::rows_apart`), as do lower \
             bounds of symbols"
                .to_owned()
        };
        let takes_data = kept <= self.limit && data > Bytes::ZERO;
        let help = if takes_data { format!("{help}; the data set takes {data} of it") } else { help };
        TrainerError::OutOfMemory { needed, available: self.limit, rows, help }
    }

    /// Bytes of the inputs that lie on the device as a data set.
    fn data_set(&self, made: &StepGraphs) -> Bytes {
        let (graph, inputs) = (made.accumulate.as_ref().unwrap_or(&made.step), self.recipe.data_inputs());
        let tables: Vec<String> = inputs.iter().map(|input| names::data(input)).collect();
        let states = graph.states().into_iter();
        let of_data = states.filter(|&v| tables.iter().any(|table| *table == *graph.value(v).name));
        let bytes = of_data.filter_map(|v| {
            let shape = graph.ty(v).static_shape()?;
            byte_count(graph.ty(v).encoding, &shape).ok()
        });
        Bytes(bytes.sum())
    }
}

/// That `F16` is asked for with a recipe that cannot scale the loss, beside its other mistakes.
fn unscaled(graph: &Graph, recipe: &Recipe) -> TrainErrors {
    let mut errors = step_graphs(graph, recipe).err().unwrap_or(TrainErrors(Vec::new()));
    let what = "`Precision::F16` scales the loss, and what is unguarded cannot leave out the update that a scale is too \
                large for: leave out `unguarded`, or take `Precision::Bf16`";
    errors.0.push(TrainError::Recipe(what.to_owned()));
    errors
}

/// The options in which ranges of the symbol along which batches are cut are those of micro-batches, too.
fn with_ranges(options: &Options, made: &StepGraphs) -> Options {
    let Some(cut) = &made.micro_batches else { return options.clone() };
    let (whole, micro) = (&cut.symbol.name, names::micro_batch(&cut.symbol.name));
    let has_whole = made.predict.as_ref().is_some_and(|graph| graph.symbols().find(whole).is_some());
    let of = |(name, ends): &(String, Vec<u64>)| {
        let more = (name == whole).then(|| (micro.clone(), ends.clone()));
        let same = (name != whole || has_whole).then(|| (name.clone(), ends.clone()));
        same.into_iter().chain(more)
    };
    let ranges: Vec<_> = options.specializations.iter().flat_map(of).collect();
    options.clone().specializations(ranges)
}
