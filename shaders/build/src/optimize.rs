//! spirv-opt's performance passes, with the functions that codegen looks for kept as functions and loops as loops:
//! what a driver unrolls, it unrolls again from a quarter of the bytes.

use std::collections::BTreeSet;

use crate::error::BuildError;
use pumice_plan::kernel::OptLevel;
use rspirv::binary::Assemble;
use rspirv::{dr, spirv};
use spirv_tools::opt::Optimizer;
use spirv_tools::val::{Validator, ValidatorOptions};

/// Prefixes of the functions that must survive.
const KEPT: [&str; 3] = ["hole_", "slotload", "slotstore"];

/// The module at its level, validated.
pub fn optimize(words: Vec<u32>, level: OptLevel) -> Result<Vec<u32>, BuildError> {
    let words = match level {
        OptLevel::Zero => words,
        OptLevel::Full => {
            let marked = mark(&words, Hints::Hidden)?;
            let mut optimizer = spirv_tools::opt::create(Some(spirv_tools::TargetEnv::Vulkan_1_2));
            optimizer.register_performance_passes();
            let mut messages = String::new();
            let mut collect = |m: spirv_tools::error::Message| messages.push_str(&m.message);
            let optimized = optimizer
                .optimize(&marked, &mut collect, None)
                .map_err(|e| BuildError::Spirv(format!("{e} {messages}")))?;
            mark(optimized.as_words(), Hints::Shown)?
        }
    };
    let words = without_local_names(&words)?;
    let validator = spirv_tools::val::create(Some(spirv_tools::TargetEnv::Vulkan_1_2));
    let options = ValidatorOptions::default();
    validator.validate(&words, Some(options)).map_err(|e| BuildError::Spirv(e.to_string()))?;
    Ok(words)
}

/// A module as data.
pub fn load(words: &[u32]) -> Result<dr::Module, BuildError> {
    let mut loader = dr::Loader::new();
    rspirv::binary::parse_words(words, &mut loader).map_err(|e| BuildError::Spirv(e.to_string()))?;
    Ok(loader.module())
}

/// What the optimizer is told of functions that are kept and of loops to unroll.
#[derive(Clone, Copy)]
enum Hints {
    /// Such functions are not inlined; such loops carry a hint that it passes on and does not heed.
    Hidden,
    /// As the source has it.
    Shown,
}

impl Hints {
    fn function(self) -> spirv::FunctionControl {
        match self {
            Hints::Hidden => spirv::FunctionControl::DONT_INLINE,
            Hints::Shown => spirv::FunctionControl::NONE,
        }
    }

    fn of_loop(self, control: spirv::LoopControl) -> spirv::LoopControl {
        let (from, to) = match self {
            Hints::Hidden => (spirv::LoopControl::UNROLL, spirv::LoopControl::DEPENDENCY_INFINITE),
            Hints::Shown => (spirv::LoopControl::DEPENDENCY_INFINITE, spirv::LoopControl::UNROLL),
        };
        if control == from { to } else { control }
    }
}

/// The module with its hints hidden from the optimizer, or shown again.
fn mark(words: &[u32], hints: Hints) -> Result<Vec<u32>, BuildError> {
    let mut module = load(words)?;
    let kept = kept_functions(&module);
    for f in &mut module.functions {
        if let Some(def) = f.def.as_mut().filter(|d| d.result_id.is_some_and(|id| kept.contains(&id))) {
            def.operands[0] = dr::Operand::FunctionControl(hints.function());
        }
        for operand in f.blocks.iter_mut().flat_map(|b| &mut b.instructions).flat_map(|i| &mut i.operands) {
            if let dr::Operand::LoopControl(control) = operand {
                *control = hints.of_loop(*control);
            }
        }
    }
    Ok(module.assemble())
}

/// The module without the names of what functions define inside: nobody asks for them, and they were a seventh of it.
fn without_local_names(words: &[u32]) -> Result<Vec<u32>, BuildError> {
    let mut module = load(words)?;
    let inside = |f: &dr::Function| -> Vec<u32> {
        let parameters = f.parameters.iter();
        let body = f.blocks.iter().flat_map(|b| b.label.iter().chain(&b.instructions));
        parameters.chain(body).filter_map(|i| i.result_id).collect()
    };
    let local: BTreeSet<u32> = module.functions.iter().flat_map(inside).collect();
    module
        .debug_names
        .retain(|name| !matches!(name.operands.first(), Some(dr::Operand::IdRef(id)) if local.contains(id)));
    Ok(module.assemble())
}

fn kept_functions(module: &dr::Module) -> Vec<u32> {
    let is_kept = |name: &str| KEPT.iter().any(|k| name.starts_with(k));
    let named = module.debug_names.iter().map(|i| (i.operands.first(), i.operands.get(1)));
    named
        .filter_map(|operands| match operands {
            (Some(dr::Operand::IdRef(id)), Some(dr::Operand::LiteralString(name))) if is_kept(name) => {
                Some(*id)
            }
            _ => None,
        })
        .collect()
}
