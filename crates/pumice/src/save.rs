//! Saving a file, whole or not at all. In: a path that a user named, and who writes the contents. Out: the file, or why
//! not, with nothing half-done left behind. Never here: what is written.
//!
//! A regular file is written beside its place under a name that nobody can guess, synced, renamed, and the folder
//! synced: a kill at any moment leaves the old contents or the new. A symbolic link stays one: what it points to is
//! replaced. Mode and, where the system allows, owner of a file that is there are kept; other hard links to it keep
//! the old contents. Devices, pipes and sockets, and what links below `/dev` and `/proc` stand for, are written into.
//! Several files that are one are all written before the first is renamed.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Links that are followed before a path counts as going in circles, as Linux does it.
const MOST_LINKS: usize = 40;

/// Where a file goes, looked at before the work that makes its contents. Looking opens nothing that is there, and
/// leaves nothing.
#[derive(Debug)]
pub struct Destination(How);

#[derive(Debug)]
enum How {
    /// Into what is there, which is no regular file.
    Into(PathBuf),
    /// Beside it and renamed; with what is known of the file that is there.
    Replacing(PathBuf, Option<fs::Metadata>),
}

impl Destination {
    /// Finds out what the path is, and whether a file can be made there.
    ///
    /// # Errors
    /// A folder that is missing, is none or cannot be written, a path that is a folder or goes in circles.
    pub fn look(path: &Path) -> io::Result<Destination> {
        let found = Destination::find(path)?;
        if let How::Replacing(path, _) = &found.0 {
            try_beside(path)?;
        }
        Ok(found)
    }

    fn find(path: &Path) -> io::Result<Destination> {
        let mut path = path.to_owned();
        for _ in 0..MOST_LINKS {
            let system = of_the_system(&path)?;
            match fs::symlink_metadata(&path) {
                // Such a link need not lead to a name: it may stand for an open pipe.
                Ok(known) if known.is_symlink() && system => return Ok(Destination(How::Into(path))),
                Ok(known) if known.is_symlink() => path = folder(&path).join(fs::read_link(&path)?),
                Ok(known) if known.is_dir() => return Err(ErrorKind::IsADirectory.into()),
                Ok(known) if known.is_file() => return Ok(Destination(How::Replacing(path, Some(known)))),
                Ok(_) => return Ok(Destination(How::Into(path))),
                Err(e) if e.kind() == ErrorKind::NotFound && path.file_name().is_some() => {
                    return Ok(Destination(How::Replacing(path, None)));
                }
                Err(e) => return Err(e),
            }
        }
        Err(io::Error::other("the symbolic links go in circles"))
    }

    /// Writes the contents.
    ///
    /// # Errors
    /// What `write` returns and what the system refuses; the place is as it was then, unless it is no regular file.
    pub fn save(self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        place(vec![self.write(write)?])
    }

    /// Writes the contents beside the place, for [`place`].
    ///
    /// # Errors
    /// As [`Destination::save`].
    pub fn write(self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<Beside> {
        match self.0 {
            How::Into(path) => {
                let file = OpenOptions::new().write(true).truncate(true).open(path)?;
                contents(&file, write)?;
                Ok(Beside(None))
            }
            How::Replacing(path, known) => {
                let beside = beside(&path);
                let file = create(&beside, known.is_some())?;
                let written = Beside(Some((beside, path)));
                contents(&file, write)?;
                known.map_or(Ok(()), |known| keep(&file, &known))?;
                file.sync_all()?;
                Ok(written)
            }
        }
    }
}

/// Contents that are written and not yet in their place, which is the second path; none where they were written into
/// what was there. Dropped, they are gone.
#[derive(Debug)]
pub struct Beside(Option<(PathBuf, PathBuf)>);

impl Beside {
    /// The folder that changed.
    fn rename(mut self) -> io::Result<Option<PathBuf>> {
        let Some((beside, path)) = &self.0 else { return Ok(None) };
        fs::rename(beside, path)?;
        let folder = folder(path).to_owned();
        self.0 = None;
        Ok(Some(folder))
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        if let Some((beside, _)) = &self.0 {
            // What went wrong before is what is reported.
            let _ = fs::remove_file(beside);
        }
    }
}

/// Puts files into their places that are one, and that nobody opens without the first. Of several the old first goes
/// before any other changes, and the new one comes last: a stop in between leaves what does not open, and no mixture.
///
/// # Errors
/// What the system refuses; one file alone is as it was then.
pub fn place(mut set: Vec<Beside>) -> io::Result<()> {
    if let [Beside(Some((_, first))), _, ..] = &set[..] {
        match fs::remove_file(first) {
            Err(e) if e.kind() != ErrorKind::NotFound => return Err(e),
            _ => sync(folder(first))?,
        }
    }
    let others = set.split_off(set.len().min(1));
    let changed = others.into_iter().map(Beside::rename).collect::<io::Result<BTreeSet<_>>>()?;
    changed.into_iter().flatten().try_for_each(|folder| sync(&folder))?;
    let first = set.pop().map(Beside::rename).transpose()?;
    first.flatten().map_or(Ok(()), |folder| sync(&folder))
}

/// Saves contents that are at hand.
///
/// # Errors
/// As [`Destination::look`] and [`Destination::save`].
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    Destination::look(path)?.save(|out| out.write_all(bytes))
}

fn contents(file: &File, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::new(file);
    write(&mut out)?;
    out.flush()
}

/// Whether the path lies in a folder of the system's own names. Errors where the folder is missing.
fn of_the_system(path: &Path) -> io::Result<bool> {
    let real = fs::canonicalize(folder(path))
        .map_err(|e| io::Error::new(e.kind(), format!("its folder `{}`: {e}", folder(path).display())))?;
    if !real.is_dir() {
        let what = format!("`{}` is no folder", folder(path).display());
        return Err(io::Error::new(ErrorKind::NotADirectory, what));
    }
    Ok(cfg!(unix) && ["/dev", "/proc"].iter().any(|system| real.starts_with(system)))
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A name in the same folder that nobody else can know before: 64 bits of the process's random keys.
fn beside(path: &Path) -> PathBuf {
    let random = std::hash::RandomState::new().build_hasher().finish();
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{random:016x}.new"));
    path.with_file_name(name)
}

/// Makes and removes the file beside a path that its contents are written into.
fn try_beside(path: &Path) -> io::Result<()> {
    let beside = beside(path);
    let made = create(&beside, true).and_then(|_| fs::remove_file(&beside));
    made.map_err(|e| {
        let what = format!("no file can be made in its folder `{}`: {e}", folder(path).display());
        io::Error::new(e.kind(), what)
    })
}

/// A file that is not there yet. In place of another, nobody else may read it before it has that one's mode.
#[cfg_attr(not(unix), allow(unused_variables))]
fn create(path: &Path, replaces: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if replaces {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    options.open(path)
}

#[cfg(unix)]
fn keep(file: &File, known: &fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (known.uid(), known.gid()) {
        // Only root may give files away; the mode is kept all the same.
        let _ = fchown(file, Some(known.uid()), Some(known.gid()));
    }
    file.set_permissions(known.permissions())
}

#[cfg(not(unix))]
fn keep(file: &File, known: &fs::Metadata) -> io::Result<()> {
    file.set_permissions(known.permissions())
}

#[cfg(unix)]
fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync(_folder: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    use std::process::Command;

    /// A folder of its own for one test, removed when dropped.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Scratch {
            let path = std::env::temp_dir().join(format!("pumice-save-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            fs::create_dir_all(&path).expect("made");
            Scratch(path)
        }

        fn at(&self, name: &str) -> PathBuf {
            self.0.join(name)
        }

        fn names(&self) -> Vec<String> {
            let name =
                |e: io::Result<fs::DirEntry>| e.expect("read").file_name().to_string_lossy().into_owned();
            let mut names: Vec<String> = fs::read_dir(&self.0).expect("read").map(name).collect();
            names.sort();
            names
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).expect("there").permissions().mode() & 0o7777
    }

    #[test]
    fn a_new_file_appears_and_an_old_one_keeps_its_mode() {
        let s = Scratch::new("mode");
        let path = s.at("x");
        replace(&path, b"new").expect("saved");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("set");
        let before = fs::metadata(&path).expect("there").ino();
        replace(&path, b"newer").expect("saved");
        assert_eq!((mode(&path), fs::read(&path).expect("there")), (0o600, b"newer".to_vec()));
        assert_ne!(fs::metadata(&path).expect("there").ino(), before, "renamed, not written over");
        assert_eq!(s.names(), ["x"]);
    }

    #[test]
    fn links_stay_and_what_they_point_to_changes() {
        let s = Scratch::new("links");
        fs::create_dir(s.at("deep")).expect("made");
        symlink("deep/real", s.at("a")).expect("made");
        symlink("a", s.at("b")).expect("made");
        // The file is not there yet.
        replace(&s.at("b"), b"1").expect("saved");
        fs::set_permissions(s.at("deep/real"), fs::Permissions::from_mode(0o640)).expect("set");
        replace(&s.at("a"), b"2").expect("saved");
        assert_eq!(fs::read(s.at("deep/real")).expect("there"), b"2");
        assert_eq!(mode(&s.at("deep/real")), 0o640);
        assert!(["a", "b"].iter().all(|l| fs::symlink_metadata(s.at(l)).expect("there").is_symlink()));
        symlink("circle", s.at("circle")).expect("made");
        assert!(Destination::look(&s.at("circle")).is_err());
    }

    #[test]
    fn a_pipe_is_written_into() {
        let s = Scratch::new("pipe");
        let pipe = s.at("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo is there").success());
        let destination = Destination::look(&pipe).expect("found");
        assert!(matches!(&destination.0, How::Into(p) if *p == pipe), "{destination:?}");
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read(pipe).expect("read")
        });
        destination.save(|out| out.write_all(b"through")).expect("written");
        assert_eq!(reader.join().expect("ends"), b"through");
        assert_eq!(s.names(), ["pipe"]);
    }

    /// Only looked at: a device must never be replaced, whoever asks.
    #[test]
    fn devices_are_not_replaced() {
        for device in ["/dev/full", "/dev/null", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
            let destination = Destination::look(Path::new(device)).expect("there");
            assert!(matches!(destination.0, How::Into(_)), "{device}: {destination:?}");
        }
        let s = Scratch::new("devices");
        symlink("/dev/full", s.at("full")).expect("made");
        let destination = Destination::look(&s.at("full")).expect("there");
        assert!(matches!(&destination.0, How::Into(p) if p == Path::new("/dev/full")), "{destination:?}");
        let error = destination.save(|out| out.write_all(b"x")).expect_err("there is never room");
        assert_eq!(error.kind(), ErrorKind::StorageFull);
        assert!(s.names() == ["full"] && fs::symlink_metadata("/dev/full").is_ok_and(|m| !m.is_file()));
    }

    #[test]
    fn a_missing_folder_is_seen_before_the_work() {
        let s = Scratch::new("missing");
        let error = Destination::look(&s.at("gone/x")).expect_err("no folder");
        assert!(error.kind() == ErrorKind::NotFound && error.to_string().contains("gone"), "{error}");
        symlink("gone/x", s.at("dangling")).expect("made");
        assert!(Destination::look(&s.at("dangling")).is_err(), "the folder behind a link");
        assert!(Destination::look(&s.0).is_err(), "a folder is no file");
        fs::write(s.at("file"), b"").expect("written");
        assert!(Destination::look(&s.at("file/x")).is_err(), "a file is no folder");
    }

    /// It was seen after up to ten minutes of work.
    #[test]
    fn a_place_where_no_file_can_be_made_is_seen_before_the_work() {
        let s = Scratch::new("unwritable");
        // The name beside it is longer than a name may be, for root as well.
        let error = Destination::look(&s.at(&"x".repeat(250))).expect_err("too long");
        assert!(error.to_string().contains("no file can be made in its folder"), "{error}");
        fs::set_permissions(&s.0, fs::Permissions::from_mode(0o500)).expect("set");
        let is_root = File::create(s.at("probe")).is_ok();
        assert!(is_root || Destination::look(&s.at("x")).is_err());
        fs::set_permissions(&s.0, fs::Permissions::from_mode(0o700)).expect("set");
        let _ = fs::remove_file(s.at("probe"));
        assert!(Destination::look(&s.at("x")).is_ok() && s.names().is_empty(), "nothing is left");
    }

    /// The second cannot be placed: the old set is not left with its first file, to open with what is new behind it.
    #[test]
    fn a_set_that_stops_in_between_does_not_open() {
        let s = Scratch::new("set");
        let names = ["1", "2", "3"];
        let written = |contents: &[u8]| -> Vec<Beside> {
            let write = |name: &&str| {
                Destination::look(&s.at(name)).expect("there").write(|to| to.write_all(contents))
            };
            names.iter().map(|name| write(name).expect("written")).collect()
        };
        let new = written(b"old");
        assert!(names.iter().all(|name| !s.at(name).exists()), "none before all are written");
        place(new).expect("placed");
        assert!(names.iter().all(|name| fs::read(s.at(name)).expect("there") == b"old"));
        let new = written(b"new");
        assert!(names.iter().all(|name| fs::read(s.at(name)).expect("there") == b"old"));
        drop(new);
        assert_eq!(s.names(), names, "dropped, they are gone");
        let new = written(b"new");
        fs::remove_file(s.at("2")).expect("removed");
        fs::create_dir(s.at("2")).expect("made");
        place(new).expect_err("a folder is in the way");
        assert_eq!(s.names(), ["2", "3"]);
    }

    #[test]
    fn a_failed_writer_changes_nothing() {
        let s = Scratch::new("failed");
        replace(&s.at("x"), b"old").expect("saved");
        let failed = Destination::look(&s.at("x")).expect("there").save(|out| {
            out.write_all(&[0; 1 << 16])?;
            Err(io::Error::other("no more"))
        });
        assert!(failed.is_err());
        assert_eq!((fs::read(s.at("x")).expect("there"), s.names()), (b"old".to_vec(), vec!["x".to_owned()]));
    }
}
