//! What the rules of accesses say of a kernel, asked of its shader. The checker compares views with rules, and rules
//! are written by hand; here the views of a plan are compared with what the device does, over the samples of every op:
//! - bytes of an input or a param that no view shows are changed, and no bit of any result changes;
//! - of each floating operand of each op, some element changes a result when it changes;
//! - and where one step makes the result and its rule is exact, every element does.
//!
//! Data are made for this. An element is changed to NaN, to both infinities and to 0; one that shows in none of four
//! sets of data is silent: distinct numbers below 1, their negatives (with every Bool turned round), distinct numbers
//! above 1, and ones (what compares for equality needs ties). Integers keep what the sample gives them: they steer,
//! mask and choose, so where there is one, no element need do anything.

mod on_device {
    use pumice_cpu_ref::sample as data;
    use pumice_ir::{Graph, Op, Sample, ValueId};
    use pumice_plan::{CheckedPlan, Plan, Span, StepKind, Use};
    use pumice_runtime::{Executable, OnStatus, RunOptions, Session};
    use pumice_tests::device;
    use pumice_tests::op_suite::{Case, Runner, part_of_cases};
    use pumice_tests::share::Share;
    use pumice_types::{Bindings, DType, Tensor, TensorView};
    use std::collections::{BTreeMap, BTreeSet};

    /// Values of the samples that are taken.
    const MOST_ELEMENTS: u64 = 300;
    /// Elements of one input or param that are changed one by one; of more, as many evenly chosen ones.
    const MOST_CHANGED: usize = 24;
    const PARTS: usize = 4;

    /// Kernels whose rules are of what they may touch: indices, lengths and windows choose from it, and windows that
    /// step over elements.
    const CHOOSE: [&str; 44] = [
        "attention",
        "attention_extended",
        "attention_grad_keys",
        "attention_grad_queries",
        "attention_lanes",
        "attention_merge",
        "attention_merge_extended",
        "attention_parts",
        "attention_split",
        "conv_direct",
        "conv_lines",
        "conv_shared",
        "conv_spread",
        "conv_spread_tile",
        "conv_tile",
        "dequantize_linear",
        "fft_pass",
        "found_count",
        "gather",
        "gather_codes",
        "gather_tuples",
        "gather_words",
        "grouped_matmul",
        "grouped_matmul_tile",
        "kv_append",
        "linear_recurrence",
        "pool",
        "pool_int",
        "pool_places",
        "pool_spread",
        "pool_spread_cells",
        "recurrent_layer",
        "resample_floats",
        "resample_words",
        "rotary",
        "scatter_floats",
        "scatter_listed_floats",
        "scatter_partial_floats",
        "scatter_partial_words",
        "scatter_sorted_floats",
        "scatter_sorted_words",
        "scatter_words",
        "search_sorted",
        "tensor_scatter",
    ];

    /// An input or a param: its data, and the bytes that it has on the device.
    struct Leaf {
        name: String,
        is_param: bool,
        /// For each set of data.
        data: [Tensor; SETS],
        /// The set that is in use.
        set: usize,
        span: Span,
    }

    impl Leaf {
        fn tensor(&self) -> &Tensor {
            &self.data[self.set]
        }

        /// Bytes and elements of what is changed at once: an element, or a block.
        fn unit(&self) -> (u64, u64) {
            let (elements, bytes) = self.tensor().encoding().block();
            (bytes, elements)
        }

        fn units(&self) -> u64 {
            self.tensor().bytes().len() as u64 / self.unit().0.max(1)
        }

        /// Whether each element is a number that the result depends on.
        fn is_data(&self) -> bool {
            self.tensor().encoding().dtype().is_float()
        }

        /// With some units changed, in one of a few ways.
        fn changed(&self, units: impl IntoIterator<Item = u64>, way: usize) -> Tensor {
            let mut bytes = self.tensor().bytes().to_vec();
            let (width, elements) = self.unit();
            for unit in units {
                let place = &mut bytes[(unit * width) as usize..][..width as usize];
                match self.tensor().encoding().plain() {
                    Some(dtype) if elements == 1 => place.copy_from_slice(&element(dtype, way, place)),
                    _ => place.iter_mut().for_each(|byte| *byte ^= [0x55, 0xff, 0x0f, 0xaa][way]),
                }
            }
            Tensor::from_bytes(self.tensor().encoding(), self.tensor().shape(), bytes).expect("as many bytes")
        }
    }

    const WAYS: usize = 4;
    const SETS: usize = 4;

    /// NaN, the infinities and 0; of integers, the bits changed.
    fn element(dtype: DType, way: usize, old: &[u8]) -> Vec<u8> {
        let float = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.0][way];
        match dtype {
            DType::F32 => float.to_le_bytes().to_vec(),
            DType::F16 => half::f16::from_f32(float).to_le_bytes().to_vec(),
            DType::BF16 => half::bf16::from_f32(float).to_le_bytes().to_vec(),
            _ => old.iter().map(|byte| byte ^ [0x01, 0x55, 0xff, 0xaa][way]).collect(),
        }
    }

    /// Distinct floats in no order, Bools as they are or turned round, and other data as the sample has them.
    fn made(tensor: &Tensor, set: usize) -> Tensor {
        let (elements, width) = tensor.encoding().block();
        let n = (tensor.bytes().len() as u64 / width).max(1);
        let value = |i: u64| {
            let fraction = 0.25 + 0.5 * ((i * 7919 + 13) % n) as f32 / n as f32;
            [fraction, -fraction, 1.0 + fraction, 1.0][set]
        };
        let bytes: Vec<u8> = match (elements, tensor.encoding().plain()) {
            (1, Some(DType::F32)) => (0..n).flat_map(|i| value(i).to_le_bytes()).collect(),
            (1, Some(DType::F16)) => {
                (0..n).flat_map(|i| half::f16::from_f32(value(i)).to_le_bytes()).collect()
            }
            (1, Some(DType::BF16)) => {
                (0..n).flat_map(|i| half::bf16::from_f32(value(i)).to_le_bytes()).collect()
            }
            (1, Some(DType::Bool)) if set == 1 => tensor.bytes().iter().map(|b| u8::from(*b == 0)).collect(),
            _ => return tensor.clone(),
        };
        let bytes = bytes[..tensor.bytes().len()].to_vec();
        Tensor::from_bytes(tensor.encoding(), tensor.shape(), bytes).expect("as many bytes")
    }

    /// A sample on the device.
    struct Rig<'c> {
        case: &'c Case,
        graph: &'c Graph,
        plan: CheckedPlan,
        exe: Executable,
        session: Session,
        bindings: Bindings,
        leaves: Vec<Leaf>,
    }

    impl<'c> Rig<'c> {
        /// None for what is no program of one run over few elements.
        fn new(runner: &Runner, case: &'c Case) -> Option<Rig<'c>> {
            let graph = case.sample.graph.as_ref().ok()?;
            if case.elements() > MOST_ELEMENTS || case.sample.status {
                return None;
            }
            let bindings = data::bindings(&case.sample, graph);
            let plan = runner.plan(graph).ok()?;
            let exe = Executable::new(runner.device.clone(), plan.clone(), runner.host.clone()).ok()?;
            let leaves = leaves(&case.sample, graph, &plan, &bindings)?;
            let session = data::session(&exe, &case.sample, graph, &bindings).ok()?;
            Some(Rig { case, graph, plan, exe, session, bindings, leaves })
        }

        /// Takes a set of data.
        fn take(&mut self, set: usize) {
            for leaf in &mut self.leaves {
                leaf.set = set;
                if leaf.is_param {
                    self.exe.set_param_view(&leaf.name, leaf.tensor().view()).expect("a param");
                }
            }
        }

        /// Every output, with one leaf replaced.
        fn outputs(&mut self, replaced: Option<(usize, &Tensor)>) -> Vec<Tensor> {
            let tensor = |i: usize, leaf: &'_ Leaf| match replaced {
                Some((at, other)) if at == i => other.clone(),
                _ => leaf.tensor().clone(),
            };
            let all: Vec<(&str, Tensor)> = self
                .leaves
                .iter()
                .enumerate()
                .filter(|(_, leaf)| !leaf.is_param)
                .map(|(i, leaf)| (leaf.name.as_str(), tensor(i, leaf)))
                .collect();
            let param = replaced.filter(|(at, _)| self.leaves[*at].is_param);
            if let Some((at, other)) = param {
                self.exe.set_param_view(&self.leaves[at].name, other.view()).expect("a param");
            }
            for state in &self.plan.states {
                self.session.state(&state.name).expect("a state").reset().expect("begins again");
            }
            let views: Vec<(&str, TensorView<'_>)> = all.iter().map(|(n, t)| (*n, t.view())).collect();
            let options = RunOptions::default().on_status(OnStatus::Report);
            self.session.execute(&views, &options).expect("runs");
            let outputs = (0..self.graph.outputs().len()).map(|o| self.session.read_output(o).expect("read"));
            let outputs = outputs.collect();
            if let Some((at, _)) = param {
                let leaf = &self.leaves[at];
                self.exe.set_param_view(&leaf.name, leaf.tensor().view()).expect("a param");
            }
            outputs
        }

        /// Whether the device says the same with some units of a leaf changed, in every way.
        fn is_silent(&mut self, at: usize, units: &[u64], normal: &[Tensor]) -> bool {
            (0..WAYS).all(|way| {
                let other = self.leaves[at].changed(units.iter().copied(), way);
                self.outputs(Some((at, &other))) == normal
            })
        }

        /// For each leaf, the units that are changed one by one and those of them that no set of data shows to matter;
        /// and what depends on units that no view shows. None where results have no element.
        fn listen(&mut self) -> Option<(Vec<Heard>, Vec<String>)> {
            let shown: Vec<_> =
                self.leaves.iter().map(|leaf| shown(&self.plan, leaf, &self.bindings)).collect();
            let chosen = |all: &BTreeSet<u64>| {
                let step = all.len().div_ceil(MOST_CHANGED).max(1);
                Heard { tried: all.len().div_ceil(step), silent: all.iter().copied().step_by(step).collect() }
            };
            let (mut heard, mut wrong): (Vec<Heard>, _) = (shown.iter().map(chosen).collect(), Vec::new());
            for set in 0..SETS {
                self.take(set);
                let normal = self.outputs(None);
                if normal.iter().all(|output| output.bytes().is_empty()) {
                    return None;
                }
                for at in 0..self.leaves.len() {
                    let units = 0..self.leaves[at].units();
                    let outside: Vec<u64> = units.filter(|unit| !shown[at].contains(unit)).collect();
                    let asked = set == 0 && !outside.is_empty() && !shown[at].is_empty();
                    if asked && !self.is_silent(at, &outside, &normal) {
                        wrong.push(format!(
                            "`{}`: elements that no view shows change a result",
                            self.leaves[at].name
                        ));
                    }
                    let left = std::mem::take(&mut heard[at].silent);
                    heard[at].silent =
                        left.into_iter().filter(|u| self.is_silent(at, &[*u], &normal)).collect();
                }
            }
            Some((heard, wrong))
        }

        /// Whether every element must be heard: one step with an exact rule, and nothing that steers.
        fn is_exact(&self) -> bool {
            let steps: Vec<_> = self.plan.programs().flat_map(|program| &program.steps).collect();
            let steered = self
                .leaves
                .iter()
                .any(|leaf| !leaf.is_data() && leaf.tensor().encoding().dtype() != DType::Bool);
            let exact = |step: &&pumice_plan::Step| match &step.kind {
                StepKind::Dispatch { call, .. } => !CHOOSE.contains(&&*call.kernel.0),
                _ => false,
            };
            // A gradient is 0 wherever its operand was not chosen, whatever the data.
            let chosen = self.case.op == "elementwise_grad";
            steps.len() == 1 && steps.iter().all(exact) && !steered && !chosen
        }
    }

    /// What of a leaf was tried, and what of that did nothing.
    struct Heard {
        tried: usize,
        silent: Vec<u64>,
    }

    fn leaves(sample: &Sample, graph: &Graph, plan: &Plan, bindings: &Bindings) -> Option<Vec<Leaf>> {
        let leaf = |v: ValueId, is_param: bool| {
            let name = graph.value(v).name.to_string();
            let inputs = plan.inputs.iter().filter(|_| !is_param).find(|i| i.name == name).map(|i| i.span);
            let params = plan.params.iter().filter(|_| is_param).find(|p| p.name == name).map(|p| p.span);
            let tensor = data::leaf_tensor(sample, graph, v, bindings, 0).ok()?;
            let data = [0, 1, 2, 3].map(|set| made(&tensor, set));
            Some(inputs.or(params).map(|span| Leaf { name, is_param, data, set: 0, span }))
        };
        let all = graph
            .inputs()
            .into_iter()
            .map(|v| (v, false))
            .chain(graph.params().into_iter().map(|v| (v, true)));
        all.map(|(v, is_param)| leaf(v, is_param))
            .collect::<Option<Vec<_>>>()
            .map(|all| all.into_iter().flatten().collect())
    }

    /// Whether a node has the leaf as two of its operands: `x < x` says the same of every number.
    fn is_beside_itself(graph: &Graph, name: &str) -> bool {
        let leaf = graph.find(name);
        graph.nodes().any(|(_, node)| node.operands().filter(|v| Some(*v) == leaf).count() > 1)
    }

    /// Whether it is the derivative of a derivative: that of what chooses among its operands is 0 at all of them.
    fn is_second_derivative(graph: &Graph) -> bool {
        let is_second = |op: &Op| match op {
            Op::ElementwiseGrad(first) => matches!(*first.of, Op::ElementwiseGrad(_)),
            _ => false,
        };
        graph.nodes().any(|(_, node)| is_second(&node.op))
    }

    /// Whether all that becomes of a leaf is waited for, by `after` or a barrier, which have no number of that.
    fn is_waited_for(graph: &Graph, name: &str) -> bool {
        let mut heard: BTreeSet<ValueId> = graph.find(name).into_iter().collect();
        let (finders, mut waits) = (graph.finders(), false);
        for (id, node) in graph.nodes() {
            let waited = |i: usize| match node.op.is_barrier() {
                true => i == 0,
                false => node.op.name() == "after" && i > 0,
            };
            let (waited, read): (Vec<_>, Vec<_>) =
                node.inputs.iter().enumerate().partition(|(i, _)| waited(*i));
            let hears = |(_, v): &(usize, &Option<ValueId>)| v.is_some_and(|v| heard.contains(&v));
            waits |= waited.iter().any(hears);
            if read.iter().any(hears) {
                if finders.values().any(|finder| *finder == id) {
                    return false;
                }
                heard.extend(&node.outputs);
            }
        }
        waits && graph.outputs().iter().all(|output| !heard.contains(&output.value))
    }

    /// The reading uses of a leaf's bytes, with the kernel that reads them.
    fn uses<'p>(plan: &'p Plan, leaf: &Leaf) -> Vec<(&'p Use, String)> {
        let steps = plan.programs().flat_map(|program| &program.steps);
        let of_step = |step: &'p pumice_plan::Step| {
            let kernel = match &step.kind {
                StepKind::Dispatch { call, .. } => call.kernel.to_string(),
                _ => step.label(),
            };
            step.uses.iter().map(move |used| (used, kernel.clone()))
        };
        let reads = |used: &Use| !used.access.writes() && used.span.overlaps(&leaf.span);
        steps.flat_map(of_step).filter(|(used, _)| reads(used)).collect()
    }

    fn readers(plan: &Plan, leaf: &Leaf) -> BTreeSet<String> {
        uses(plan, leaf).into_iter().map(|(_, kernel)| kernel).collect()
    }

    /// The units of a leaf that some view shows.
    fn shown(plan: &Plan, leaf: &Leaf, bindings: &Bindings) -> BTreeSet<u64> {
        let mut all = BTreeSet::new();
        for (used, _) in uses(plan, leaf) {
            let unit = used.view.storage.unit(used.view.dtype);
            let first = used.view.offset.eval(bindings).expect("bound");
            // Of elements that are wider on the device, the number of an element is the same in both.
            let before = (used.span.offset.0 as i64 - leaf.span.offset.0 as i64) / unit.bytes as i64;
            let mut elements = vec![first + before * unit.elements as i64];
            for (extent, stride) in used.view.shape.iter().zip(&used.view.strides) {
                let (n, by) = (extent.eval(bindings).expect("bound"), stride.eval(bindings).expect("bound"));
                elements = elements.iter().flat_map(|e| (0..n).map(move |i| e + i * by)).collect();
            }
            let block = leaf.unit().1 as i64;
            all.extend(elements.into_iter().filter(|e| *e >= 0).map(|e| (e / block) as u64));
        }
        all.into_iter().filter(|unit| *unit < leaf.units()).collect()
    }

    /// What is wrong over all samples of some ops.
    #[derive(Default)]
    struct Tally {
        wrong: Vec<String>,
        /// Whether some element of an operand was heard, by op and operand.
        heard: BTreeMap<(&'static str, String), bool>,
        /// Operands all of whose tried elements were heard, by kernel.
        exact: BTreeMap<String, usize>,
    }

    impl Tally {
        fn add(&mut self, rig: &mut Rig<'_>) {
            let Some((heard, wrong)) = rig.listen() else { return };
            let name = rig.case.name();
            self.wrong.extend(wrong.into_iter().map(|why| format!("{name}: {why}")));
            let is_exact = rig.is_exact();
            let second = is_second_derivative(rig.graph);
            let unheard = |leaf: &Leaf| {
                second || is_beside_itself(rig.graph, &leaf.name) || is_waited_for(rig.graph, &leaf.name)
            };
            let read = |(leaf, heard): &(&Leaf, Heard)| leaf.is_data() && heard.tried > 0 && !unheard(leaf);
            for (leaf, Heard { tried, silent }) in rig.leaves.iter().zip(heard).filter(read) {
                let any = silent.len() < tried;
                *self.heard.entry((rig.case.op, leaf.name.clone())).or_default() |= any;
                if any && is_exact {
                    for kernel in readers(&rig.plan, leaf) {
                        *self.exact.entry(kernel).or_default() += 1;
                    }
                    if !silent.is_empty() {
                        self.wrong
                            .push(format!("{name}: `{}`: {silent:?} of {tried} change no result", leaf.name));
                    }
                }
            }
        }
    }

    impl Tally {
        /// Operands of which no element changed a result, as (op, operand).
        fn unheard(&self) -> impl Iterator<Item = &(&'static str, String)> {
            self.heard.iter().filter(|(_, heard)| !**heard).map(|(operand, _)| operand)
        }
    }

    fn run_part(part: usize) {
        let runner = Runner::new(device::open(&Default::default()), MOST_ELEMENTS);
        let mut tally = Tally::default();
        let add = |tally: &mut Tally, case: Case| {
            if let Some(mut rig) = Rig::new(&runner, &case) {
                tally.add(&mut rig);
            }
        };
        let (mine, others) = Share::of_environment().halves_of(part_of_cases(part, PARTS));
        mine.into_iter().for_each(|case| add(&mut tally, case));
        // An operand may be steered away from in each sample of one half: it has to be heard in some sample of its op.
        for case in others {
            if tally.unheard().any(|(op, _)| *op == case.op) {
                add(&mut tally, case);
            }
        }
        println!("operands of which every element was heard, by kernel: {:?}", tally.exact);
        let unheard =
            tally.unheard().map(|(op, name)| format!("{op}: `{name}`: no element changes a result"));
        let wrong: Vec<String> = unheard.chain(tally.wrong.iter().cloned()).collect();
        assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
    }

    macro_rules! parts {
        ($($name:ident $part:literal),*) => {$(
            #[test]
            fn $name() {
                run_part($part);
            }
        )*};
    }

    parts!(part_0 0, part_1 1, part_2 2, part_3 3);
}
