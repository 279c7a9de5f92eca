//! Every hole of every checked-in module is filled, and the result is checked to be well-formed SPIR-V: every id
//! defined once, every use defined, no duplicated type, nothing left that names what was removed.

use super::{CodegenError, FloatControls, fill};
use pumice_plan::kernel::{HoleDecl, HoleFill, HoleInput, HoleType};
use pumice_plan::kernels;
use pumice_types::scalar::{RegType, ScalarBuilder, ScalarExpr};
use rspirv::dr::{Instruction, Module, Operand, load_words};
use rspirv::spirv::{Capability, Decoration, ExecutionMode, Op, Word};
use std::collections::{BTreeMap, BTreeSet};

const ALL_CONTROLS: FloatControls = FloatControls {
    signed_zero_inf_nan_preserve: true,
    denorm_preserve: true,
    round_to_nearest_even: true,
    folds_zeros: true,
};

/// Defects of a module; empty for a well-formed one.
fn defects(module: &Module) -> Vec<String> {
    let mut found = Vec::new();
    let mut defined = BTreeSet::new();
    let bound = module.header.as_ref().map_or(0, |h| h.bound);
    for id in module.all_inst_iter().filter_map(|i| i.result_id) {
        if !defined.insert(id) || id == 0 || id >= bound {
            found.push(format!("id {id} is defined twice or beyond the bound {bound}"));
        }
    }
    for inst in module.all_inst_iter() {
        let used = inst.operands.iter().filter_map(|o| match o {
            Operand::IdRef(id) | Operand::IdScope(id) | Operand::IdMemorySemantics(id) => Some(*id),
            _ => None,
        });
        for id in used.chain(inst.result_type) {
            if !defined.contains(&id) {
                found.push(format!("{:?} uses {id}, which nothing defines", inst.class.opcode));
            }
        }
    }
    let scalar = [Op::TypeFloat, Op::TypeInt, Op::TypeBool, Op::TypeVector, Op::TypeVoid];
    let types: Vec<&Instruction> =
        module.types_global_values.iter().filter(|i| scalar.contains(&i.class.opcode)).collect();
    for (i, a) in types.iter().enumerate() {
        if types[..i].iter().any(|b| b.is_type_identical(a)) {
            found.push(format!("{:?} is declared twice", a.class.opcode));
        }
    }
    found.extend(misplaced(module));
    found
}

/// In each block: variables first, one terminator last, and operands defined above their use.
fn misplaced(module: &Module) -> Vec<String> {
    let mut found = Vec::new();
    let ends = [Op::Return, Op::ReturnValue];
    for block in module.functions.iter().filter(|f| f.blocks.len() == 1).flat_map(|f| &f.blocks) {
        let code = &block.instructions;
        if !code.last().is_some_and(|i| ends.contains(&i.class.opcode)) {
            found.push("a block does not end with a return".to_owned());
        }
        let variables = code.iter().take_while(|i| i.class.opcode == Op::Variable).count();
        if code[variables..].iter().any(|i| i.class.opcode == Op::Variable) {
            found.push("a variable after other instructions".to_owned());
        }
        let local: BTreeMap<Word, usize> =
            code.iter().enumerate().filter_map(|(k, i)| Some((i.result_id?, k))).collect();
        for (k, inst) in code.iter().enumerate() {
            let late = inst.operands.iter().any(
                |o| matches!(o, Operand::IdRef(id) if local.get(id).is_some_and(|&defined| defined >= k)),
            );
            if late {
                found.push(format!("{:?} uses a result that comes later", inst.class.opcode));
            }
        }
    }
    found
}

/// A fill that uses everything the hole has: value, a slot of each type, result, and a store.
fn rich(hole: &HoleDecl, slots: u32) -> HoleFill {
    let float = matches!(hole.ty, HoleType::Float | HoleType::Vec4);
    let value = if float { RegType::F32 } else { RegType::U32 };
    let mut inputs: Vec<HoleInput> = (0..hole.values.len()).map(|k| HoleInput::Value(k as u8)).collect();
    let mut types = vec![value; inputs.len()];
    if slots >= 3 {
        inputs.extend([0, 1, 1].map(HoleInput::Slot));
        types.extend([RegType::F32, RegType::I32, RegType::Bool]);
    }
    let expr = ScalarExpr::build(&types, |b, x| {
        let sum = x.iter().fold(b.f32(0.5), |sum, &r| b.add(sum, b.convert(r, RegType::F32)));
        let y = b.pow(b.gelu(b.sin(sum)), b.fmod(sum, b.f32(3.0)));
        let out = if float { y } else { b.convert(y, value) };
        vec![out, b.gt(y, b.f32(0.0)), b.modulo(b.convert(y, RegType::I32), b.i32(7))]
    });
    let returns = !matches!(hole.ty, HoleType::Void1 | HoleType::Void4);
    HoleFill {
        hole: hole.name.into(),
        expr: expr.expect("a well-typed body"),
        inputs: inputs.into(),
        result: returns.then_some(0),
        stores: if hole.stores && slots >= 3 { vec![(2, 1), (0, 2)].into() } else { Default::default() },
    }
}

#[test]
fn every_hole_of_every_module_can_be_filled() {
    let mut filled = 0;
    for entry in pumice_shaders::modules() {
        let Some(decl) = kernels::find(entry.kernel) else { continue };
        let words = entry.words();
        let fills: Vec<HoleFill> = decl.holes.iter().map(|h| rich(h, decl.slots)).collect();
        for some in [&fills[..], &fills[..fills.len().min(1)], &[]] {
            let out = fill(&words, some, ALL_CONTROLS);
            let out = out.unwrap_or_else(|e| panic!("{} {}: {e}", entry.kernel, entry.variant));
            let module = load_words(&out).unwrap_or_else(|e| panic!("{}: {e}", entry.kernel));
            assert_eq!(defects(&module), Vec::<String>::new(), "{} {}", entry.kernel, entry.variant);
        }
        filled += fills.len();
    }
    assert!(filled > 0, "no checked-in module has a hole");
}

/// The words of a checked-in module.
fn module(kernel: &str) -> Vec<u32> {
    let entry = pumice_shaders::modules().iter().find(|e| e.kernel == kernel && e.variant == "plain");
    entry.unwrap_or_else(|| panic!("no module {kernel}")).words()
}

/// A fill of hole `body` from slots 0.. into the next slot.
fn slots_only(expr: ScalarExpr) -> HoleFill {
    let inputs: Vec<HoleInput> = (0..expr.inputs().len()).map(|k| HoleInput::Slot(k as u8)).collect();
    let stores = vec![(inputs.len() as u8, 0)];
    HoleFill { hole: "body".into(), expr, inputs: inputs.into(), result: None, stores: stores.into() }
}

fn unary(
    ty: RegType,
    f: impl FnOnce(&ScalarBuilder, pumice_types::scalar::Reg) -> pumice_types::scalar::Reg,
) -> HoleFill {
    slots_only(ScalarExpr::unary(ty, f).expect("a well-typed body"))
}

fn has_capability(words: &[u32], capability: Capability) -> bool {
    let module = load_words(words).expect("a filled module");
    module.capabilities.iter().any(|i| i.operands == [Operand::Capability(capability)])
}

#[test]
fn filling_is_deterministic_and_leaves_no_rest() {
    let words = module("elementwise_flat");
    let fills = [unary(RegType::F32, ScalarBuilder::gelu)];
    let once = fill(&words, &fills, ALL_CONTROLS).expect("filled");
    assert_eq!(Ok(&once), fill(&words, &fills, ALL_CONTROLS).as_ref());
    // Replacing the same hole again leaves nothing of the first body behind.
    let again = fill(&once, &fills, ALL_CONTROLS).expect("filled again");
    assert_eq!(defects(&load_words(&again).expect("readable")), Vec::<String>::new());
    assert_eq!(again.len(), once.len());
}

#[test]
fn int64_is_declared_only_when_used() {
    let words = module("elementwise_strided");
    if has_capability(&words, Capability::Int64) {
        return assert!(fill(&words, &[], FloatControls::default()).is_ok());
    }
    let narrow = fill(&words, &[unary(RegType::I32, |b, x| b.add(x, x))], FloatControls::default());
    assert!(!has_capability(&narrow.expect("filled"), Capability::Int64));
    let wide = unary(RegType::I64, |b, x| b.mul(b.add(x, b.i64(1 << 40)), b.convert(b.i32(3), RegType::I64)));
    let wide = fill(&words, &[wide], FloatControls::default()).expect("filled");
    assert!(has_capability(&wide, Capability::Int64));
    assert_eq!(defects(&load_words(&wide).expect("readable")), Vec::<String>::new());
}

/// Devices without 64-bit integers copy them, too: loaded and stored as two words, also beside others that are
/// computed.
#[test]
fn wide_elements_that_are_moved_need_no_int64() {
    let words = module("elementwise_strided");
    let moved = ScalarExpr::identity(RegType::I64);
    let moved = fill(&words, &[slots_only(moved)], FloatControls::default()).expect("filled");
    assert!(!has_capability(&moved, Capability::Int64));
    let readable = load_words(&moved).expect("readable");
    assert_eq!(defects(&readable), Vec::<String>::new());
    let id_of = |name: &str| {
        readable.debug_names.iter().find_map(|i| match i.operands.as_slice() {
            [Operand::IdRef(id), Operand::LiteralString(text)] if text.starts_with(name) => Some(*id),
            _ => None,
        })
    };
    let hole = readable.functions.iter().find(|f| f.def_id() == id_of("hole_body("));
    let body = &hole.expect("the hole").blocks[0].instructions;
    let calls = |name: &str| {
        let callee = Operand::IdRef(id_of(name).expect("a slot function"));
        body.iter().filter(|i| i.class.opcode == Op::FunctionCall && i.operands[0] == callee).count()
    };
    assert_eq!((calls("slotload64_body("), calls("slotstore64_body(")), (1, 1));
    assert!(body.iter().all(|i| i.class.opcode != Op::Bitcast));

    let b = ScalarBuilder::new(&[RegType::I64, RegType::I64]);
    let (x, y) = (b.inputs()[0], b.inputs()[1]);
    let twice = b.add(y, y);
    let both = b.finish(&[x, twice]).expect("a well-typed body");
    let stores = vec![(2, 0), (3, 1)];
    let both =
        fill(&words, &[HoleFill { stores: stores.into(), ..slots_only(both) }], FloatControls::default());
    assert_eq!(defects(&load_words(both.expect("filled")).expect("readable")), Vec::<String>::new());
}

#[test]
fn float_controls_are_declared_once() {
    let words = module("elementwise_flat");
    let once = fill(&words, &[], ALL_CONTROLS).expect("declared");
    let twice = fill(&once, &[], ALL_CONTROLS).expect("declared again");
    assert_eq!(once, twice);
    let module = load_words(&once).expect("readable");
    for mode in [
        ExecutionMode::SignedZeroInfNanPreserve,
        ExecutionMode::DenormPreserve,
        ExecutionMode::RoundingModeRTE,
    ] {
        let with =
            module.execution_modes.iter().filter(|i| i.operands.contains(&Operand::ExecutionMode(mode)));
        assert_eq!(with.count(), 1, "{mode:?}");
    }
    assert_eq!(fill(&words, &[], FloatControls::default()).map(|w| w.len()), Ok(words.len()));
}

#[test]
fn precise_instructions_are_decorated() {
    let precise = unary(RegType::F32, |b, x| b.mul(b.add_precise(x, b.f32(1.0)), x));
    let out = fill(&module("elementwise_flat"), &[precise], FloatControls::default()).expect("filled");
    let module = load_words(&out).expect("readable");
    let marked: Vec<Word> = module
        .annotations
        .iter()
        .filter_map(|i| match i.operands.as_slice() {
            [Operand::IdRef(id), Operand::Decoration(Decoration::NoContraction)] => Some(*id),
            _ => None,
        })
        .collect();
    let additions: Vec<Word> = module
        .all_inst_iter()
        .filter_map(|i| match i.class.opcode {
            Op::FAdd if marked.contains(&i.result_id?) => i.result_id,
            _ => None,
        })
        .collect();
    assert_eq!(additions.len(), 1);
    let products = module.all_inst_iter().filter(|i| i.class.opcode == Op::FMul);
    assert!(products.filter_map(|i| i.result_id).all(|id| !marked.contains(&id)));
}

#[test]
fn fills_that_do_not_fit_are_errors() {
    let words = module("elementwise_flat");
    let good = unary(RegType::F32, ScalarBuilder::exp);
    let with = |change: &dyn Fn(&mut HoleFill)| {
        let mut bad = good.clone();
        change(&mut bad);
        fill(&words, &[bad], FloatControls::default()).expect_err("refused")
    };
    let hole = || "body".to_owned();
    assert_eq!(
        with(&|f| f.hole = "tail".into()),
        CodegenError::NoFunction { hole: "tail".to_owned(), function: "hole_tail".to_owned() }
    );
    assert_eq!(with(&|f| f.inputs.clear()), CodegenError::Inputs { hole: hole(), expected: 1, given: 0 });
    assert_eq!(
        with(&|f| f.inputs = vec![HoleInput::Value(0)].into()),
        CodegenError::NoValue { hole: hole(), index: 0, values: 0 }
    );
    assert_eq!(with(&|f| f.stores = vec![(1, 4)].into()), CodegenError::NoOutput { hole: hole(), index: 4 });
    assert_eq!(with(&|f| f.result = Some(0)), CodegenError::Result { hole: hole(), expected: "not taken" });
    let wide = unary(RegType::I64, |b, x| b.neg(x));
    assert_eq!(
        fill(&words, &[wide], FloatControls::default()),
        Err(CodegenError::Type { hole: hole(), ty: RegType::I64, width: 4 })
    );
}

#[test]
fn truncated_modules_are_errors() {
    let words = module("elementwise_flat");
    for length in 0..words.len() {
        // A cut between two instructions may leave a readable module, but never a hole.
        let fills = [unary(RegType::F32, ScalarBuilder::exp)];
        assert!(fill(&words[..length], &fills, FloatControls::default()).is_err(), "{length} words");
    }
}
