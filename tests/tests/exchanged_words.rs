//! Words of a call that are exchanged: of a square, strides of two axes that were exchanged touch the same bytes, and
//! another result comes of it; so do extents of the axes of one dense operand. Each two integers of each call of the
//! op samples are exchanged: the checker refuses the plan, or its results are the same bits, or what is not compared
//! stands here with its reason.

use pumice_plan::kernel::{ArgDecl, ArgKind};
use pumice_plan::{CheckedPlan, Plan, StepKind};
use pumice_tests::frame_mutants::is_refusal;
use pumice_tests::op_suite::{Case, Runner, cases};
use pumice_types::Tensor;
use std::collections::BTreeMap;

const MOST_ELEMENTS: u64 = 1 << 12;

/// Two words of the call of a step, of the load program or of the first run.
#[derive(Clone, Copy, Debug)]
struct Exchange {
    loads: bool,
    step: usize,
    words: [usize; 2],
}

impl Exchange {
    /// Every two words of a plan that differ, but numbers with a fraction.
    fn all(plan: &Plan) -> Vec<Exchange> {
        let mut all = Vec::new();
        for (loads, program) in [(true, &plan.load), (false, &plan.runs[0].program)] {
            for (step, of) in program.steps.iter().enumerate() {
                let StepKind::Dispatch { call, .. } = &of.kind else { continue };
                let Ok(decl) = call.check() else { continue };
                let is_integer = |arg: &ArgDecl| arg.kind != ArgKind::F32;
                let integers: Vec<usize> =
                    (0..call.args.len()).filter(|&w| decl.arg_of_word(w).is_some_and(is_integer)).collect();
                let after = |a: usize| integers.iter().copied().filter(move |&b| b > a);
                let pairs = integers.iter().flat_map(|&a| after(a).map(move |b| [a, b]));
                let differ = pairs.filter(|&[a, b]| call.args[a] != call.args[b]);
                all.extend(differ.map(|words| Exchange { loads, step, words }));
            }
        }
        all
    }

    /// A copy of the plan with the words in each other's place.
    fn apply(&self, plan: &Plan) -> Plan {
        let mut plan = plan.clone();
        let program = if self.loads { &mut plan.load } else { &mut plan.runs[0].program };
        if let StepKind::Dispatch { call, .. } = &mut program.steps[self.step].kind {
            call.args.swap(self.words[0], self.words[1]);
        }
        plan
    }

    /// The kernel and the names of the words.
    fn names(&self, plan: &Plan) -> (String, [&'static str; 2]) {
        let program = if self.loads { &plan.load } else { &plan.runs[0].program };
        let StepKind::Dispatch { call, .. } = &program.steps[self.step].kind else {
            return (String::new(), ["?"; 2]);
        };
        let decl = call.check().expect("a plan that was checked");
        (call.kernel.to_string(), self.words.map(|word| decl.arg_of_word(word).map_or("?", |arg| arg.name)))
    }
}

/// Words of kernels whose names begin so that stay uncompared, and why.
struct Uncompared {
    kernels: &'static str,
    words: &'static [&'static str],
    why: &'static str,
}

/// Words that no plan tells apart from each other.
const UNKNOWN: &[Uncompared] = &[
    Uncompared {
        kernels: "fill",
        words: &["start_lo", "start_hi", "delta_lo", "delta_hi"],
        why: "numbers of a range: values, of which no place depends",
    },
    Uncompared {
        kernels: "matmul_",
        words: &["a_b0", "a_b1", "a_row", "a_col"],
        why: "of equal extents: whether a factor is transposed, and which of its axes is one of stretched batches",
    },
    Uncompared {
        kernels: "matmul_",
        words: &["b_b0", "b_b1", "b_row", "b_col"],
        why: "as of the other factor",
    },
    Uncompared {
        kernels: "grouped_matmul",
        words: &["b_row", "b_col"],
        why: "of equal extents: whether experts are transposed",
    },
    Uncompared {
        kernels: "conv_",
        words: &["slot_b0", "slot_b1", "slot_row", "slot_col"],
        why: "of equal extents: along which axis of the result a vector lies",
    },
    Uncompared {
        kernels: "reduce_strided",
        words: &["kept_stride", "red_stride"],
        why: "of equal extents: which axis is reduced",
    },
    Uncompared {
        kernels: "reduce_int",
        words: &["kept_stride", "red_stride"],
        why: "of equal extents: which axis is reduced",
    },
    Uncompared {
        kernels: "gather_tuples",
        words: &["outer", "inner"],
        why: "of equal extents: along which axis places are taken",
    },
    Uncompared {
        kernels: "softmax_columns",
        words: &["outer", "inner"],
        why: "of dense values: along which axis a softmax is",
    },
    Uncompared {
        kernels: "softmax_rows",
        words: &["rows", "n"],
        why: "where the other axes have one element: which axis is normalized",
    },
    Uncompared {
        kernels: "layer_norm",
        words: &["rows", "n"],
        why: "without scales, of one row or rows of one element: which of the two",
    },
];

/// Of codes, the words that say which scale each has.
const SCALE_PLACES: &[&str] =
    &["code_inner", "code_extent", "code_block", "code_outer", "code_axis", "code_along"];

/// Words that are numbers of the op itself. A plan says them once, so that an exchange with whatever word changes a
/// value, as another number there would.
const VALUES: &[Uncompared] = &[
    Uncompared { kernels: "matmul_codes", words: SCALE_PLACES, why: "which scale a code has" },
    Uncompared { kernels: "dequantize_linear", words: SCALE_PLACES, why: "which scale a code has" },
    Uncompared { kernels: "gather_codes", words: SCALE_PLACES, why: "which scale a code has" },
    Uncompared { kernels: "attention", words: &["left", "right"], why: "how far a query sees" },
    Uncompared { kernels: "attention", words: &["kv_len"], why: "how many keys there are in this run" },
    Uncompared { kernels: "attention", words: &["first_place"], why: "where the first query is" },
    Uncompared { kernels: "conv_", words: &["step", "dilation", "begin"], why: "the window" },
    Uncompared {
        kernels: "conv_spread",
        words: &["up", "gap", "hop", "inverse"],
        why: "the window by phases",
    },
    Uncompared { kernels: "pool", words: &["kernel", "step", "dilation", "begin", "end"], why: "the window" },
    Uncompared { kernels: "borders", words: &["before"], why: "what stands before an axis" },
    Uncompared { kernels: "found_count", words: &["largest"], why: "the largest extent" },
    Uncompared { kernels: "kv_append", words: &["pos"], why: "where rows are written" },
    Uncompared {
        kernels: "scatter_places",
        words: &["extent", "raises", "index_axis"],
        why: "extents of what is indexed",
    },
    Uncompared { kernels: "fft_pass", words: &["done"], why: "how much of a line is transformed already" },
    Uncompared { kernels: "fft_chirp", words: &["period"], why: "the length that is transformed" },
    Uncompared { kernels: "tensor_scatter", words: &["pos"], why: "where rows are put" },
    Uncompared { kernels: "recurrent_layer", words: &["from"], why: "which step of the whole is the first" },
    Uncompared { kernels: "random_numbers", words: &["stream"], why: "the stream of numbers" },
    Uncompared { kernels: "moe_router", words: &["groups", "groups_kept"], why: "which experts compete" },
    Uncompared { kernels: "rotary", words: &["base"], why: "the position of the first row" },
];

/// Why an exchange of these words may change values.
fn why_uncompared(kernel: &str, [a, b]: [&str; 2]) -> Option<&'static str> {
    let of = |list: &'static [Uncompared]| list.iter().filter(|of| kernel.starts_with(of.kernels));
    let exchanged = of(UNKNOWN).find(|of| of.words.contains(&a) && of.words.contains(&b));
    let value = || of(VALUES).find(|of| of.words.contains(&a) || of.words.contains(&b));
    exchanged.or_else(value).map(|of| of.why)
}

/// How exchanges ended.
#[derive(Default)]
struct Tally {
    refused: usize,
    same: usize,
    /// By the reason.
    uncompared: BTreeMap<&'static str, usize>,
    /// By the kernel and the words: how many gave other results, and one of them.
    wrong: BTreeMap<String, (usize, String)>,
}

impl Tally {
    /// Every exchange in the plan of a case.
    fn add(&mut self, runner: &Runner, case: &Case) {
        let Some(plan) = case.sample.graph.as_ref().ok().and_then(|graph| runner.plan(graph).ok()) else {
            return;
        };
        let plan = plan.into_plan();
        let mut expected = None;
        for exchange in Exchange::all(&plan) {
            let Ok(mutant) = CheckedPlan::new(exchange.apply(&plan)) else {
                self.refused += 1;
                continue;
            };
            let (kernel, words) = exchange.names(&plan);
            if let Some(why) = why_uncompared(&kernel, words) {
                *self.uncompared.entry(why).or_default() += 1;
                continue;
            }
            let expected = expected.get_or_insert_with(|| {
                let sound = CheckedPlan::new(plan.clone()).expect("checked before");
                runner.outputs(case, sound).unwrap_or_else(|e| panic!("{}: {e}", case.name()))
            });
            match runner.outputs(case, mutant) {
                Ok(got) if got.iter().map(Tensor::bytes).eq(expected.iter().map(Tensor::bytes)) => {
                    self.same += 1;
                    continue;
                }
                // A rule may hold where it is tried and not at this binding.
                Err(why) if is_refusal(&why) => {
                    self.refused += 1;
                    continue;
                }
                _ => {}
            }
            let entry = self.wrong.entry(format!("{kernel} {words:?}")).or_default();
            *entry = (entry.0 + 1, format!("{}: {exchange:?}", case.name()));
        }
    }
}

mod on_device {
    use super::*;
    use pumice_tests::device;
    use pumice_tests::share::Share;
    use pumice_types::Target;
    use pumice_vulkan::{DeviceOptions, Poison};

    fn exchanged(runner: &Runner, each: usize, least: usize) {
        let small = cases(None).into_iter().filter(|c| (1..=MOST_ELEMENTS).contains(&c.elements()));
        let (mut tally, share) = (Tally::default(), Share::of_environment());
        // Of a share, which is spread over the ops already, every second one.
        let each = if share.is_all() { each } else { 2 };
        share.of(small.collect()).iter().step_by(each).for_each(|case| tally.add(runner, case));
        println!("{} refused, {} the same, not compared: {:#?}", tally.refused, tally.same, tally.uncompared);
        assert!(tally.wrong.is_empty(), "other results: {:#?}", tally.wrong);
        assert!(tally.refused >= share.part_of(least), "{}", tally.refused);
    }

    fn open() -> std::sync::Arc<pumice_vulkan::VulkanDevice> {
        device::open(&DeviceOptions::default().poison(Some(Poison(0x7fc0_dead))))
    }

    #[test]
    fn exchanged_words_of_views_are_refused_or_change_nothing() {
        exchanged(&Runner::new(open(), MOST_ELEMENTS), 4, 100_000);
    }

    /// The kernels that a GPU takes.
    #[test]
    fn exchanged_words_of_a_gpus_kernels_are_refused_or_change_nothing() {
        exchanged(&Runner::selecting_as(open(), &Target::h200(), MOST_ELEMENTS), 6, 100_000);
    }
}
