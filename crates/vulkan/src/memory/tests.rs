//! Regions of several chunks and the staging path, which drivers without host-visible device memory take.

mod on_device {
    use super::super::*;
    use crate::device::{DeviceOptions, Pick, VulkanDevice};
    use crate::staging::Staging;

    fn open(poison: Option<Poison>) -> VulkanDevice {
        VulkanDevice::open(&Pick::Name("llvmpipe".into()), &DeviceOptions::default().poison(poison))
            .expect("these tests need lavapipe (mesa-vulkan-drivers)")
    }

    fn pattern(len: usize, seed: u64) -> Vec<u8> {
        (0..len as u64).map(|i| (i.wrapping_mul(31).wrapping_add(seed) >> 3) as u8).collect()
    }

    fn scratch(offset: u64, len: u64) -> Span {
        Span { region: RegionKind::Scratch, offset: Bytes(offset), len: Bytes(len) }
    }

    #[test]
    fn bytes_cross_chunk_borders_and_guards_stay() {
        for poison in [None, Some(Poison(0x7fc0_1234))] {
            let device = open(poison);
            let chunks = vec![Bytes(256), Bytes(512), Bytes(256)];
            let region = Region { kind: RegionKind::Scratch, chunks };
            let regions = Regions::new(&device.gpu, &[&region]).unwrap();
            regions.poison(None).unwrap();
            let bytes = pattern(900, 7);
            regions.write(scratch(100, 900), &bytes).unwrap();
            let mut back = vec![0u8; 900];
            regions.read(scratch(100, 900), &mut back).unwrap();
            assert!(back == bytes);
            regions.check_guards().unwrap();
            // A span that a kernel uses lies in one chunk.
            assert!(regions.place(scratch(300, 400)).is_ok());
            assert!(matches!(regions.place(scratch(200, 100)), Err(DeviceError::Span(_))));
            assert!(regions.place(scratch(1024, 0)).is_ok(), "an empty span may lie at the end");
            assert!(regions.read(scratch(1000, 100), &mut [0; 100]).is_err());
        }
    }

    #[test]
    fn a_touched_guard_is_found() {
        let device = open(Some(Poison(0x7fc0_1234)));
        let region = Region { kind: RegionKind::Scratch, chunks: vec![Bytes(256)] };
        let regions = Regions::new(&device.gpu, &[&region]).unwrap();
        regions.poison(None).unwrap();
        let place = regions.place(scratch(0, 256)).unwrap();
        place.buffer.write(place.offset + 256 + 40, &[0]).unwrap();
        let error = regions.check_guards().unwrap_err();
        assert!(matches!(error, DeviceError::Guard { chunk: 0, side: "behind", byte: 40, .. }), "{error:?}");
        let text = error.to_string();
        assert!(text.starts_with("a kernel wrote behind chunk 0 of region scratch, at byte 40"), "{text}");
        regions.poison(None).unwrap();
        place.buffer.write(place.offset - 4, &[0]).unwrap();
        let error = regions.check_guards().unwrap_err();
        assert!(matches!(error, DeviceError::Guard { side: "before", byte, .. } if byte == GUARD - 4));
    }

    #[test]
    fn staging_moves_what_is_larger_than_its_buffers() {
        let device = open(None);
        let len = 20_000_001;
        let region = Region { kind: RegionKind::Scratch, chunks: vec![Bytes(len + 3)] };
        let regions = Regions::new(&device.gpu, &[&region]).unwrap();
        let place = regions.place(scratch(3, len)).unwrap();
        let mut staging = Staging::default();
        for seed in [1, 2] {
            let bytes = pattern(len as usize, seed);
            staging.upload(&device.gpu, &place, &bytes).unwrap();
            let mut direct = vec![0u8; len as usize];
            regions.read(scratch(3, len), &mut direct).unwrap();
            assert!(direct == bytes, "uploaded");
            let mut back = vec![0u8; len as usize];
            staging.download(&device.gpu, &place, &mut back).unwrap();
            assert!(back == bytes, "downloaded");
        }
        staging.upload(&device.gpu, &place, &[]).unwrap();
        staging.download(&device.gpu, &place, &mut []).unwrap();
    }
}
