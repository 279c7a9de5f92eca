//! Declarations, layouts and interfaces of every kernel.

use super::interface::{Addressing, fingerprint, glsl, module_file};
use super::layout::VARY_AT;
use super::*;
use crate::kernels;
use crate::kernels::copy::Transpose;
use crate::kernels::norm::LayerNorm;
use crate::view::{Storage, View};
use pumice_types::scalar::{RegType, ScalarExpr};
use pumice_types::{DType, DimExpr};
use std::collections::BTreeSet;

/// A use of \[1, 2, 3\] words, `offset` elements into its span.
fn strided(at: u16, offset: i64) -> Bound {
    let shape = [1, 2, 3].map(DimExpr::constant);
    let dense = View::dense(DType::F32, Storage::Arena, &shape);
    Bound::new(UseIndex(at), &View { offset: DimExpr::constant(offset), ..dense })
}

fn transpose_call() -> CallBuilder {
    let word = |n: u32| ArgValue::U32(n);
    let two = |axes: [i64; 2]| axes.map(DimExpr::constant);
    Transpose {
        variant: Transpose::plain,
        batch: word(1),
        rows: ArgValue::Frame(7),
        cols: word(3),
        x: strided(0, 6).along(two([0, 3])),
        y: strided(1, 0).along(two([0, 2])),
        slots: Default::default(),
        holes: Vec::new(),
    }
    .into_call()
}

fn transpose() -> KernelCall {
    transpose_call().fixed().expect("no view of it varies")
}

/// Words about views come from the bound views, in the order of the declaration; everything else by name, once.
#[test]
fn views_become_words_and_every_name_is_set_once() {
    assert_eq!(transpose().args[3..], [6, 0, 3, 0, 2].map(ArgValue::U32));
    use call::CallError::{Unknown, Unset, View};
    let with = |edit: fn(CallBuilder) -> CallBuilder| edit(transpose_call()).fixed().err();
    assert_eq!(with(|c| c), None);
    assert!(matches!(with(|c| c.own("rows", ArgValue::ZERO)), Some(Unset { name: "rows", .. })));
    assert!(matches!(with(|c| c.own("x_row", ArgValue::ZERO)), Some(Unknown { name: "x_row", .. })));
    assert!(matches!(with(|c| c.constant("vec", 1)), Some(Unknown { name: "vec", .. })));
    assert!(matches!(with(|c| c.operand("x", strided(0, 0))), Some(Unset { name: "x", .. })));
    let other = |c: CallBuilder| c.of(&LayerNorm::DECL, LayerNorm::plain);
    assert!(matches!(with(other), Some(Unknown { name: "batch", .. })));
    let slot = |c: CallBuilder| c.holes(vec![strided(0, 0)], Vec::new());
    assert!(matches!(with(slot), Some(call::CallError::Count { expected: 0, given: 1, .. })));
    let bound = |x: Bound, y: Bound| {
        let builder = CallBuilder::new(&Transpose::DECL, Transpose::plain).operand("x", x).operand("y", y);
        ["batch", "rows", "cols"].into_iter().fold(builder, |d, n| d.own(n, ArgValue::ZERO)).fixed().err()
    };
    let two = |b: Bound| b.along([0, 3].map(DimExpr::constant));
    assert_eq!(bound(two(strided(0, 6)), two(strided(1, 0))), None);
    assert_eq!(bound(strided(0, 6).unread(), two(strided(1, 0))), None);
    // Another number of axes; a result that begins later, which no argument says; a stride that varies.
    assert!(matches!(bound(strided(0, 0), two(strided(1, 0))), Some(View { operand: "x", .. })));
    assert!(matches!(bound(two(strided(0, 0)), two(strided(1, 6))), Some(View { operand: "y", .. })));
    let symbol = DimExpr::symbol(pumice_types::SymbolId(0));
    let varies = strided(0, 0).along([symbol.clone(), symbol]);
    assert!(matches!(bound(varies, two(strided(1, 0))), Some(View { operand: "x", .. })));
}

/// An operand of which no argument says how it lies is dense from its beginning.
#[test]
fn operands_without_a_group_are_dense() {
    use crate::kernels::copy::Fill;
    let fill = |y: Bound| {
        let builder = CallBuilder::new(&Fill::DECL, Fill::plain).constant("kind", 0).operand("y", y);
        let words = ["n", "start_lo", "start_hi", "delta_lo", "delta_hi"];
        words.into_iter().fold(builder, |d, n| d.own(n, ArgValue::ZERO)).fixed()
    };
    assert!(fill(strided(0, 0)).is_ok());
    assert!(matches!(fill(strided(0, 6)), Err(call::CallError::View { operand: "y", .. })));
}

/// Slots walk their own views; what the call does not bind is 0. A group names an operand, or the slots.
#[test]
fn groups_describe_operands_and_slots() {
    for d in kernels::all() {
        for (arg, view) in d.args.iter().filter_map(|a| Some((a, a.view?))) {
            assert_eq!(arg.name, format!("{}_{}", view.of, view.axis), "{}", d.name);
            let slots = view.of == SLOTS && arg.len == Some(d.slots);
            let operand = d.operands.iter().any(|o| o.name == view.of) && arg.len.is_none();
            assert!(slots || operand, "{}: {}", d.name, arg.name);
        }
    }
    let mut norm = layer_norm();
    norm.slots =
        vec![strided(0, 12).along([DimExpr::constant(5)]), strided(1, 0).along([DimExpr::constant(0)])];
    let call = norm.into_call().fixed().expect("it fits");
    let word = |n: u32| ArgValue::U32(n);
    assert_eq!(call.args[4..7], [word(12), word(0), word(0)]);
    assert_eq!(call.args[12..15], [word(5), word(0), word(0)]);
    assert_eq!(call.slots[..], [UseIndex(0), UseIndex(1)]);
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
        // The plain twin of attention without shared memory and of that by matrix units is `attention`, of products of
        // few rows without shared memory `matmul_f32_lanes`.
        let twin_elsewhere = ["attention_lanes", "attention_units", "matmul_f32_dot_lanes"].contains(&d.name);
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
    assert_eq!(words[(l.args_at / 4) as usize..][..4], [1, 7, 3, 6]);
}

#[test]
fn constant_calls_say_so() {
    assert!(!transpose().spec.contains(&(VARIES_ID, 0)));
    let mut constant = transpose();
    constant.args[1] = ArgValue::U32(2);
    assert!(constant.check().is_ok());
    let norm = layer_norm().into_call().fixed().expect("it fits");
    assert!(norm.spec.is_sorted_by_key(|s| s.0));
    assert!(norm.spec.contains(&(VARIES_ID, 0)));
    assert!(norm.spec.contains(&(TYPED_ID + 1, FloatStorage::BF16.code())));
    assert_eq!(norm.operands[..], [UseIndex(0), UseIndex(1), UseIndex(0), UseIndex(2)]);
    assert_eq!(norm.check(), Ok(&LayerNorm::DECL));
    assert_eq!(norm.label(), "layer_norm.plain");
}

fn layer_norm() -> LayerNorm {
    let row = View::dense(DType::BF16, Storage::Natural, &[DimExpr::constant(5)]);
    LayerNorm {
        variant: LayerNorm::plain,
        lanes: 64,
        vec: 0,
        gamma: 1,
        beta: 0,
        slot_cols: 15,
        rows: 1u32.into(),
        n: 5u32.into(),
        eps: ArgValue::f32(1e-5),
        x: strided(0, 0).along([DimExpr::constant(5)]),
        g: Bound::new(UseIndex(1), &row),
        b: strided(0, 0).unread(),
        y: UseIndex(2).into(),
        slots: Default::default(),
        holes: Vec::new(),
    }
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
        c.holes.push(HoleFill {
            hole: "epilogue".into(),
            expr,
            inputs: inputs.into(),
            result: Some(0),
            stores: Default::default(),
        });
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
            // A kernel with a window iterates over each tap, and a window of three axes has as many as their product;
            // one may sum over the heads of a group, of each over queries and widths.
            let multiplies = |a: &ArgDecl| ["kernel", "group"].contains(&a.name);
            let number = if d.args.iter().any(multiplies) { 3 } else { 64 };
            let call = KernelCall {
                kernel: KernelName(d.name.into()),
                variant: v.name.into(),
                spec: Vec::new(),
                args: vec![ArgValue::U32(number); d.arg_words() as usize],
                operands: Default::default(),
                slots: Default::default(),
                holes: Vec::new(),
                literals: Vec::new(),
            };
            let trip_count = d.trip_count(&call, &|_| 0);
            assert!(trip_count < 10_000, "{}.{}: {trip_count}", d.name, v.name);
            let zeros = KernelCall { spec: d.specs.iter().map(|s| (s.id, 0)).collect(), ..call.clone() };
            d.trip_count(&zeros, &|_| 0);
            let unknown = KernelCall { variant: "nothing".into(), ..call };
            assert_eq!(d.trip_count(&unknown, &|_| 0), u64::MAX);
        }
    }
}

/// Bounds follow arguments at their upper bounds, constants, variants and frame words.
#[test]
fn bounds_are_those_of_the_shaders() {
    use crate::kernels::matmul::{
        MatmulF32, MatmulF32Columns, MatmulF32Dot, MatmulF32DotLanes, MatmulF32Lanes,
    };
    use crate::kernels::reduce::{ArgReduce, ReduceColumns, ReduceInt, ReduceRows};
    use crate::kernels::softmax::{SoftmaxColumns, SoftmaxRows};
    let trip_count = |d: KernelDecl, variant: &'static str, arg: &str, n: u32, spec: &[(u32, u32)]| {
        let before = d.args.iter().take_while(|a| a.name != arg);
        let at = before.map(|a| a.words() as usize).sum::<usize>();
        let mut args = vec![ArgValue::ZERO; d.arg_words() as usize];
        args[at] = ArgValue::Frame(7);
        let call = KernelCall {
            kernel: KernelName(d.name.into()),
            variant: variant.into(),
            spec: spec.to_vec(),
            args,
            operands: Default::default(),
            slots: Default::default(),
            holes: Vec::new(),
            literals: Vec::new(),
        };
        d.trip_count(&call, &|word| if word == 7 { i64::from(n) } else { 0 })
    };
    // A chain of a sum takes a trip of two loops, and three of `carry`; a counter of L levels is joined in L + 1.
    let chained = |chains: u64, levels: u64| 5 * chains + chains / 64 + levels + 1;
    let rows = trip_count(ReduceRows::DECL, "plain", "n", 1 << 28, &[(1, 256)]);
    assert_eq!(rows, 65_536 + 1 + 9 + chained(513, 18));
    let columns = trip_count(ReduceColumns::DECL, "plain", "red", 1 << 20, &[(1, 64)]);
    assert_eq!(columns, 65_536 + 1 + 3 + chained(2049, 20));
    assert_eq!(trip_count(ReduceInt::DECL, "plain", "n", 1 << 24, &[(0, 1), (1, 256)]), 65_536 + 1 + 9 + 65);
    assert_eq!(trip_count(ArgReduce::DECL, "plain", "n", 1 << 26, &[(4, 256)]), 65_536 + 1 + 9);
    assert_eq!(trip_count(ArgReduce::DECL, "plain", "n", 1 << 26, &[(4, 256), (5, 1)]), 16_384 + 1 + 9);
    assert_eq!(trip_count(SoftmaxColumns::DECL, "plain", "n", 32_768, &[]), 2 * 8193 + 1 + chained(129, 20));
    assert_eq!(
        trip_count(SoftmaxColumns::DECL, "plain", "n", 32_768, &[(1, 8)]),
        2 * 257 + 6 + chained(5, 20)
    );
    let rows = trip_count(SoftmaxRows::DECL, "plain", "n", 1 << 24, &[(0, 256)]);
    assert_eq!(rows, 2 * 16_385 + 9 + chained(257, 20));
    assert_eq!(trip_count(SoftmaxRows::DECL, "fast16", "n", 1 << 14, &[(0, 256)]), 18);
    let norm = trip_count(LayerNorm::DECL, "plain", "n", 1 << 24, &[(0, 256)]);
    assert_eq!(norm, 3 * 16_385 + 18 + 2 * chained(257, 20));
    let lanes = trip_count(MatmulF32Lanes::DECL, "plain", "k", 60_000, &[]);
    assert_eq!(lanes, 60_001 + 65 + 3 * 939 + 3 * 31);
    // A step of 256 terms goes through eight quads of columns; 32 steps are a loop of their own.
    let lanes = trip_count(MatmulF32DotLanes::DECL, "shuffle", "k", 60_000, &[]);
    assert_eq!(lanes, 236 * 10 + 2 * 9);
    // At the end one output a thread, of 128 partial sums eight by eight.
    let columns = trip_count(MatmulF32Columns::DECL, "plain", "k", 1 << 20, &[(3, 1)]);
    assert_eq!(columns, 1025 + 9 + chained(129, 16) + 2 * (17 * (9 + 1) + 1));
    let dot = trip_count(MatmulF32Dot::DECL, "plain", "k", 1 << 20, &[]);
    assert_eq!(dot, 8193 + 4 * 33 + 129 + chained(129, 16));
    // 16 terms and a loop over four pieces of them a step; at the end one piece of the tile, four quads a thread.
    assert_eq!(trip_count(MatmulF32::DECL, "plain", "k", 1 << 16, &[]), 4097 * 6 + 2 * 6 + chained(513, 8));
}
