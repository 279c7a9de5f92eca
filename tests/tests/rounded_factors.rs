//! Factors that are rounded by a step of their own, and stored so, are those that products round when they load them:
//! the same product whole, and in parts of rows that are too small for such a step.

mod on_device {
    use pumice::{
        Device, DeviceKind, Graph, GraphBuilder, Options, Precision, Tensor, TensorView, Value, f32,
    };
    use pumice_tests::device;
    use pumice_vulkan::DeviceOptions;

    /// As many multiplications as have their factors rounded before.
    const ROWS: u64 = 1024;
    const TERMS: u64 = 768;
    /// Parts that have not.
    const PARTS: u64 = 8;

    /// A factor, and whether it lies by columns.
    struct Factor {
        name: &'static str,
        rows: u64,
        turned: bool,
    }

    impl Factor {
        fn both([a, b]: [bool; 2]) -> [Factor; 2] {
            [Factor { name: "a", rows: ROWS, turned: a }, Factor { name: "b", rows: TERMS, turned: b }]
        }

        fn shape(&self) -> [u64; 2] {
            if self.turned { [TERMS, self.rows] } else { [self.rows, TERMS] }
        }

        /// −x: no param, of which weights are made when they are loaded.
        fn value(&self, g: &GraphBuilder) -> Value {
            let x = g.neg(g.input(self.name, f32(self.shape())));
            if self.turned { g.transpose(x, &[1, 0]) } else { x }
        }

        /// Numbers from -1 to 1 of 24 bits.
        fn numbers(&self) -> Vec<f32> {
            let by = 1.0 + f64::from(self.name.as_bytes()[0]).sqrt().fract();
            (1..=self.rows * TERMS).map(|i| ((i as f64 * by).fract() * 2.0 - 1.0) as f32).collect()
        }
    }

    /// a · b in so many parts of rows.
    fn product(factors: &[Factor; 2], parts: u64) -> Graph {
        let g = GraphBuilder::new("product");
        let [a, b] = factors.each_ref().map(|factor| factor.value(&g));
        let rows = (ROWS / parts) as i64;
        let part = |i: i64| g.matmul(g.slice(a, &[i * rows], &[(i + 1) * rows], &[0], &[1]), b);
        let parts: Vec<Value> = (0..parts as i64).map(part).collect();
        g.output("y", g.concat(&parts, 0));
        g.build().expect("the graph is sound")
    }

    /// The product, and whether its plan rounds factors before.
    fn run(device: &Device, factors: &[Factor; 2], parts: u64, precision: Precision) -> (Vec<f32>, bool) {
        let options = Options::default().precision(precision);
        let exe = pumice::compile(&product(factors, parts), device, &options).expect("it compiles");
        let tensors: Vec<Tensor> = factors
            .iter()
            .map(|factor| Tensor::new(&factor.numbers(), &factor.shape()).expect("as many as the shape says"))
            .collect();
        let inputs: Vec<(&str, TensorView<'_>)> =
            factors.iter().zip(&tensors).map(|(factor, tensor)| (factor.name, tensor.view())).collect();
        let out = exe.session().expect("a session").run(&inputs).expect("it runs");
        let y = out.get("y").expect("an output").to_vec::<f32>().expect("floats");
        (y, exe.plan().to_string().contains("products read it rounded"))
    }

    #[test]
    fn stored_rounded_is_what_products_round() {
        let vulkan = device::open(&DeviceOptions::default());
        // Tiles of matrix units add in orders of their own (T3); factors that nobody rounded are 6e-3 apart.
        let allowed = if vulkan.device_plan().target.features.cpu { 0.0 } else { 1e-3 };
        let device = Device::from_runtime(vulkan, DeviceKind::Gpu);
        for precision in [Precision::F16, Precision::Bf16] {
            for turned in [[false, false], [true, false], [false, true]] {
                let factors = Factor::both(turned);
                let [(stored, before), (loaded, again)] =
                    [1, PARTS].map(|parts| run(&device, &factors, parts, precision));
                assert!(before && !again, "{precision}, {turned:?}: {before}, {again}");
                let apart = stored.iter().zip(&loaded).map(|(x, y)| (x - y).abs()).fold(0.0, f32::max);
                assert!(apart <= allowed, "{precision}, {turned:?}: {apart}");
            }
        }
    }
}
