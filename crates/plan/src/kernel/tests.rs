//! Declarations, layouts and interfaces of every kernel.

use super::interface::{Addressing, fingerprint, glsl, module_file};
use super::layout::VARY_AT;
use super::*;
use crate::kernels;
use crate::kernels::copy::Transpose;
use crate::kernels::norm::LayerNorm;
use pumice_types::scalar::{RegType, ScalarExpr};
use std::collections::BTreeSet;

fn transpose() -> KernelCall {
    let word = |n: u32| ArgValue::U32(n);
    Transpose {
        variant: Transpose::plain,
        batch: word(1),
        rows: ArgValue::Frame(7),
        cols: word(3),
        x_offset: word(0),
        x_batch: word(0),
        x_row: word(3),
        y_batch: word(0),
        y_row: word(2),
        x: UseIndex(0),
        y: UseIndex(1),
        slots: Vec::new(),
        holes: Vec::new(),
    }
    .into_call()
}

#[test]
fn names_and_ids_are_unique() {
    let mut names = BTreeSet::new();
    for d in kernels::all() {
        assert!(names.insert(d.name), "{} twice", d.name);
        assert_eq!(kernels::find(d.name), Some(d));
        let ids: BTreeSet<u32> = d.specs.iter().map(|s| s.id).collect();
        assert_eq!(ids.len(), d.specs.len(), "{}: a constant_id twice", d.name);
        assert!(ids.iter().all(|&id| id < VARIES_ID), "{}", d.name);
        let variants: BTreeSet<&str> = d.variants.iter().map(|v| v.name).collect();
        assert_eq!(variants.len(), d.variants.len(), "{}: a variant twice", d.name);
        // The plain twin of attention without shared memory is `attention`.
        let twin_elsewhere = d.name == "attention_lanes";
        assert!(twin_elsewhere || d.variants.iter().any(|v| v.plain), "{} has no plain twin", d.name);
        assert!(d.variants.iter().filter(|v| v.plain).all(|v| v.features.is_empty()), "{}", d.name);
        assert!(!d.name.contains('.') && d.variants.iter().all(|v| !v.name.contains('.')));
    }
}

#[test]
fn layouts_stay_in_push_constants_or_become_blocks() {
    for d in kernels::all() {
        let l = d.layout();
        assert_eq!(l.size, 8 + 4 * l.vary_words + 8 * l.addresses + 4 * l.args, "{}", d.name);
        assert_eq!(l.addresses_at % 8, 0);
        assert!(l.vary_words * 32 >= l.args);
        assert_eq!(l.block, l.size > MAX_PUSH_CONSTANTS);
        assert!(l.push_bytes() <= MAX_PUSH_CONSTANTS);
    }
}

#[test]
fn pack_marks_what_varies() {
    let call = transpose();
    let l = Transpose::DECL.layout();
    let words = l.pack(0x1_0000_0002, &[0x3_0000_0004, 0x5_0000_0006], &call.args);
    assert_eq!(words.len() as u32 * 4, l.size);
    assert_eq!(words[..2], [2, 1]);
    assert_eq!(words[(VARY_AT / 4) as usize], 0b10);
    assert_eq!(words[(l.addresses_at / 4) as usize..][..4], [4, 3, 6, 5]);
    assert_eq!(words[(l.args_at / 4) as usize..][..3], [1, 7, 3]);
}

#[test]
fn constant_calls_say_so() {
    assert!(!transpose().spec.contains(&(VARIES_ID, 0)));
    let mut constant = transpose();
    constant.args[1] = ArgValue::U32(2);
    assert!(constant.check().is_ok());
    let norm = LayerNorm {
        variant: LayerNorm::plain,
        lanes: 64,
        vec: 0,
        gamma: 1,
        beta: 0,
        slot_cols: 15,
        rows: 1u32.into(),
        n: 5u32.into(),
        x_row: 5u32.into(),
        eps: ArgValue::f32(1e-5),
        slot_offset: Default::default(),
        slot_row: Default::default(),
        x: UseIndex(0),
        g: Typed { at: UseIndex(1), storage: FloatStorage::BF16 },
        b: UseIndex(0).into(),
        y: UseIndex(2),
        slots: Vec::new(),
        holes: Vec::new(),
    }
    .into_call();
    assert!(norm.spec.is_sorted_by_key(|s| s.0));
    assert!(norm.spec.contains(&(VARIES_ID, 0)));
    assert!(norm.spec.contains(&(TYPED_ID + 1, FloatStorage::BF16.code())));
    assert_eq!(norm.operands, [UseIndex(0), UseIndex(1), UseIndex(0), UseIndex(2)]);
    assert_eq!(norm.check(), Ok(&LayerNorm::DECL));
    assert_eq!(norm.label(), "layer_norm.plain");
}

#[test]
fn calls_that_do_not_fit_are_refused() {
    let with = |edit: fn(&mut KernelCall)| {
        let mut call = transpose();
        edit(&mut call);
        call.check().err()
    };
    use call::CallError::{Count, Hole, Kernel, Spec, Variant};
    assert_eq!(with(|_| ()), None);
    assert!(matches!(with(|c| c.kernel = KernelName("nothing".into())), Some(Kernel(_))));
    assert!(matches!(with(|c| c.variant = "fast".into()), Some(Variant { .. })));
    assert!(matches!(with(|c| c.args.truncate(3)), Some(Count { expected: 8, given: 3, .. })));
    assert!(matches!(with(|c| c.operands.clear()), Some(Count { expected: 2, given: 0, .. })));
    assert!(matches!(with(|c| c.slots.push(UseIndex(0))), Some(Count { expected: 0, given: 1, .. })));
    assert!(matches!(with(|c| c.spec.push((5, 1))), Some(Spec { id: 5, .. })));
    let fill = |c: &mut KernelCall| {
        let expr = ScalarExpr::identity(RegType::F32);
        let inputs = vec![HoleInput::Value(0)];
        c.holes.push(HoleFill { hole: "epilogue".into(), expr, inputs, result: Some(0), stores: Vec::new() });
    };
    assert!(matches!(with(fill), Some(Hole { what: "no such hole", .. })));
}

#[test]
fn interfaces_have_what_was_declared() {
    for d in kernels::all() {
        for form in Addressing::ALL {
            let text = glsl(d, form);
            for a in d.args {
                assert!(text.contains(&format!(" arg_{}(", a.name)), "{} {}", d.name, a.name);
            }
            for o in d.operands {
                let (loads, stores) = match o.access {
                    OperandAccess::Read => (true, false),
                    OperandAccess::Write => (false, true),
                    OperandAccess::ReadWrite => (true, true),
                    OperandAccess::Status => (false, false),
                };
                assert_eq!(text.contains(&format!(" loadu_{}(", o.name)), loads, "{} {}", d.name, o.name);
                assert_eq!(text.contains(&format!(" storeu_{}(", o.name)), stores, "{} {}", d.name, o.name);
                assert_eq!(text.contains(&format!(" T_{} ", o.name)), o.typed, "{} {}", d.name, o.name);
            }
            assert_eq!(text.contains("void status_raise("), d.operands.iter().any(|o| o.name == "status"));
            let descriptor = form == Addressing::Descriptor;
            assert_eq!(text.contains("set = 0"), descriptor);
        }
        assert!(fingerprint(d).contains(d.file));
    }
    assert_eq!(module_file("a", "plain", Addressing::Address), "a.plain.address.spv");
}

/// Every declaration's bound is a number for each variant, whatever the arguments are: no macro is missing.
#[test]
fn every_bound_is_a_number() {
    for d in kernels::all() {
        for v in d.variants {
            let call = KernelCall {
                kernel: KernelName(d.name.into()),
                variant: v.name.into(),
                spec: Vec::new(),
                args: vec![ArgValue::U32(64); d.arg_words() as usize],
                operands: Vec::new(),
                slots: Vec::new(),
                holes: Vec::new(),
                literals: Vec::new(),
            };
            let turns = d.turns(&call, &|_| 0);
            assert!(turns < 5_000, "{}.{}: {turns}", d.name, v.name);
            let zeros = KernelCall { spec: d.specs.iter().map(|s| (s.id, 0)).collect(), ..call.clone() };
            d.turns(&zeros, &|_| 0);
            let unknown = KernelCall { variant: "nothing".into(), ..call };
            assert_eq!(d.turns(&unknown, &|_| 0), u64::MAX);
        }
    }
}

/// Bounds follow arguments at their upper bounds, constants, variants and frame words.
#[test]
fn bounds_are_those_of_the_shaders() {
    use crate::kernels::matmul::{MatmulF32, MatmulF32Columns, MatmulF32Dot, MatmulF32Lanes};
    use crate::kernels::reduce::{ArgReduce, ReduceColumns, ReduceInt, ReduceRows};
    use crate::kernels::softmax::{SoftmaxColumns, SoftmaxRows};
    let turns = |d: KernelDecl, variant: &str, arg: &str, n: u32, spec: &[(u32, u32)]| {
        let before = d.args.iter().take_while(|a| a.name != arg);
        let at = before.map(|a| a.words() as usize).sum::<usize>();
        let mut args = vec![ArgValue::ZERO; d.arg_words() as usize];
        args[at] = ArgValue::Frame(7);
        let call = KernelCall {
            kernel: KernelName(d.name.into()),
            variant: variant.into(),
            spec: spec.to_vec(),
            args,
            operands: Vec::new(),
            slots: Vec::new(),
            holes: Vec::new(),
            literals: Vec::new(),
        };
        d.turns(&call, &|word| if word == 7 { i64::from(n) } else { 0 })
    };
    assert_eq!(turns(ReduceRows::DECL, "plain", "n", 1 << 28, &[(1, 256)]), 65_536 + 1 + 9);
    assert_eq!(turns(ReduceColumns::DECL, "plain", "red", 1 << 20, &[(1, 64)]), 65_536 + 1 + 3);
    assert_eq!(turns(ReduceInt::DECL, "plain", "n", 1 << 24, &[(0, 1), (1, 256)]), 65_536 + 1 + 9 + 65);
    assert_eq!(turns(ArgReduce::DECL, "plain", "n", 1 << 26, &[(4, 256)]), 65_536 + 1 + 9);
    assert_eq!(turns(ArgReduce::DECL, "plain", "n", 1 << 26, &[(4, 256), (5, 1)]), 16_384 + 1 + 9);
    assert_eq!(turns(SoftmaxColumns::DECL, "plain", "n", 32_768, &[]), 2 * 32_769);
    assert_eq!(turns(SoftmaxRows::DECL, "plain", "n", 1 << 24, &[(0, 256)]), 2 * 16_385 + 9);
    assert_eq!(turns(SoftmaxRows::DECL, "fast16", "n", 1 << 14, &[(0, 256)]), 18);
    assert_eq!(turns(LayerNorm::DECL, "plain", "n", 1 << 24, &[(0, 256)]), 3 * 16_385 + 18);
    assert_eq!(turns(MatmulF32Lanes::DECL, "plain", "k", 65_535, &[]), 65_536 + 65);
    assert_eq!(turns(MatmulF32Columns::DECL, "plain", "k", 1 << 20, &[(3, 1)]), 1025 + 9 + 2 * 130);
    assert_eq!(turns(MatmulF32Dot::DECL, "plain", "k", 1 << 20, &[]), 8193 + 4 * 33);
    // 16 terms and a loop over four pieces of them a step; at the end one piece of the tile, four quads a thread.
    assert_eq!(turns(MatmulF32::DECL, "plain", "k", 1 << 16, &[]), 4097 * 6 + 2 * 6);
}
