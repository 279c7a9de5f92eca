//! What is kept on disk for a device: the pipeline cache, and the figures that were measured.
//!
//! In: bytes, and the identity of device, driver and kernels. Out: the same bytes, or a reason why they are not used.
//! A driver trusts its cache, so nothing reaches it that is not proved to be whole and its own. A file that cannot be
//! used or written is never an error: pipelines are made, and figures measured, anew.

use crate::snapshot::Snapshot;
use sha2::{Digest, Sha256};
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// What the driver keeps of pipelines.
    Pipelines,
    /// Figures of the device.
    Figures,
}

impl Content {
    fn magic(self) -> [u8; 8] {
        match self {
            Content::Pipelines => *b"PUMICEPC",
            Content::Figures => *b"PUMICEFG",
        }
    }

    fn ending(self) -> &'static str {
        match self {
            Content::Pipelines => "pipelines",
            Content::Figures => "figures",
        }
    }

    /// Whether these can be the bytes.
    fn check(self, identity: &CacheIdentity, data: &[u8]) -> Result<(), CacheRefusal> {
        match self {
            Content::Pipelines => check_vulkan_header(identity, data),
            Content::Figures => Ok(()),
        }
    }
}

const FORMAT: u32 = 1;
/// magic, format, header size, data size, identity, checksum.
const HEADER: usize = 8 + 4 + 4 + 8 + 32 + 32;
/// Larger files are not ours.
const LARGEST: u64 = 1 << 30;
/// The header that Vulkan itself puts first: size, version, vendor, device, UUID.
const VULKAN_HEADER: usize = 16 + 16;

/// What a cache is good for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheIdentity {
    vendor_id: u32,
    device_id: u32,
    pipeline_cache_uuid: [u8; 16],
    digest: [u8; 32],
}

impl CacheIdentity {
    /// The identity of a device with its driver and of the kernels' SPIR-V (`kernels` is a hash of it).
    pub fn new(snapshot: &Snapshot, kernels: [u8; 32]) -> CacheIdentity {
        let mut hash = Sha256::new();
        for number in [snapshot.vendor_id, snapshot.device_id, snapshot.driver_version] {
            hash.update(number.to_le_bytes());
        }
        for uuid in [snapshot.device_uuid, snapshot.driver_uuid, snapshot.pipeline_cache_uuid] {
            hash.update(uuid);
        }
        for text in [&snapshot.driver_name, &snapshot.driver_info] {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text.as_bytes());
        }
        hash.update(kernels);
        CacheIdentity {
            vendor_id: snapshot.vendor_id,
            device_id: snapshot.device_id,
            pipeline_cache_uuid: snapshot.pipeline_cache_uuid,
            digest: hash.finalize().into(),
        }
    }

    /// Name of a file in the cache folder: one per identity and ending.
    pub fn file_name(&self, ending: &str) -> String {
        let hex: String = self.digest[..12].iter().map(|b| format!("{b:02x}")).collect();
        format!("pumice-{hex}.{ending}")
    }
}

/// Why a cache file is not used.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub enum CacheRefusal {
    /// It is shorter than a header or than its header says, or longer.
    #[error("the file has {given} bytes, not {expected}")]
    Size {
        /// What the header says (or the header's own size).
        expected: u64,
        /// What there is.
        given: u64,
    },
    /// It is not of pumice, holds something else, or is of another format.
    #[error("the file is not a cache of this format")]
    Format,
    /// It was written for another device, driver or set of kernels.
    #[error("the file is for another device, driver or kernels")]
    Identity,
    /// Its content is damaged.
    #[error("the checksum is wrong")]
    Checksum,
    /// What is inside is not a Vulkan cache of this device.
    #[error("the driver's own header does not fit")]
    Driver,
    /// It cannot be read or written.
    #[error("{0}")]
    Io(String),
}

pumice_types::debug_as_display!(CacheRefusal);

impl From<io::Error> for CacheRefusal {
    fn from(error: io::Error) -> CacheRefusal {
        CacheRefusal::Io(error.to_string())
    }
}

/// The file's bytes for some content.
pub fn encode(content: Content, identity: &CacheIdentity, data: &[u8]) -> Vec<u8> {
    let mut file = Vec::with_capacity(HEADER + data.len());
    file.extend(content.magic());
    file.extend(FORMAT.to_le_bytes());
    file.extend((HEADER as u32).to_le_bytes());
    file.extend((data.len() as u64).to_le_bytes());
    file.extend(identity.digest);
    let checksum: [u8; 32] = Sha256::digest(data).into();
    file.extend(checksum);
    file.extend(data);
    file
}

/// The content of a file, if every check passes.
pub fn decode<'a>(
    content: Content,
    identity: &CacheIdentity,
    file: &'a [u8],
) -> Result<&'a [u8], CacheRefusal> {
    let size = |expected: usize| CacheRefusal::Size { expected: expected as u64, given: file.len() as u64 };
    let (header, data) = file.split_at_checked(HEADER).ok_or_else(|| size(HEADER))?;
    let word = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    if header[..8] != content.magic() || word(8) != FORMAT || word(12) as usize != HEADER {
        return Err(CacheRefusal::Format);
    }
    let stated = u64::from(word(16)) | u64::from(word(20)) << 32;
    if stated != data.len() as u64 {
        let expected = stated.saturating_add(HEADER as u64);
        return Err(CacheRefusal::Size { expected, given: file.len() as u64 });
    }
    if header[24..56] != identity.digest {
        return Err(CacheRefusal::Identity);
    }
    let checksum: [u8; 32] = Sha256::digest(data).into();
    if header[56..88] != checksum {
        return Err(CacheRefusal::Checksum);
    }
    content.check(identity, data)?;
    Ok(data)
}

fn check_vulkan_header(identity: &CacheIdentity, data: &[u8]) -> Result<(), CacheRefusal> {
    let header = data.get(..VULKAN_HEADER).ok_or(CacheRefusal::Driver)?;
    let word = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let fits = word(0) as usize >= VULKAN_HEADER
        && word(4) == 1
        && word(8) == identity.vendor_id
        && word(12) == identity.device_id
        && header[16..32] == identity.pipeline_cache_uuid;
    if fits { Ok(()) } else { Err(CacheRefusal::Driver) }
}

/// A cache file in a folder the user named.
#[derive(Clone, Debug)]
pub struct CacheFile {
    folder: PathBuf,
    identity: CacheIdentity,
    content: Content,
}

impl CacheFile {
    /// The file of this identity; nothing is read yet.
    pub fn new(folder: &Path, identity: CacheIdentity, content: Content) -> CacheFile {
        CacheFile { folder: folder.to_owned(), identity, content }
    }

    /// Where it lies.
    pub fn path(&self) -> PathBuf {
        self.folder.join(self.file_name())
    }

    fn file_name(&self) -> String {
        self.identity.file_name(self.content.ending())
    }

    /// The content; `None` where there is no file yet.
    pub fn load(&self) -> Result<Option<Vec<u8>>, CacheRefusal> {
        let file = match fs::symlink_metadata(self.path()) {
            // Opening a pipe would wait for whoever writes into it.
            Ok(known) if !known.is_file() => Err(io::Error::other("it is no regular file")),
            Ok(_) => fs::File::open(self.path()),
            Err(error) => Err(error),
        };
        let file = match file {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let given = file.metadata()?.len();
        if given > LARGEST {
            return Err(CacheRefusal::Size { expected: LARGEST, given });
        }
        let mut bytes = Vec::new();
        file.take(LARGEST).read_to_end(&mut bytes)?;
        decode(self.content, &self.identity, &bytes).map(|data| Some(data.to_vec()))
    }

    /// Replaces the file: whoever reads it, at any moment, sees the old one or the new one. What stands there and is no
    /// regular file is not ours, and stays.
    pub fn store(&self, data: &[u8]) -> Result<(), CacheRefusal> {
        fs::create_dir_all(&self.folder)?;
        if fs::symlink_metadata(self.path()).is_ok_and(|known| !known.is_file()) {
            return Err(io::Error::other("it is no regular file").into());
        }
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let unique = format!("{}-{}", std::process::id(), now.map_or(0, |d| d.as_nanos()));
        let temporary = self.folder.join(format!(".{}.{unique}", self.file_name()));
        let written = self.write(&temporary, data);
        if written.is_err() {
            // The temporary file is only ours; what cannot be removed stays as rubbish beside the cache.
            let _ = fs::remove_file(&temporary);
        }
        Ok(written?)
    }

    fn write(&self, temporary: &Path, data: &[u8]) -> io::Result<()> {
        let mut file = fs::OpenOptions::new().write(true).create_new(true).open(temporary)?;
        file.write_all(&encode(self.content, &self.identity, data))?;
        file.sync_all()?;
        drop(file);
        fs::rename(temporary, self.path())?;
        if cfg!(unix) {
            fs::File::open(&self.folder)?.sync_all()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(kernels: u8) -> CacheIdentity {
        let text = include_str!("../tests/snapshots/lavapipe-22.3.json");
        CacheIdentity::new(&serde_json::from_str(text).unwrap(), [kernels; 32])
    }

    fn driver_data(id: &CacheIdentity) -> Vec<u8> {
        let words = [32u32, 1, id.vendor_id, id.device_id];
        let mut data: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        data.extend(id.pipeline_cache_uuid);
        data.extend(b"pipelines");
        data
    }

    #[test]
    fn only_a_whole_file_of_the_same_identity_is_used() {
        let id = identity(0);
        let data = driver_data(&id);
        let file = encode(Content::Pipelines, &id, &data);
        assert_eq!(decode(Content::Pipelines, &id, &file), Ok(&data[..]));
        assert_eq!(decode(Content::Pipelines, &identity(1), &file), Err(CacheRefusal::Identity));
        for n in 0..file.len() {
            assert!(decode(Content::Pipelines, &id, &file[..n]).is_err(), "cut at {n}");
            let mut bad = file.clone();
            bad[n] ^= 1;
            assert!(decode(Content::Pipelines, &id, &bad).is_err(), "bit flipped at {n}");
        }
        assert_eq!(decode(Content::Figures, &id, &file), Err(CacheRefusal::Format));
        let longer = [file.clone(), vec![0]].concat();
        assert!(matches!(decode(Content::Pipelines, &id, &longer), Err(CacheRefusal::Size { .. })));
    }

    #[test]
    fn foreign_driver_data_is_refused_even_in_a_valid_file() {
        let id = identity(0);
        let mut data = driver_data(&id);
        data[8] ^= 1;
        assert_eq!(
            decode(Content::Pipelines, &id, &encode(Content::Pipelines, &id, &data)),
            Err(CacheRefusal::Driver)
        );
        assert_eq!(
            decode(Content::Pipelines, &id, &encode(Content::Pipelines, &id, b"short")),
            Err(CacheRefusal::Driver)
        );
    }

    #[test]
    fn a_file_is_replaced_whole() {
        let folder = std::env::temp_dir().join(format!("pumice-cache-test-{}", std::process::id()));
        let file = CacheFile::new(&folder, identity(2), Content::Pipelines);
        assert_eq!(file.load(), Ok(None));
        let data = driver_data(&identity(2));
        file.store(&data).unwrap();
        file.store(&data).unwrap();
        assert_eq!(file.load(), Ok(Some(data)));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "no temporary file is left");
        fs::write(file.path(), b"rubbish").unwrap();
        assert!(file.load().is_err());
        // What is no regular file is neither read nor replaced.
        fs::remove_file(file.path()).unwrap();
        fs::create_dir(file.path()).unwrap();
        assert!(file.load().is_err() && file.store(b"x").is_err());
        fs::remove_dir_all(&folder).unwrap();
    }
}
