//! Work on a thread whose stack is known. A template is a stranger's program: chains and nesting of its source and of
//! the values that it makes become depth of calls in the engine, whatever stack the caller has.

use super::error::TextError;
use std::thread;

/// Does the work on a stack of so many bytes, of which the system gives memory for those alone that are used.
pub(super) fn with_stack<T: Send>(bytes: usize, work: impl FnOnce() -> T + Send) -> Result<T, TextError> {
    let failed = |problem: String| TextError::TemplateThread { problem };
    thread::scope(|scope| {
        let builder = thread::Builder::new().name("chat template".to_owned()).stack_size(bytes);
        let thread = builder.spawn_scoped(scope, work);
        let thread = thread.map_err(|e| failed(format!("no thread with a stack of {bytes} bytes: {e}")))?;
        thread.join().map_err(|_| failed("the template engine gave up".to_owned()))
    })
}
