//! `fork` after the device was opened: with a driver it hangs silently, so pumice refuses in the child.

use crate::device::{Pick, VulkanDevice};
use crate::device_options::DeviceOptions;
use pumice_plan::{Region, RegionKind, Span};
use pumice_runtime::device::DeviceError;
use pumice_types::Bytes;
use std::time::{Duration, Instant};

unsafe extern "C" {
    fn fork() -> i32;
    fn waitpid(pid: i32, status: *mut i32, options: i32) -> i32;
    fn kill(pid: i32, signal: i32) -> i32;
    fn _exit(status: i32) -> !;
}

const WNOHANG: i32 = 1;
const SIGKILL: i32 = 9;

#[test]
fn a_forked_child_gets_an_error_and_can_drop_everything() {
    let device = VulkanDevice::open(&Pick::Name("llvmpipe".into()), &DeviceOptions::default())
        .expect("this test needs lavapipe (mesa-vulkan-drivers)");
    let region = Region { kind: RegionKind::Scratch, chunks: vec![Bytes(256)] };
    let regions = crate::memory::Regions::new(&device.gpu, &[&region]).unwrap();
    let span = Span::new(RegionKind::Scratch, Bytes(0), Bytes(4));
    // SAFETY: the child only calls pumice, which calls nothing of the driver after a fork, and leaves by `_exit`.
    let child = unsafe { fork() };
    assert!(child >= 0);
    if child == 0 {
        let refused = matches!(regions.write(span, &[0; 4]), Err(DeviceError::Forked))
            && matches!(regions.copy_from(&regions, &[span]), Err(DeviceError::Forked));
        drop((regions, device));
        // SAFETY: ends the child without running the parent's destructors and tests.
        unsafe { _exit(if refused { 0 } else { 1 }) };
    }
    regions.write(span, &[1; 4]).unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    let mut status = -1;
    // SAFETY: the pid is our child's and has not been waited for.
    while unsafe { waitpid(child, &mut status, WNOHANG) } == 0 {
        if Instant::now() > deadline {
            // SAFETY: as above.
            unsafe { kill(child, SIGKILL) };
            panic!("the child hangs");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(status, 0);
}
