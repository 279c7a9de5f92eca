//! `pumice selftest` as a program: what it leaves behind while it runs.

/// A driver on the CPU compiles kernels into this process' memory, and the C library kept what devices had given back:
/// a run of all ops grew to 3.2 GB once, and to 1 GB where devices came in batches. Products have the largest kernels,
/// and alone took 550 to 630 MB; 620 to 630 since they know 14 encodings of blocks, in smaller batches.
#[cfg(target_os = "linux")]
#[test]
fn memory_of_devices_is_given_back() {
    use std::process::{Command, Stdio};
    use std::time::Duration;

    const MOST_KB: u64 = 700_000;

    let mut program = Command::new(env!("CARGO_BIN_EXE_pumice"));
    program.args(["selftest", "--op", "matmul", "--json"]).stdout(Stdio::null());
    let mut running = program.spawn().expect("the program starts");
    let mut most = 0;
    let status = loop {
        most = most.max(largest_resident(running.id()));
        if let Some(status) = running.try_wait().expect("a child of this process") {
            break status;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    assert!(status.success(), "{status}");
    println!("{most} kB at most");
    assert!((1..=MOST_KB).contains(&most), "{most} kB");
}

/// The most memory that a process or one that it started has had, in kB.
#[cfg(target_os = "linux")]
fn largest_resident(process: u32) -> u64 {
    let read = |file: &str| std::fs::read_to_string(format!("/proc/{process}/{file}")).unwrap_or_default();
    let status = read("status");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.and_then(|text| text.trim().strip_suffix(" kB")?.parse().ok()).unwrap_or(0);
    let started = read(&format!("task/{process}/children"));
    started.split_whitespace().filter_map(|id| id.parse().ok()).map(largest_resident).fold(peak, u64::max)
}
