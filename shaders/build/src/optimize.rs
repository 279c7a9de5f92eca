//! spirv-opt's performance passes, with the functions that codegen looks for kept as functions.

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
            let marked = mark(&words, spirv::FunctionControl::DONT_INLINE)?;
            let mut optimizer = spirv_tools::opt::create(Some(spirv_tools::TargetEnv::Vulkan_1_2));
            optimizer.register_performance_passes();
            let mut messages = String::new();
            let mut collect = |m: spirv_tools::error::Message| messages.push_str(&m.message);
            let optimized = optimizer
                .optimize(&marked, &mut collect, None)
                .map_err(|e| BuildError::Spirv(format!("{e} {messages}")))?;
            mark(optimized.as_words(), spirv::FunctionControl::NONE)?
        }
    };
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

/// Sets the inline control of the kept functions.
fn mark(words: &[u32], control: spirv::FunctionControl) -> Result<Vec<u32>, BuildError> {
    let mut module = load(words)?;
    let kept: Vec<u32> = module
        .debug_names
        .iter()
        .filter_map(|i| match (i.operands.first(), i.operands.get(1)) {
            (Some(dr::Operand::IdRef(id)), Some(dr::Operand::LiteralString(name)))
                if KEPT.iter().any(|k| name.starts_with(k)) =>
            {
                Some(*id)
            }
            _ => None,
        })
        .collect();
    for f in &mut module.functions {
        if let Some(def) = f.def.as_mut().filter(|d| d.result_id.is_some_and(|id| kept.contains(&id))) {
            def.operands[0] = dr::Operand::FunctionControl(control);
        }
    }
    Ok(module.assemble())
}
