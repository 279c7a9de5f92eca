//! Looking inside: values by name, the first NaN or infinity, the memory plan, times.

use crate::common::*;
use pumice_compile::{OptOptions, Options};
use pumice_ir::ops::fft::Fft;
use pumice_ir::{Graph, GraphBuilder, f16, f32, sym};
use pumice_plan::{Placement, RegionKind};
use pumice_runtime::{NameKind, RunOptions, RuntimeError};
use pumice_tests::{Fixture, on_every_device};
use pumice_types::{Bytes, DType, TensorView};

on_every_device!(
    the_first_bad_number_by_name,
    bad_numbers_in_fused_plans,
    bad_numbers_around_a_host_step,
    values_by_name,
    the_memory_plan_adds_up,
    every_step_has_a_time,
);

fn bump(opt: OptOptions) -> Options {
    Options::default().placement(Placement::Bump).opt(opt)
}

/// y = (log(x) · c) · wᵀ, with names.
fn logs() -> Graph {
    let g = GraphBuilder::new("logs");
    let x = g.input("x", f32([sym("n", 1..=5), 4.into()]));
    let c = g.input("c", f32([4u64]));
    let log = g.named("log").log(x);
    let scaled = g.named("scaled").mul(log, c);
    g.output("y", g.named("product").linear(scaled, g.param("w", f32([3u64, 4])), None));
    g.build().expect("sound")
}

/// What is expected: value, index, number, and how the step's origin begins.
type Bad<'a> = (&'a str, Vec<u64>, f32);

fn assert_found(found: Option<pumice_runtime::NonFinite>, want: Option<Bad<'_>>, what: &str) {
    match (found, want) {
        (None, None) => {}
        (Some(found), Some((value, index, number))) => {
            assert_eq!((found.value.as_str(), &found.index), (value, &index), "{what}: {found}");
            assert!(
                found.number.to_bits() == number.to_bits() || found.number.is_nan() && number.is_nan(),
                "{what}: {found}"
            );
            assert_eq!(found.step.is_none(), found.origin.is_empty(), "{what}: {found:?}");
            assert!(found.to_string().contains(&format!("`{value}`")), "{found}");
        }
        (found, want) => panic!("{what}: {found:?}, not {want:?}"),
    }
}

fn the_first_bad_number_by_name(fixture: &Fixture) {
    let exe = fixture.executable(&logs(), &bump(OptOptions::none()));
    set(&exe, &[("w", &[0.5; 12])]);
    let mut s = exe.session().expect("a session");
    refused!(s.find_non_finite(), RuntimeError::NoResults, "run");
    refused!(s.find_nan(), RuntimeError::NoResults, "run");
    const INF: f32 = f32::INFINITY;
    let good = vec![1.0f32; 12];
    let with = |at: usize, v: f32| {
        let mut x = good.clone();
        x[at] = v;
        x
    };
    // x, c, what is not finite first, what is NaN first.
    type Case<'a> = (Vec<f32>, [f32; 4], Option<Bad<'a>>, Option<Bad<'a>>);
    let cases: [Case<'_>; 6] = [
        (good.clone(), [1.0; 4], None, None),
        (with(6, 0.0), [1.0; 4], Some(("log", vec![1, 2], -INF)), None),
        (
            with(6, 0.0),
            [1.0, 1.0, 0.0, 1.0],
            Some(("log", vec![1, 2], -INF)),
            Some(("scaled", vec![1, 2], f32::NAN)),
        ),
        (with(9, -1.0), [1.0; 4], Some(("log", vec![2, 1], f32::NAN)), Some(("log", vec![2, 1], f32::NAN))),
        (with(3, f32::NAN), [1.0; 4], Some(("x", vec![0, 3], f32::NAN)), Some(("x", vec![0, 3], f32::NAN))),
        (
            good.clone(),
            [1.0, 1.0, INF, 1.0],
            Some(("c", vec![2], INF)),
            Some(("scaled", vec![0, 2], f32::NAN)),
        ),
    ];
    for (i, (x, c, bad, nan)) in cases.into_iter().enumerate() {
        s.run(&[("x", tensor(&x, &[3, 4]).view()), ("c", row(&c))]).expect("runs");
        let found = s.find_non_finite().expect("searched");
        assert_eq!(
            found.as_ref().is_some_and(|f| f.step.is_some()),
            bad.as_ref().is_some_and(|b| b.0 != "x" && b.0 != "c")
        );
        if let Some(step) = found.as_ref().and_then(|f| f.step) {
            let step = &exe.plan().runs[0].program.steps[step.0 as usize];
            assert_eq!(*step.origin, *found.as_ref().expect("found").origin);
            assert!(step.origin.contains(bad.as_ref().expect("bad").0), "{}", step.origin);
        }
        assert_found(found, bad, &format!("case {i}"));
        assert_found(s.find_nan().expect("searched"), nan, &format!("case {i}, NaN"));
    }
    let packed = load(fixture, &logs());
    set(&packed, &[("w", &wave(12, 1))]);
    let mut s = packed.session().expect("a session");
    s.run(&[("x", tensor(&good, &[3, 4]).view()), ("c", row(&[1.0; 4]))]).expect("runs");
    refused!(s.find_non_finite(), RuntimeError::Packed, "Bump");
    refused!(s.read_value("log"), RuntimeError::Packed, "Bump");
}

/// Fused: what no longer exists is not found, what is left is.
fn bad_numbers_in_fused_plans(fixture: &Fixture) {
    let exe = fixture.executable(&logs(), &bump(OptOptions::default()));
    set(&exe, &[("w", &[1.0; 12])]);
    let mut s = exe.session().expect("a session");
    let mut x = [1f32; 20];
    for n in [5usize, 2, 1] {
        // The last row of this run; rows of earlier, longer runs after it must not be looked at.
        x[4 * n - 1] = 0.0;
        let view = tensor(&x[..4 * n], &[n as u64, 4]);
        s.run(&[("x", view.view()), ("c", row(&[2.0; 4]))]).expect("runs");
        let found = s.find_non_finite().expect("searched").expect("the logarithm of 0");
        assert!(
            found.value == "scaled" && found.origin.contains("scaled") && found.step.is_some(),
            "{found:?}"
        );
        assert_eq!((found.index[0], found.number), (n as u64 - 1, f32::NEG_INFINITY));
        x[4 * n - 1] = 1.0;
        s.run(&[("x", tensor(&x[..4 * n], &[n as u64, 4]).view()), ("c", row(&[2.0; 4]))]).expect("runs");
        assert_eq!(s.find_non_finite().expect("searched"), None);
    }
}

fn bad_numbers_around_a_host_step(fixture: &Fixture) {
    let g = GraphBuilder::new("host");
    let x = g.input("x", f16([1.into(), sym("n", 2..=6), 1.into()]));
    let wide = g.named("wide").cast(x, DType::F32);
    let root = g.named("root").sqrt(wide);
    let spectrum = g.named("spectrum").fft(root, Fft::default());
    g.output("y", g.named("doubled").add(spectrum, spectrum));
    let exe = fixture.executable(&g.build().expect("sound"), &bump(OptOptions::none()));
    let mut s = exe.session().expect("a session");
    let mut find = |at: usize, v: f32| {
        let mut x = [half::f16::ONE; 6];
        x[at] = half::f16::from_f32(v);
        s.run(&[("x", TensorView::f16(&x, [1, 6, 1]))]).expect("runs");
        s.find_non_finite().expect("searched")
    };
    assert_found(find(0, 4.0), None, "all finite");
    assert_found(find(2, f32::INFINITY), Some(("x", vec![0, 2, 0], f32::INFINITY)), "an f16 input");
    assert_found(find(3, -1.0), Some(("root", vec![0, 3, 0], f32::NAN)), "before the host step");
}

fn values_by_name(fixture: &Fixture) {
    let exe = fixture.executable(&logs(), &bump(OptOptions::none()));
    let w = wave(12, 1);
    set(&exe, &[("w", &w)]);
    let mut s = exe.session().expect("a session");
    refused!(s.read_value("log"), RuntimeError::NoResults, "run");
    for n in [5u64, 1, 3] {
        let x = map(&wave(4 * n as usize, 2), |v| v.abs() + 0.5);
        let c = wave(4, 3);
        s.run(&[("x", tensor(&x, &[n, 4]).view()), ("c", row(&c))]).expect("runs");
        let log = map(&x, |v| f64::from(v).ln() as f32);
        let got = s.read_value("log").expect("kept");
        assert_eq!(got.shape(), [n, 4]);
        assert_close(&floats(&got), &log, 1e-6, "log");
        assert_close(
            &floats(&s.read_value("scaled").expect("kept")),
            &zip(&log, &c, |l, c| l * c),
            1e-6,
            "scaled",
        );
        assert_eq!(floats(&s.read_value("x").expect("an input")), x);
        assert_eq!(floats(&s.read_value("w").expect("a param")), w);
    }
    refused!(
        s.read_value("none"),
        RuntimeError::UnknownName { kind: NameKind::Value, .. },
        "`none`",
        "`log`"
    );
}

fn the_memory_plan_adds_up(fixture: &Fixture) {
    let g = GraphBuilder::new("memory");
    let x = g.input("x", f32([sym("n", 1..=64), 100.into()]));
    let w = g.param("w", f32([100u64, 100]));
    let s = g.state("s", f16([1000u64]));
    let h = g.softmax(g.linear(x, w, None), -1);
    g.output("y", g.linear(g.softmax(g.linear(h, w, None), -1), w, None));
    g.output("s", g.state_read(s));
    let graph = g.build().expect("sound");
    let cut = vec![("n".to_owned(), vec![8])];
    let [packed, all] = [Placement::Packed, Placement::Bump].map(|placement| {
        fixture.executable(&graph, &Options::default().placement(placement).specializations(cut.clone()))
    });
    for exe in [&packed, &all] {
        let m = exe.memory();
        assert_eq!((m.plan.as_str(), m.placement), ("memory", exe.plan().placement));
        let region = |kind| m.regions.iter().find(|r| r.kind == kind).expect("each kind");
        let of = |kind, slots: usize, least: u64, most: u64| {
            let r = region(kind);
            assert_eq!((r.slots, r.chunks), (slots, 1), "{kind}");
            assert!((least..=most).contains(&r.size.0), "{kind} is {} of {least}..{most}", r.size.0);
        };
        // Rounded up to slots of 256 bytes each; a derived copy of the weights may stand beside them.
        of(RegionKind::Weights, 1, 40_000, 2 * 40_192);
        of(RegionKind::States, 1, 2_000, 2_048);
        of(RegionKind::IoIn, 1, 64 * 400, 64 * 400);
        of(RegionKind::IoOut, 2, 64 * 400 + 2_000, 64 * 400 + 2_048);
        let total: Bytes = m.regions.iter().map(|r| r.size).sum();
        assert_eq!(m.shared() + m.per_session(), total);
        assert_eq!(m.shared(), region(RegionKind::Weights).size);
        assert_eq!(
            m.runs.iter().map(|r| r.ranges.clone()).collect::<Vec<_>>(),
            [[("n".to_owned(), 1, 8)], [("n".to_owned(), 9, 64)]]
        );
        for run in &m.runs {
            assert!(run.used >= run.lower_bound && run.used <= region(RegionKind::Scratch).size, "{run:?}");
            assert!(
                (run.ratio - run.used.0 as f64 / run.lower_bound.0.max(1) as f64).abs() < 1e-9,
                "{run:?}"
            );
        }
        // Two softmaxes with what goes in: at least two values of the largest n live at once.
        assert!(m.runs[1].lower_bound.0 >= 2 * 64 * 400 - 512, "{:?}", m.runs[1]);
        let text = m.to_string();
        for word in ["weights", "states", "scratch", "io_in", "per session", "n=1..=8", "n=9..=64"] {
            assert!(text.contains(word), "{text}");
        }
    }
    assert!(packed.memory().runs[1].used < all.memory().runs[1].used, "Packed uses bytes again");
    assert_eq!(packed.memory().runs[1].lower_bound, all.memory().runs[1].lower_bound);
}

fn every_step_has_a_time(fixture: &Fixture) {
    let g = GraphBuilder::new("times");
    let x = g.input("x", f32([sym("n", 1..=3), 64.into(), 1.into()]));
    let s = g.state("s", f32([1u64]));
    let h = g.fft(g.mul(x, x), Fft { axis: 0, onesided: true, ..Fft::default() });
    g.output("y", g.softmax(g.add(h, h), 1));
    let sum = g.add(g.state_read(s), g.reshape(g.reduce_sum(x, &[0, 1, 2], false), &[1]));
    g.state_write(s, sum);
    g.output("sum", sum);
    let options = Options::default().specializations(vec![("n".to_owned(), vec![1])]);
    let exe = fixture.executable(&g.build().expect("sound"), &options);
    let mut session = exe.session().expect("a session");
    let mut total = 0f32;
    for n in [1u64, 3, 2, 1] {
        let x = tensor(&wave(64 * n as usize, n as u32), &[n, 64, 1]);
        let profile = session.profile(&[("x", x.view())], &RunOptions::default()).expect("profiles");
        total += floats(&x).iter().sum::<f32>();
        assert_eq!(floats(&session.output("sum").expect("it ran")), [total]);
        let y = session.output("y").expect("it ran");
        let plain = exe.session().expect("another").run_read(&[("x", x.view())], &[0]).expect("runs");
        assert_eq!(y, plain[0], "the results of a run without times");
        assert_eq!(profile.run, usize::from(n > 1));
        let program = &exe.plan().runs[profile.run].program;
        assert_eq!(
            profile.steps.iter().map(|s| s.step.0).collect::<Vec<_>>(),
            (0..program.steps.len() as u32).collect::<Vec<_>>()
        );
        for (timed, step) in profile.steps.iter().zip(&program.steps) {
            assert!(timed.us.is_finite() && timed.us >= 0.0, "{timed:?}");
            assert_eq!((&*timed.label, &*timed.origin), (&*step.label(), &*step.origin));
            assert!(program.levels[timed.level as usize].steps.contains(&timed.step.0), "{timed:?}");
        }
        let sum: f64 = profile.steps.iter().map(|s| s.us).sum();
        assert!((profile.total_us() - sum).abs() < 1e-6 && sum > 0.0);
        let rows = profile.histogram();
        assert!(rows.windows(2).all(|w| w[0].us >= w[1].us), "the longest first: {rows:?}");
        assert_eq!(rows.iter().map(|r| r.steps).sum::<usize>(), program.steps.len());
        for row in &rows {
            let of: Vec<_> = profile.steps.iter().filter(|s| s.label == row.label).collect();
            assert_eq!(row.steps, of.len());
            assert!((row.us - of.iter().map(|s| s.us).sum::<f64>()).abs() < 1e-6);
            assert!(profile.to_string().contains(&row.label), "{profile}");
        }
        assert!(rows.iter().any(|r| r.label == "host" && r.us > 0.0), "{rows:?}");
    }
    refused!(session.profile(&[], &RunOptions::default()), RuntimeError::MissingInputs { .. }, "`x`");
}
