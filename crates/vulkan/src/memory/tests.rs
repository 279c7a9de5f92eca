//! Regions of several chunks and the staging path, which drivers without host-visible device memory take.

mod on_device {
    use super::super::*;
    use crate::device::{Pick, VulkanDevice, choose, reports};
    use crate::device_options::DeviceOptions;
    use crate::raw::{HostAccess, Instance, InstanceOptions};
    use crate::staging::Staging;

    fn open(poison: Option<Poison>) -> VulkanDevice {
        VulkanDevice::open(&Pick::Name("llvmpipe".into()), &DeviceOptions::default().poison(poison))
            .expect("these tests need lavapipe (mesa-vulkan-drivers)")
    }

    /// As lavapipe, described otherwise, with memory as a discrete card may have it.
    fn open_as(host: HostAccess, alter: impl FnOnce(&mut crate::Snapshot)) -> VulkanDevice {
        let instance = Arc::new(Instance::new(&InstanceOptions::default()).expect("an instance"));
        let pick = Pick::Name("llvmpipe".into());
        let mut report = choose(reports(&instance).expect("devices"), &pick).expect("lavapipe");
        alter(&mut report.snapshot);
        report.verdict = crate::DevicePlan::new(&report.snapshot);
        let options = DeviceOptions::default().host_access(host);
        VulkanDevice::open_report(&instance, report, &options).expect("opens")
    }

    fn pattern(len: usize, seed: u64) -> Vec<u8> {
        (0..len as u64).map(|i| (i.wrapping_mul(31).wrapping_add(seed) >> 3) as u8).collect()
    }

    fn scratch(offset: u64, len: u64) -> Span {
        Span::new(RegionKind::Scratch, Bytes(offset), Bytes(len))
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
            assert!(regions.locate(scratch(300, 400)).is_ok());
            assert!(matches!(regions.locate(scratch(200, 100)), Err(DeviceError::Span(_))));
            assert!(regions.locate(scratch(1024, 0)).is_ok(), "an empty span may lie at the end");
            assert!(regions.read(scratch(1000, 100), &mut [0; 100]).is_err());
        }
    }

    #[test]
    fn a_touched_guard_is_found() {
        let device = open(Some(Poison(0x7fc0_1234)));
        let region = Region { kind: RegionKind::Scratch, chunks: vec![Bytes(256)] };
        let regions = Regions::new(&device.gpu, &[&region]).unwrap();
        regions.poison(None).unwrap();
        let place = regions.locate(scratch(0, 256)).unwrap();
        place.buffer.write(place.offset + 256 + 40, &[0]).unwrap();
        let error = regions.check_guards().unwrap_err();
        assert!(matches!(error, DeviceError::Guard { chunk: 0, side: "after", byte: 40, .. }), "{error:?}");
        let text = error.to_string();
        assert!(text.starts_with("a kernel wrote after chunk 0 of region scratch, at byte 40"), "{text}");
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
        let place = regions.locate(scratch(3, len)).unwrap();
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

    /// What is free is what the driver says, or what there is less what is taken.
    #[test]
    fn free_memory_is_what_the_heap_has_left() {
        let device = open_as(HostAccess::Offered, |_| {});
        let said = pumice_runtime::Device::free_memory(&device).expect("a Vulkan device knows");
        assert!(said > Bytes::ZERO, "{said}");
        let silent = |s: &mut crate::Snapshot| s.extensions.retain(|e| e != "VK_EXT_memory_budget");
        let device = open_as(HostAccess::Offered, silent);
        let left = || pumice_runtime::Device::free_memory(&device).expect("a Vulkan device knows");
        let all = left();
        let region = Region { kind: RegionKind::Scratch, chunks: vec![Bytes(1 << 20)] };
        let regions = Regions::new(&device.gpu, &[&region]).unwrap();
        assert!(all - left() >= Bytes(1 << 20), "{all} {}", left());
        drop(regions);
        assert_eq!(left(), all);
    }

    /// Staging kept what it copied last: up to two chunks of an executable that was long dropped.
    #[test]
    fn nothing_is_alive_after_the_last_drop() {
        for host in [HostAccess::Offered, HostAccess::Shadowed] {
            let device = open_as(host, |_| {});
            let region = Region { kind: RegionKind::Scratch, chunks: vec![Bytes(1 << 20); 2] };
            let regions = Regions::new(&device.gpu, &[&region]).unwrap();
            assert!(device.live_bytes() >= Bytes(2 << 20));
            let mut staging = device.gpu.staging.lock().unwrap();
            for at in [0, 1 << 20] {
                let place = regions.locate(scratch(at, 1 << 10)).unwrap();
                staging.upload(&device.gpu, &place, &pattern(1 << 10, at)).unwrap();
                staging.download(&device.gpu, &place, &mut [0; 1 << 10]).unwrap();
            }
            drop(staging);
            drop(regions);
            assert_eq!(device.live_bytes(), Bytes::ZERO, "{host:?}");
            let memory = device.memory().clone();
            assert!(memory.staging_bytes() > Bytes::ZERO);
            drop(device);
            assert_eq!((memory.staging_bytes(), memory.allocations()), (Bytes::ZERO, 0), "{host:?}");
        }
    }

    /// A write of part of an atom brought back what the host last knew of the rest.
    #[test]
    fn a_partial_write_keeps_what_the_device_left_beside_it() {
        let device = open_as(HostAccess::Shadowed, |_| {});
        let io = Region { kind: RegionKind::IoIn, chunks: vec![Bytes(512)] };
        let (regions, source) = (Regions::new(&device.gpu, &[&io]), Regions::new(&device.gpu, &[&io]));
        let (regions, source) = (regions.unwrap(), source.unwrap());
        let span = |offset, len| Span::new(RegionKind::IoIn, Bytes(offset), Bytes(len));
        let left = pattern(512, 3);
        source.write(span(0, 512), &left).unwrap();
        regions.copy_from(&source, &[span(0, 512)]).unwrap();
        regions.write(span(70, 5), &[9; 5]).unwrap();
        let mut want = left.clone();
        want[70..75].fill(9);
        let mut got = vec![0; 512];
        regions.read(span(0, 512), &mut got).unwrap();
        assert!(got == want);
        // As the device sees it.
        source.copy_from(&regions, &[span(0, 512)]).unwrap();
        source.read(span(0, 512), &mut got).unwrap();
        assert!(got == want);
    }

    /// Whole words are filled on the device, the bytes around them are written, and chunks are no border.
    #[test]
    fn a_cleared_span_is_zero_and_nothing_beside_it() {
        for host in [HostAccess::Offered, HostAccess::Shadowed] {
            let device = open_as(host, |_| {});
            let region = Region { kind: RegionKind::Scratch, chunks: vec![Bytes(512); 2] };
            let regions = Regions::new(&device.gpu, &[&region]).unwrap();
            for (at, len) in [(0, 1024), (256, 64), (3, 1), (5, 2), (6, 4), (509, 7), (1, 1022), (4, 0)] {
                let mut want = pattern(1024, 5);
                regions.write(scratch(0, 1024), &want).unwrap();
                regions.clear(scratch(at, len)).unwrap();
                want[at as usize..(at + len) as usize].fill(0);
                let mut got = vec![1; 1024];
                regions.read(scratch(0, 1024), &mut got).unwrap();
                assert!(got == want, "{host:?}: {len} bytes at {at}");
            }
        }
    }

    /// What the host waits for is visible to it: a list that ends without a barrier to the host is a defect.
    #[test]
    fn work_that_the_host_may_not_see_is_refused() {
        let device = open(None);
        let region = Region { kind: RegionKind::Scratch, chunks: vec![Bytes(256)] };
        let regions = Regions::new(&device.gpu, &[&region]).unwrap();
        let buffer = regions.locate(scratch(0, 256)).unwrap().buffer;
        let fill = |shown: bool| {
            let mut list = Recorder::new(&device.gpu.queue).unwrap();
            list.fill(&buffer, 0, 256, 7).unwrap();
            if shown {
                Gpu::close(&mut list);
            }
            list.finish().unwrap()
        };
        let (unseen, shown, closing) = (fill(false), fill(true), device.gpu.closing_list().unwrap());
        let refused = device.gpu.run(&[&shown, &unseen]);
        assert!(matches!(refused, Err(DeviceError::Unsupported(_))), "{refused:?}");
        device.gpu.run(&[&unseen, &shown]).unwrap();
        device.gpu.run(&[&unseen, &closing]).unwrap();
    }

    #[test]
    fn limits_of_the_device_are_errors_by_name() {
        let device = open_as(HostAccess::Offered, |s| {
            s.limits.max_buffer = Some(1 << 20);
            s.limits.max_allocation_count = 3;
        });
        let region = |bytes| Region { kind: RegionKind::Scratch, chunks: vec![Bytes(bytes)] };
        let limit = |bytes| match Regions::new(&device.gpu, &[&region(bytes)]).map(drop) {
            Err(DeviceError::Limit { limit, needed, most }) => Some((limit, needed, most)),
            other => other.map(|()| None).unwrap(),
        };
        assert_eq!(limit(2 << 20), Some(("maxBufferSize".to_owned(), 2 << 20, 1 << 20)));
        assert_eq!(limit(1 << 20), None);
        // A region and the spare buffer are two allocations.
        let kept = Regions::new(&device.gpu, &[&region(256)]).unwrap();
        assert_eq!(limit(256), Some(("maxMemoryAllocationCount".to_owned(), 4, 3)));
        drop(kept);
        assert_eq!((limit(256), device.live_bytes()), (None, Bytes::ZERO));
        let device = open_as(HostAccess::Offered, |s| s.limits.max_allocation = 1 << 20);
        let refused = Regions::new(&device.gpu, &[&region(2 << 20)]).map(drop);
        assert!(
            matches!(refused, Err(DeviceError::Limit { ref limit, .. }) if limit == "maxMemoryAllocationSize")
        );
    }
}
