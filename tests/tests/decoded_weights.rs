//! Weights in blocks that are decoded by a step of their own give what products make of them that decode them: the same
//! product whole, and in parts of rows that are too few for such a step.

mod on_device {
    use pumice::{Device, DeviceKind, Graph, GraphBuilder, Options, Precision, Target, Tensor, f32, tensor};
    use pumice_tests::device;
    use pumice_types::Scheme;
    use pumice_vulkan::DeviceOptions;

    /// As many rows, columns and terms as have the weight decoded before.
    const ROWS: u64 = 512;
    const WIDTH: u64 = 1024;

    /// x · wᵀ in so many parts of rows.
    fn product(scheme: Scheme, parts: u64) -> Graph {
        let g = GraphBuilder::new("product");
        let x = g.input("x", f32([ROWS, WIDTH]));
        let w = g.dequantize(g.param("w", tensor(scheme, [WIDTH, WIDTH])));
        let rows = (ROWS / parts) as i64;
        let part = |i: i64| g.linear(g.slice(x, &[i * rows], &[(i + 1) * rows], &[0], &[1]), w, None);
        let parts: Vec<_> = (0..parts as i64).map(part).collect();
        g.output("y", g.concat(&parts, 0));
        g.build().expect("the graph is sound")
    }

    /// Bytes of codes that differ, with scales of 1/1024 where a block has one or two of 16 bits.
    fn weight(scheme: Scheme) -> Vec<u8> {
        let block = scheme.bytes() as usize;
        let mut bytes: Vec<u8> =
            (0..WIDTH * WIDTH / scheme.elements() * block as u64).map(|i| (i * i % 251) as u8).collect();
        let scales = if scheme == Scheme::Q4_K { 2 } else { 1 };
        for block in bytes.chunks_mut(block) {
            block[..2 * scales].chunks_mut(2).for_each(|scale| scale.copy_from_slice(&[0, 0x14]));
        }
        bytes
    }

    /// The product, and whether its plan decodes the weight before.
    fn run(device: &Device, scheme: Scheme, parts: u64, precision: Precision) -> (Vec<f32>, bool) {
        let options = Options::default().precision(precision);
        let exe = pumice::compile(&product(scheme, parts), device, &options).expect("it compiles");
        exe.set_param_bytes("w", &weight(scheme)).expect("as many bytes as the param has");
        let x: Vec<f32> = (0..ROWS * WIDTH).map(|i| ((i * i % 509) as f32 - 254.0) / 254.0).collect();
        let x = Tensor::new(&x, &[ROWS, WIDTH]).expect("as many as the shape says");
        let out = exe.session().expect("a session").run(&[("x", x.view())]).expect("it runs");
        let y = out.get("y").expect("an output").to_vec::<f32>().expect("floats");
        (y, exe.plan().to_string().contains("their tiles would each decode it"))
    }

    #[test]
    fn decoded_before_is_what_products_decode() {
        // CPU drivers have no row of their own that says so.
        let mut options = DeviceOptions::default();
        options.table = Some(Target::gpu_table());
        let vulkan = device::open(&options);
        let device = Device::from_runtime(vulkan, DeviceKind::Gpu);
        for (scheme, precision, allowed) in [
            (Scheme::Q8_0, Precision::Exact, 1e-6),
            (Scheme::Q4_K, Precision::Exact, 1e-6),
            (Scheme::Q8_0, Precision::Bf16, 1e-4),
        ] {
            let [(before, is_before), (each, is_again)] =
                [1, 4].map(|parts| run(&device, scheme, parts, precision));
            assert!(is_before && !is_again, "{scheme}, {precision}: {is_before}, {is_again}");
            let range = before.iter().fold(0.0f32, |most, y| most.max(y.abs()));
            let apart = before.iter().zip(&each).map(|(x, y)| (x - y).abs()).fold(0.0, f32::max) / range;
            assert!(range > 1e-3 && apart <= allowed, "{scheme}, {precision}: {apart} of {range}");
        }
    }
}
