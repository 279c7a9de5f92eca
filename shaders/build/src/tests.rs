//! The checks refuse what does not fit: the checked-in modules against declarations that were changed.

use crate::reflect::{Coverage, check};
use pumice_plan::kernel::interface::{Addressing, module_file};
use pumice_plan::kernel::{
    ArgDecl, ArgKind, Feature, HoleDecl, HoleType, KernelDecl, OperandAccess, OperandDecl, OptLevel, SpecDecl,
};
use pumice_plan::kernels::kv::KvAppend;
use pumice_plan::kernels::reduce::ReduceRows;
use std::path::Path;

fn words(kernel: &str, variant: &str, form: Addressing) -> Vec<u32> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../spv").join(module_file(kernel, variant, form));
    let bytes = std::fs::read(path).expect("the module is checked in");
    bytes.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect()
}

fn refusal(decl: KernelDecl, form: Addressing) -> Option<String> {
    let words = words(decl.name, "plain", form);
    check(&decl, &decl.variants[0], form, &words, &mut Coverage::default()).err().map(|e| e.to_string())
}

fn leak<T>(values: Vec<T>) -> &'static [T] {
    Box::leak(values.into_boxed_slice())
}

#[test]
fn every_declared_module_is_checked_in_and_fits() {
    for decl in pumice_plan::kernels::all() {
        for variant in decl.variants {
            for form in Addressing::ALL.into_iter().filter(|f| variant.plain || *f == Addressing::Address) {
                let words = words(decl.name, variant.name, form);
                check(decl, variant, form, &words, &mut Coverage::default()).expect("it fits");
            }
        }
    }
}

#[test]
fn a_moved_argument_is_refused() {
    let mut args = ReduceRows::DECL.args.to_vec();
    args.pop();
    let fewer = KernelDecl { args: leak(args.clone()), ..ReduceRows::DECL };
    assert_eq!(refusal(fewer, Address), None, "the last array ends the struct: offsets are the same");
    let operands = [ReduceRows::DECL.operands, ReduceRows::DECL.operands].concat();
    let moved = KernelDecl { operands: leak(operands), slots: 0, holes: &[], ..ReduceRows::DECL };
    assert!(refusal(moved, Address).is_some_and(|e| e.contains("push constants lie at")));
    let long = ArgDecl { name: "long", kind: ArgKind::U32, len: Some(64), view: None };
    args.push(long);
    let block = KernelDecl { args: leak(args), ..ReduceRows::DECL };
    assert!(refusal(block, Address).is_some());
}

#[test]
fn an_operand_against_its_access_is_refused() {
    let mut operands: Vec<OperandDecl> = KvAppend::DECL.operands.to_vec();
    operands[0].access = OperandAccess::Write;
    let decl = KernelDecl { operands: leak(operands.clone()), ..KvAppend::DECL };
    assert!(refusal(decl, Addressing::Descriptor).is_some_and(|e| e.contains("`x` is decorated against")));
    operands[0].access = OperandAccess::Read;
    operands[2].access = OperandAccess::Read;
    let decl = KernelDecl { operands: leak(operands), ..KvAppend::DECL };
    assert!(
        refusal(decl, Addressing::Descriptor).is_some_and(|e| e.contains("`state` is decorated against"))
    );
}

#[test]
fn another_hole_is_refused() {
    let hole = ReduceRows::DECL.holes[0];
    let cases: [(HoleDecl, &str); 4] = [
        (HoleDecl { name: "other", ..hole }, "no function `hole_other("),
        (HoleDecl { ty: HoleType::Float, ..hole }, "`hole_load("),
        (HoleDecl { coords: &["row"], ..hole }, "`hole_load("),
        (HoleDecl { stores: true, ..hole }, "no function `slotstore_load("),
    ];
    for (changed, what) in cases {
        let decl = KernelDecl { holes: leak(vec![changed]), ..ReduceRows::DECL };
        let refused = refusal(decl, Addressing::Address);
        assert!(refused.as_ref().is_some_and(|e| e.contains(what)), "{refused:?}");
    }
}

#[test]
fn another_constant_or_feature_is_refused() {
    let mut specs: Vec<SpecDecl> = ReduceRows::DECL.specs.to_vec();
    specs[1].default = 64;
    let decl = KernelDecl { specs: leak(specs), ..ReduceRows::DECL };
    assert!(
        refusal(decl, Addressing::Address).is_some_and(|e| e.contains("specialization constant 1 = 256"))
    );
    let mut variants = ReduceRows::DECL.variants.to_vec();
    variants[0].features = &[Feature::Int64];
    let decl = KernelDecl { variants: leak(variants), ..ReduceRows::DECL };
    assert!(
        refusal(decl, Addressing::Address).is_some_and(|e| e.contains("a plain variant needs a feature"))
    );
    let flat = pumice_plan::kernels::elementwise::ElementwiseFlat::DECL;
    let wide = flat.variants.iter().find(|v| v.name == "words64").expect("it is declared");
    let claimed = pumice_plan::kernel::VariantDecl { features: &[], ..*wide };
    let words = words(flat.name, wide.name, Addressing::Address);
    let refused = check(&flat, &claimed, Addressing::Address, &words, &mut Coverage::default());
    assert!(refused.is_err_and(|e| e.to_string().contains("Int64")));
}

/// Subgroup instructions are asked of the device: shuffles, and the sizes a module can do with.
#[test]
fn subgroups_that_are_not_asked_for_are_refused() {
    use pumice_plan::kernels::attention::AttentionSplit;
    let split = AttentionSplit::DECL;
    let variant = split.variants.iter().find(|v| v.name == "w32").expect("it is declared");
    let words = words(split.name, variant.name, Addressing::Address);
    let refused = |features: &'static [Feature]| {
        let claimed = pumice_plan::kernel::VariantDecl { features, ..*variant };
        let checked = check(&split, &claimed, Addressing::Address, &words, &mut Coverage::default());
        checked.err().map(|e| e.to_string())
    };
    assert_eq!(refused(variant.features), None);
    let (shuffle, size) = (Feature::SubgroupShuffle, Feature::SubgroupSize(2));
    assert!(refused(leak(vec![shuffle])).is_some_and(|e| e.contains("GroupNonUniform is not declared")));
    assert!(refused(leak(vec![size])).is_some_and(|e| e.contains("GroupNonUniformShuffle is not")));
    let more = leak(vec![shuffle, size, Feature::SubgroupArithmetic]);
    assert!(refused(more).is_some_and(|e| e.contains("SubgroupArithmetic is declared and not used")));
}

#[test]
fn holes_survive_full_optimization() {
    let decl = ReduceRows::DECL;
    let words = words(decl.name, "plain", Addressing::Address);
    let optimized = crate::optimize::optimize(words.clone(), OptLevel::Full).expect("it is valid");
    assert_ne!(optimized, words);
    check(&decl, &decl.variants[0], Addressing::Address, &optimized, &mut Coverage::default())
        .expect("holes are there");
}

use Addressing::Address;
