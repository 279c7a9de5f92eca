//! Sessions of a plan lend each other scratch: what a further session takes of the device, and what many in threads do.

/// Names of these tests say that they need a device.
mod on_device {
    use pumice::{
        Device, DeviceKind, DeviceOptions, Executable, Graph, GraphBuilder, Options, Placement, RegionKind,
        Session, TensorView, f32,
    };
    use pumice_tests::device;
    use pumice_vulkan::VulkanDevice;
    use std::sync::Arc;

    const ROWS: u64 = 64;
    const WIDTH: u64 = 128;

    /// Sums of products, one of which reads a state: s += x, y = relu(s w) w.
    fn graph() -> Graph {
        let g = GraphBuilder::new("lent");
        let (x, w) = (g.input("x", f32([ROWS, WIDTH])), g.param("w", f32([WIDTH, WIDTH])));
        let s = g.state("s", f32([ROWS, WIDTH]));
        let sum = g.add(g.state_read(s), x);
        g.state_write(s, sum);
        g.output("y", g.matmul(g.relu(g.matmul(sum, w)), w));
        g.build().expect("sound")
    }

    fn executable(device: &Arc<VulkanDevice>, placement: Placement) -> Executable {
        let options = Options::default().placement(placement);
        let exe = pumice::compile(&graph(), &Device::from_runtime(device.clone(), DeviceKind::Gpu), &options);
        let exe = exe.expect("compiles and loads");
        let w: Vec<f32> = (0..WIDTH * WIDTH).map(|i| ((i * 37 % 101) as f32 - 50.0) / 512.0).collect();
        exe.set_param("w", &w).expect("set");
        exe
    }

    fn run(session: &mut Session, seed: u64) -> Vec<f32> {
        let x: Vec<f32> = (0..ROWS * WIDTH).map(|i| (((i + seed) * 61 % 97) as f32 - 48.0) / 64.0).collect();
        let y = session.run(&[("x", TensorView::f32(&x, [ROWS, WIDTH]))]).expect("runs");
        y.get("y").expect("there").to_vec::<f32>().expect("floats")
    }

    /// Bytes that sessions take, after a run of each: the first one, and each of the others.
    fn taken(placement: Placement) -> (u64, u64, u64) {
        let device = device::open(&DeviceOptions::default());
        let exe = executable(&device, placement);
        let scratch = exe.plan().region_size(RegionKind::Scratch).0;
        let bytes = || device.memory().live_bytes().0;
        let (mut sessions, mut before, mut each) = (Vec::new(), bytes(), Vec::new());
        for seed in 0..100 {
            let mut session = exe.session().expect("a session");
            run(&mut session, seed);
            sessions.push(session);
            each.push(bytes() - before);
            before = bytes();
        }
        assert!(each[1..].iter().all(|n| *n == each[1]), "{each:?}");
        drop((sessions, exe));
        assert_eq!(bytes(), 0);
        (scratch, each[0], each[1])
    }

    #[test]
    fn a_hundred_sessions_have_one_scratch() {
        let (scratch, first, each) = taken(Placement::Packed);
        assert!(scratch >= 4 * ROWS * WIDTH, "{scratch}");
        assert!(first - each >= scratch && first - each < scratch + 64, "{first} {each} {scratch}");
    }

    /// Values of such a plan are read after a run.
    #[test]
    fn sessions_that_keep_their_values_have_one_each() {
        let (_, first, each) = taken(Placement::Bump);
        assert_eq!(first, each);
    }

    /// Many sessions in threads take more scratch, at most as many as run at once, and get what one alone gets.
    #[test]
    fn sessions_in_threads_do_not_meet() {
        const THREADS: u64 = 4;
        const RUNS: u64 = 40;
        let device = device::open(&DeviceOptions::default());
        let exe = executable(&device, Placement::Packed);
        let alone = |first: u64| {
            let mut session = exe.session().expect("a session");
            (0..RUNS).map(|i| run(&mut session, 1000 * first + i)).collect::<Vec<_>>()
        };
        let want: Vec<_> = (0..THREADS).map(alone).collect();
        std::thread::scope(|scope| {
            for (thread, want) in (0..).zip(&want) {
                let exe = &exe;
                scope.spawn(move || {
                    // Two sessions in turn, which may have kept to unlike scratch.
                    let mut sessions = [exe.session().expect("a session"), exe.session().expect("a session")];
                    for (i, want) in (0..).zip(want) {
                        for session in &mut sessions {
                            assert_eq!(run(session, 1000 * thread + i), *want, "thread {thread}, run {i}");
                        }
                    }
                });
            }
        });
    }
}
