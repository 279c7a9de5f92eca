//! A10: what memory holds before a run is never seen. Arena, padding and guard bands are filled with one of two
//! poisons; outputs are the same to the bit, and guard bands are untouched (a run of a poisoned device fails if they
//! are not).

mod on_device {
    use pumice_cpu_ref::sample as data;
    use pumice_models::offline::OfflineEncoder;
    use pumice_models::{EncoderOptions, specialize};
    use pumice_runtime::Session;
    use pumice_tests::op_suite::{Case, Runner, largest, part_of_cases};
    use pumice_tests::share::Share;
    use pumice_tests::{Fixture, device};
    use pumice_types::{DType, Tensor, TensorView};
    use pumice_vulkan::{DeviceOptions, Poison};

    /// A quiet NaN, and a large finite number whose pattern is no zero in any dtype.
    const POISONS: [u32; 2] = [0x7fc0_dead, 0x7e5a_5a5a];
    const PARTS: usize = 4;
    const MOST_ELEMENTS: u64 = 1 << 18;

    fn options(poison: u32) -> DeviceOptions {
        DeviceOptions::default().poison(Some(Poison(poison)))
    }

    /// Every output of every run of a sample, or what went wrong.
    fn outputs(runner: &Runner, case: &Case) -> Result<Vec<Tensor>, String> {
        let graph = case.sample.graph.as_ref().map_err(ToString::to_string)?;
        runner.outputs(case, runner.plan(graph)?)
    }

    fn fits(case: &Case) -> bool {
        let Ok(graph) = &case.sample.graph else { return false };
        largest(graph, &data::bindings(&case.sample, graph)) <= MOST_ELEMENTS
    }

    fn run_part(part: usize) {
        let runners = POISONS.map(|p| Runner::new(device::open(&options(p)), MOST_ELEMENTS));
        let share = Share::of_environment();
        let cases = share.of(part_of_cases(part, PARTS));
        let (all, cases): (usize, Vec<Case>) = (cases.len(), cases.into_iter().filter(fits).collect());
        println!("{} of {all} samples, the others have more than {MOST_ELEMENTS} elements", cases.len());
        let mut wrong = Vec::new();
        for case in &cases {
            let [a, b] = runners.each_ref().map(|r| outputs(r, case));
            match (a, b) {
                (Ok(a), Ok(b)) if a.iter().map(Tensor::bytes).eq(b.iter().map(Tensor::bytes)) => {}
                (Ok(_), Ok(_)) => wrong.push(format!("{}: the outputs differ", case.name())),
                (a, b) => wrong.push(format!("{}: {:?} {:?}", case.name(), a.err(), b.err())),
            }
        }
        assert!(cases.len() > share.part_of(500), "{} samples", cases.len());
        assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
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

    fn embed(session: &mut Session, batch: u64, seq: u64, lengths: &[i32]) -> Vec<Tensor> {
        let ids: Vec<i32> = (0..batch * seq).map(|i| 5 + (i * 37 % 90) as i32).collect();
        let inputs =
            [("ids", TensorView::i32(&ids, [batch, seq])), ("lengths", TensorView::i32(lengths, [batch]))];
        session.execute(&inputs, &Default::default()).expect("runs, and leaves the guards alone");
        vec![session.read_output(0).expect("there")]
    }

    /// MiniLM's graph with seeded weights: every specialization, lengths shorter than the sequence.
    #[test]
    fn an_encoder_sees_no_poison() {
        let encoder = EncoderOptions::default().max_batch(32);
        let compile = pumice_compile::Options::default().specializations(specialize::encoder());
        let results = POISONS.map(|p| {
            let model = OfflineEncoder::new(3, &encoder).expect("sound").model;
            let exe = Fixture::vulkan_with(&options(p)).model(&model, &compile);
            let mut session = exe.session().expect("a session");
            let mut all = Vec::new();
            for (batch, seq, lengths) in [
                (1, 7, vec![7]),
                (1, 128, vec![99]),
                (1, 130, vec![130]),
                (3, 20, vec![20, 1, 9]),
                (2, 40, vec![40, 2]),
            ] {
                all.extend(embed(&mut session, batch, seq, &lengths));
            }
            all
        });
        let [a, b] = &results;
        assert!(a.iter().all(
            |t| t.dtype() == DType::F32 && t.to_vec::<f32>().expect("f32").iter().all(|v| v.is_finite())
        ));
        assert_eq!(a, b);
    }
}
