//! What a caller hears while files are fetched, and may stop.

use super::error::HubError;
use std::ops::ControlFlow;

/// What is heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// So many bytes of all files are there.
    Bytes {
        /// The file that is fetched.
        file: &'a str,
        /// Bytes that are there, those of calls before this one, too.
        done: u64,
        /// Bytes of all files.
        of: u64,
    },
    /// Another process fetches this file; it is waited for.
    Waiting {
        /// The file.
        file: &'a str,
    },
}

/// Who listens.
pub(super) type Listener<'l> = dyn FnMut(Event<'_>) -> ControlFlow<()> + 'l;

/// A listener with the sum that it hears.
pub(super) struct Watched<'l> {
    listen: &'l mut Listener<'l>,
    done: u64,
    of: u64,
}

impl<'l> Watched<'l> {
    /// Nothing has come of `of` bytes.
    pub fn new(listen: &'l mut Listener<'l>, of: u64) -> Watched<'l> {
        Watched { listen, done: 0, of }
    }

    /// More bytes are there.
    pub fn more(&mut self, file: &str, bytes: u64) -> Result<(), HubError> {
        self.done += bytes;
        self.tell(Event::Bytes { file, done: self.done, of: self.of })
    }

    /// A file is waited for.
    pub fn waits(&mut self, file: &str) -> Result<(), HubError> {
        self.tell(Event::Waiting { file })
    }

    fn tell(&mut self, event: Event<'_>) -> Result<(), HubError> {
        match (self.listen)(event) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(HubError::Stopped),
        }
    }
}
