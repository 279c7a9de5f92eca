//! The pipeline cache on disk, with a real driver: written once, used by the next device, never trusted when damaged.

mod common;

use common::*;
use pumice_vulkan::DeviceOptions;
use std::fs;
use std::path::PathBuf;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("pumice-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        Folder(folder)
    }

    fn only_file(&self) -> PathBuf {
        let mut files = fs::read_dir(&self.0).unwrap().map(|e| e.unwrap().path());
        let file = files.next().unwrap();
        assert!(files.next().is_none(), "one cache file and nothing else");
        file
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn the_cache_is_written_and_read_again() {
    let folder = Folder::new("device-cache");
    let options = DeviceOptions::default().cache_dir(Some(folder.0.clone()));
    for _ in 0..2 {
        let device = open(&options);
        load(&device).unwrap().prepare(&[0, 1]).unwrap();
        assert!(device.notes().is_empty(), "{:?}", device.notes());
        assert!(fs::metadata(folder.only_file()).unwrap().len() > 88);
    }
    // A damaged cache is left aside, said so, and replaced.
    let mut bytes = fs::read(folder.only_file()).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 0xff;
    fs::write(folder.only_file(), &bytes).unwrap();
    let device = open(&options);
    assert!(device.notes()[0].contains("checksum"), "{:?}", device.notes());
    load(&device).unwrap();
    assert_ne!(fs::read(folder.only_file()).unwrap(), bytes);
}

#[test]
fn a_folder_that_cannot_be_written_is_noted() {
    let folder = Folder::new("device-cache-blocked");
    fs::write(&folder.0, b"a file where the folder should be").unwrap();
    let options = DeviceOptions::default().cache_dir(Some(folder.0.clone()));
    let device = open(&options);
    load(&device).unwrap();
    assert!(device.notes().iter().any(|n| n.contains("not written")), "{:?}", device.notes());
    fs::remove_file(&folder.0).unwrap();
}
