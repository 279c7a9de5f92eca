//! The order of the passes, and the driver that applies and verifies them.

use crate::cost_model::CostModel;
use crate::passes;
use pumice_ir::{ConstEval, Form, Graph, Patch, PatchError, VerifyError, verify};
use pumice_types::{Precision, SymbolTable, Target};
use std::collections::{BTreeMap, BTreeSet};

/// Which passes run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OptOptions {
    /// Names of passes that are left out. `decompose` cannot be: nothing can be lowered without it. A name that is no
    /// pass is an error.
    pub skip: BTreeSet<String>,
}

impl OptOptions {
    /// No fusion and no rewriting: the oracle of every pass.
    pub fn none() -> OptOptions {
        OptOptions { skip: PASSES.iter().filter(|p| !p.required).map(|p| p.name.to_owned()).collect() }
    }

    /// Everything but the pass of that name.
    pub fn without(name: &str) -> OptOptions {
        OptOptions::default().skip(name)
    }

    /// Leaves out one pass more.
    #[must_use]
    pub fn skip(mut self, name: impl Into<String>) -> Self {
        self.skip.insert(name.into());
        self
    }
}

/// What a pass may look at besides the graph.
pub struct PassCx<'a> {
    /// What the graph is compiled for.
    pub target: &'a Target,
    /// The arithmetic that its user chose.
    pub precision: Precision,
    /// Evaluates constants.
    pub fold: &'a dyn ConstEval,
    /// Knows the kernels.
    pub cost_model: &'a dyn CostModel,
    /// The range of the symbols that is compiled for; `None`: all that the graph allows.
    pub range: Option<&'a SymbolTable>,
    /// The room that the values of this range must fit in; `None`: as much as they need.
    pub room: Option<&'a Room<'a>>,
}

/// The memory that a range has for its values, and what computing them again costs.
#[derive(Clone, Copy, Debug)]
pub struct Room<'a> {
    /// Bytes that may be alive at once.
    pub bytes: u64,
    /// Microseconds of nodes, by the name of their first result, at the upper bounds of the symbols. A node that is not
    /// here is never computed again.
    pub times: &'a BTreeMap<String, f64>,
}

impl PassCx<'_> {
    /// The symbols in the range. The graph itself keeps its own, since types depend on their bounds: within a range an
    /// extent could be inferred in a simpler form.
    pub fn symbols<'s>(&'s self, graph: &'s Graph) -> &'s SymbolTable {
        self.range.unwrap_or(graph.symbols())
    }
}

/// A pass: its name, and the patches it wants.
#[derive(Clone, Copy)]
pub struct Pass {
    /// A verb.
    pub name: &'static str,
    /// Whether the graph could not be lowered without it.
    pub required: bool,
    /// Whether it runs again until it finds nothing.
    pub repeat: bool,
    /// Whether what it decides depends on the range of the symbols, so that it runs once for each. Such a pass makes no
    /// leaves: all ranges share params and constants.
    pub per_range: bool,
    /// Finds what to change. Patches of one call must not replace the same value twice.
    pub find: fn(&Graph, &PassCx<'_>) -> Vec<Patch>,
}

/// A pass that runs until it finds nothing.
const fn repeated(name: &'static str, find: fn(&Graph, &PassCx<'_>) -> Vec<Patch>) -> Pass {
    Pass { name, required: false, repeat: true, per_range: false, find }
}

/// A pass that runs once.
const fn once(name: &'static str, find: fn(&Graph, &PassCx<'_>) -> Vec<Patch>) -> Pass {
    Pass { name, required: false, repeat: false, per_range: false, find }
}

/// A pass that runs once for every range of the symbols.
const fn ranged(name: &'static str, find: fn(&Graph, &PassCx<'_>) -> Vec<Patch>) -> Pass {
    Pass { name, required: false, repeat: false, per_range: true, find }
}

/// All passes, in order: those for the whole graph, then those for a range of its symbols. A pass that stands here
/// twice is skipped twice by its name.
pub const PASSES: &[Pass] = &[
    once("fold_pads", passes::fold_pads::fold_pads),
    Pass {
        name: "decompose",
        required: true,
        repeat: true,
        per_range: false,
        find: passes::decompose::decompose,
    },
    repeated("eliminate_identities", passes::eliminate_identities::eliminate_identities),
    repeated("fold_constants", passes::fold_constants::fold_constants),
    repeated("fold_transposes", passes::fold_transposes::fold_transposes),
    repeated("eliminate_identities", passes::eliminate_identities::eliminate_identities),
    once(
        "eliminate_common_subexpressions",
        passes::eliminate_common_subexpressions::eliminate_common_subexpressions,
    ),
    once("merge_matmuls", passes::merge_matmuls::merge_matmuls),
    ranged("split_attention_grad", passes::split_attention_grad::split_attention_grad),
    ranged("split_long_rows", passes::split_long_rows::split_long_rows),
    ranged("separate_reduced_axes", passes::separate_reduced_axes::separate_reduced_axes),
    ranged("split_reductions", passes::split_reductions::split_reductions),
    ranged("split_varying_reductions", passes::split_varying_reductions::split_varying_reductions),
    ranged("split_convolutions", passes::split_convolutions::split_convolutions),
    ranged("split_products", passes::split_products::split_products),
    ranged("split_attention", passes::split_attention::split_attention),
    ranged("fuse_prologues", passes::fuse_anchors::fuse_prologues),
    ranged("fuse_epilogues", passes::fuse_anchors::fuse_epilogues),
    ranged("fuse_elementwise", passes::fuse_elementwise::fuse_elementwise),
    ranged("recompute", passes::recompute::recompute),
    ranged("fuse_elementwise", passes::fuse_elementwise::fuse_repeated),
];

/// A pass that went wrong: a defect of pumice.
#[derive(Clone, PartialEq, thiserror::Error)]
pub enum OptError {
    /// A patch cannot be applied.
    #[error("pass `{pass}`: {source}")]
    Patch {
        /// The pass.
        pass: String,
        /// Why.
        source: Box<PatchError>,
    },
    /// The graph breaks a rule afterwards.
    #[error("pass `{pass}` broke the graph: {}", errors.first().map_or(String::new(), ToString::to_string))]
    Verify {
        /// The pass.
        pass: String,
        /// Every violation.
        errors: Vec<VerifyError>,
    },
    /// The options leave out a pass that is not there or cannot be left out: the user's mistake.
    #[error("pass `{name}` cannot be skipped: {reason}; the passes are {}", optional())]
    Skip {
        /// The name given.
        name: String,
        /// Why not.
        reason: &'static str,
    },
    /// A pass finds something to do for ever.
    #[error("pass `{0}` does not come to an end")]
    Endless(String),
}

pumice_types::debug_as_display!(OptError);

/// Rounds after which a repeating pass is stopped, besides one for every node: a round that changes something brings a
/// chain of nodes one node further at least.
const MAX_ROUNDS: usize = 64;

fn optional() -> String {
    let names: BTreeSet<&str> = PASSES.iter().filter(|p| !p.required).map(|p| p.name).collect();
    names.into_iter().collect::<Vec<_>>().join(", ")
}

fn check(options: &OptOptions) -> Result<(), OptError> {
    for name in &options.skip {
        let reason = match PASSES.iter().find(|p| p.name == name) {
            None => "there is no such pass",
            Some(pass) if pass.required => "nothing could be lowered without it",
            Some(_) => continue,
        };
        return Err(OptError::Skip { name: name.clone(), reason });
    }
    Ok(())
}

/// Runs every pass that is not skipped, for the one range that the graph's symbols have.
pub fn optimize(graph: &Graph, options: &OptOptions, cx: &PassCx<'_>) -> Result<Graph, OptError> {
    optimize_range(optimize_whole(graph, options, cx)?, options, cx)
}

/// The first part of [`optimize`]: what is the same for every range of the symbols.
pub fn optimize_whole(graph: &Graph, options: &OptOptions, cx: &PassCx<'_>) -> Result<Graph, OptError> {
    check(options)?;
    // Patches drop what they leave dead; what nobody needed from the start goes here.
    let live = graph.without_dead_nodes();
    let live =
        live.map_err(|e| OptError::Patch { pass: "without_dead_nodes".into(), source: Box::new(e) })?;
    run_passes(live, options, cx, false)
}

/// The second part of [`optimize`], on what the first left, for the range of symbols in `cx`. Leaves stay as they are.
pub fn optimize_range(graph: Graph, options: &OptOptions, cx: &PassCx<'_>) -> Result<Graph, OptError> {
    check(options)?;
    let graph = run_passes(graph, options, cx, true)?;
    verify(&graph, Form::Lowerable)
        .map_err(|errors| OptError::Verify { pass: "the whole pipeline".into(), errors })?;
    Ok(graph)
}

fn run_passes(
    graph: Graph,
    options: &OptOptions,
    cx: &PassCx<'_>,
    per_range: bool,
) -> Result<Graph, OptError> {
    let wanted = |p: &&Pass| p.per_range == per_range && !options.skip.contains(p.name);
    PASSES.iter().filter(wanted).try_fold(graph, |graph, pass| run_pass(graph, pass, cx))
}

/// Runs one pass to its end, verifying after every round.
pub fn run_pass(mut graph: Graph, pass: &Pass, cx: &PassCx<'_>) -> Result<Graph, OptError> {
    let rounds = MAX_ROUNDS + graph.nodes().len();
    for _ in 0..rounds {
        let patches = (pass.find)(&graph, cx);
        if patches.is_empty() {
            return Ok(graph);
        }
        graph = graph
            .applied(&patches)
            .map_err(|source| OptError::Patch { pass: pass.name.to_owned(), source: Box::new(source) })?;
        verify(&graph, Form::Source)
            .map_err(|errors| OptError::Verify { pass: pass.name.to_owned(), errors })?;
        if !pass.repeat {
            return Ok(graph);
        }
    }
    Err(OptError::Endless(pass.name.to_owned()))
}

/// The graph with the bodies of its fused nodes put back: the oracle of every fusion.
pub fn unfused(graph: &Graph) -> Result<Graph, OptError> {
    graph
        .apply(&crate::rewrite::fuse::unfuse(graph))
        .map_err(|source| OptError::Patch { pass: "unfuse".to_owned(), source: Box::new(source) })
}
