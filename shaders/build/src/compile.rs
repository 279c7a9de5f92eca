//! GLSL to SPIR-V 1.5 at optimization zero, with the generated interface as an include.

use crate::error::BuildError;
use crate::manifest::hash;
use pumice_plan::kernel::interface::{self, Addressing};
use pumice_plan::kernel::{KernelDecl, VariantDecl};
use shaderc::{
    CompileOptions, Compiler, EnvVersion, OptimizationLevel, ResolvedInclude, ShaderKind, SpirvVersion,
    TargetEnv,
};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

/// Sources that went into a module: path relative to `shaders/`, hash.
pub type Sources = BTreeMap<String, String>;

/// Compiles one module.
pub fn compile(
    decl: &KernelDecl,
    variant: &VariantDecl,
    form: Addressing,
    root: &Path,
) -> Result<(Vec<u32>, Sources), BuildError> {
    let sources = RefCell::new(Sources::new());
    let read = |relative: &str| -> Result<String, std::io::Error> {
        let text = std::fs::read_to_string(root.join(relative))?;
        sources.borrow_mut().insert(relative.to_owned(), hash(text.as_bytes()));
        Ok(text)
    };
    let source = read(decl.file).map_err(|e| BuildError::file(&root.join(decl.file), e))?;
    let folder = Path::new(decl.file).parent().unwrap_or(Path::new("")).to_string_lossy().into_owned();
    let include = |name: &str| -> Result<ResolvedInclude, String> {
        if name == "interface.glsl" {
            let content = interface::glsl(decl, form);
            return Ok(ResolvedInclude { resolved_name: format!("{}:interface.glsl", decl.name), content });
        }
        for relative in [format!("{folder}/{name}"), format!("include/{name}")] {
            if let Ok(content) = read(&relative) {
                return Ok(ResolvedInclude { resolved_name: relative, content });
            }
        }
        Err(format!("no `{name}` in {folder}/ or include/"))
    };
    let words = run(decl, variant, form, &source, &include)?;
    Ok((words, sources.into_inner()))
}

fn run(
    decl: &KernelDecl,
    variant: &VariantDecl,
    form: Addressing,
    source: &str,
    include: &dyn Fn(&str) -> Result<ResolvedInclude, String>,
) -> Result<Vec<u32>, BuildError> {
    let glsl = |e: shaderc::Error| BuildError::Glsl(format!("{} {}: {e}", variant.name, form.name()));
    let compiler = Compiler::new().map_err(glsl)?;
    let mut options = CompileOptions::new().map_err(glsl)?;
    options.set_target_env(TargetEnv::Vulkan, EnvVersion::Vulkan1_2 as u32);
    options.set_target_spirv(SpirvVersion::V1_5);
    options.set_optimization_level(OptimizationLevel::Zero);
    options.set_warnings_as_errors();
    options.set_include_callback(|name, _, _, _| include(name));
    for (name, value) in variant.defines {
        options.add_macro_definition(name, Some(value));
    }
    if form == Addressing::Descriptor {
        options.add_macro_definition("DESCRIPTOR", Some("1"));
    }
    let artifact = compiler
        .compile_into_spirv(source, ShaderKind::Compute, decl.file, "main", Some(&options))
        .map_err(glsl)?;
    Ok(artifact.as_binary().to_vec())
}
