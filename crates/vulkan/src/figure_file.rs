//! The figures that were measured, kept in the cache folder beside the pipelines: when a device is opened for the first
//! time with that folder they are measured, later they are read.
//!
//! In: an open device, a folder. Out: figures, with a note for people where the file could not be used or written,
//! which is no error.

use crate::cache_file::{CacheFile, CacheIdentity, CacheRefusal, Content};
use crate::gpu::Gpu;
use crate::measure;
use pumice_runtime::device::DeviceError;
use pumice_types::target::Figures;
use std::path::Path;

/// Numbers of a file.
const NUMBERS: usize = 6;

/// What there is to know of a device's figures.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// The figures; none where they could not be measured.
    pub(crate) figures: Option<Figures>,
    /// What went otherwise than it should.
    pub(crate) notes: Vec<String>,
}

/// Reads the figures of a device, or measures and writes them.
pub(crate) fn load_or_measure(
    gpu: &Gpu,
    folder: &Path,
    identity: CacheIdentity,
    said_units: Option<u32>,
) -> Result<Kept, DeviceError> {
    let file = CacheFile::new(folder, identity, Content::Figures);
    let mut kept = read(&file, said_units);
    if kept.figures.is_some() {
        return Ok(kept);
    }
    match measure::figures(gpu, said_units) {
        Ok(figures) => {
            if let Err(refusal) = file.store(&encode(&figures)) {
                kept.notes.push(format!("figures {} are not written: {refusal}", file.path().display()));
            }
            kept.figures = Some(figures);
        }
        Err(error @ (DeviceError::Lost(_) | DeviceError::Forked | DeviceError::Stalled { .. })) => {
            return Err(error);
        }
        Err(error) => kept.notes.push(format!("figures are estimated, for they cannot be measured: {error}")),
    }
    Ok(kept)
}

/// The figures of a device that was opened with the folder before. Nothing is opened.
pub(crate) fn kept(folder: &Path, identity: CacheIdentity, said_units: Option<u32>) -> Option<Figures> {
    read(&CacheFile::new(folder, identity, Content::Figures), said_units).figures
}

fn read(file: &CacheFile, said_units: Option<u32>) -> Kept {
    let data = match file.load() {
        Ok(None) => return Kept::default(),
        Ok(Some(data)) => decode(&data, said_units).ok_or(CacheRefusal::Format),
        Err(refusal) => Err(refusal),
    };
    match data {
        Ok(figures) => Kept { figures: Some(figures), notes: Vec::new() },
        Err(refusal) => {
            let note = format!("figures {} are not used: {refusal}", file.path().display());
            Kept { figures: None, notes: vec![note] }
        }
    }
}

fn encode(figures: &Figures) -> Vec<u8> {
    let numbers: [Option<f64>; NUMBERS] = [
        figures.compute_units.map(f64::from),
        figures.level_us,
        figures.dispatch_us,
        figures.submit_us,
        figures.bytes_per_us,
        figures.f32_flops_per_us,
    ];
    // No figure is 0.
    numbers.into_iter().flat_map(|n| n.unwrap_or(0.0).to_le_bytes()).collect()
}

/// None where these are no figures that a device can have, or compute units are missing that the driver does not say.
fn decode(data: &[u8], said_units: Option<u32>) -> Option<Figures> {
    let (words, rest) = data.as_chunks::<8>();
    let numbers: [f64; NUMBERS] =
        words.iter().map(|w| f64::from_le_bytes(*w)).collect::<Vec<_>>().try_into().ok()?;
    let some = |n: f64| (n != 0.0).then_some(n);
    let [units, level_us, dispatch_us, submit_us, bytes_per_us, f32_flops_per_us] = numbers.map(some);
    let figures = Figures {
        compute_units: units.map(|n| n as u32),
        level_us,
        dispatch_us,
        submit_us,
        bytes_per_us,
        f32_flops_per_us,
        rounded_flops_per_us: None,
    };
    let measured = [level_us, dispatch_us, submit_us, bytes_per_us, f32_flops_per_us];
    let whole = rest.is_empty() && measured.iter().all(Option::is_some);
    let units = figures.compute_units.is_some() != said_units.is_some();
    (whole && units && figures.check().is_ok()).then_some(figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::Snapshot;
    use pumice_types::Target;
    use std::fs;

    fn file(folder: &Path) -> CacheFile {
        let snapshot: Snapshot =
            serde_json::from_str(include_str!("../tests/snapshots/h200.json")).expect("a snapshot");
        CacheFile::new(folder, CacheIdentity::new(&snapshot, [7; 32]), Content::Figures)
    }

    #[test]
    fn figures_are_read_as_they_were_written() {
        let rates = Figures::rates(&Target::h200().tuning);
        assert_eq!(decode(&encode(&rates), Some(132)), Some(rates));
        assert_eq!(decode(&encode(&rates), None), None, "units are missing");
        let with_units = Figures { compute_units: Some(20), ..rates };
        assert_eq!(decode(&encode(&with_units), None), Some(with_units));
        assert_eq!(decode(&encode(&with_units), Some(132)), None, "the driver says them now");
    }

    #[test]
    fn what_no_device_has_is_measured_anew() {
        let rates = Figures::rates(&Target::h200().tuning);
        let bytes = encode(&rates);
        assert_eq!(decode(&bytes[..40], Some(132)), None);
        assert_eq!(decode(&[bytes.clone(), vec![0]].concat(), Some(132)), None);
        for wrong in [Some(f64::NAN), Some(-1.0), Some(f64::INFINITY), None] {
            let bytes = encode(&Figures { bytes_per_us: wrong, ..rates });
            assert_eq!(decode(&bytes, Some(132)), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_damaged_file_is_told_and_not_used() {
        let folder = std::env::temp_dir().join(format!("pumice-figures-test-{}", std::process::id()));
        let file = file(&folder);
        let kept = read(&file, Some(132));
        assert!(kept.figures.is_none() && kept.notes.is_empty(), "there is no file yet");
        file.store(&encode(&Figures::rates(&Target::h200().tuning))).expect("written");
        assert!(read(&file, Some(132)).figures.is_some());
        let mut bytes = fs::read(file.path()).expect("read");
        *bytes.last_mut().expect("a byte") ^= 1;
        fs::write(file.path(), bytes).expect("written");
        let kept = read(&file, Some(132));
        assert!(kept.figures.is_none() && kept.notes[0].contains("checksum"), "{kept:?}");
        fs::remove_dir_all(&folder).expect("removed");
    }

    mod on_device {
        use super::*;
        use crate::device::{VulkanDevice, reports};
        use crate::device_options::DeviceOptions;
        use crate::figures::Source;
        use crate::raw::{Instance, InstanceOptions};
        use crate::snapshot::DeviceKind;
        use pumice_types::Bytes;
        use std::sync::Arc;

        /// Any device, as if it were a GPU that nobody has measured, with little memory, so that it takes little time.
        fn opened(folder: &Path) -> VulkanDevice {
            let instance = Arc::new(Instance::new(&InstanceOptions::default()).expect("a driver"));
            let mut report = reports(&instance).expect("devices").remove(0);
            report.snapshot.kind = DeviceKind::Discrete;
            report.snapshot.compute_units = Some(1);
            let plan = report.verdict.as_mut().expect("usable");
            plan.figures.rates = Source::Estimated;
            plan.target.limits.memory = Bytes(64 << 20);
            let options = DeviceOptions::default().cache_dir(folder.to_owned());
            VulkanDevice::open_report(&instance, report, &options).expect("opens")
        }

        #[test]
        fn a_gpu_is_measured_once_and_again_where_the_file_is_damaged() {
            let folder = std::env::temp_dir().join(format!("pumice-measured-once-{}", std::process::id()));
            let first = opened(&folder);
            let figures = first.device_plan().target.tuning.clone();
            assert_eq!(first.device_plan().figures.rates, Source::Measured);
            assert_ne!(figures, Target::lavapipe().tuning);
            let file = folder.join(first.cache_file_name("figures"));
            drop(first);
            let written = fs::read(&file).expect("figures are kept");
            let again = opened(&folder);
            assert_eq!(again.device_plan().target.tuning, figures, "they are read");
            assert_eq!((fs::read(&file).expect("read"), again.notes()), (written.clone(), Vec::new()));
            drop(again);
            fs::write(&file, &written[..written.len() / 2]).expect("written");
            let anew = opened(&folder);
            assert_eq!(anew.device_plan().figures.rates, Source::Measured);
            assert!(anew.notes()[0].contains("figures"), "{:?}", anew.notes());
            assert_eq!(fs::read(&file).expect("read").len(), written.len());
            fs::remove_dir_all(&folder).expect("removed");
        }
    }
}
