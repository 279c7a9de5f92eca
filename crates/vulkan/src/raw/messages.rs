//! Messages of the validation layer, collected for tests and for `doctor`.
//!
//! In: the layer's callback. Out: a typed list. Nothing is printed here.

use ash::vk;
use std::ffi::{CStr, c_void};
use std::sync::Mutex;

/// How bad a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth reading.
    Warning,
    /// The specification was broken.
    Error,
}

/// One message of the validation layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// How bad it is.
    pub severity: Severity,
    /// The rule: `VUID-…`, `SYNC-HAZARD-READ-AFTER-WRITE`, `UNASSIGNED-…`.
    pub id: String,
    /// The text.
    pub text: String,
}

impl Message {
    /// Whether synchronization validation found a hazard.
    pub fn is_hazard(&self) -> bool {
        self.id.contains("SYNC-HAZARD")
    }
}

/// Every message so far. It outlives the device, so that what is said while the device goes away can be read.
#[derive(Debug, Default)]
pub struct MessageLog {
    messages: Mutex<Vec<Message>>,
}

impl MessageLog {
    /// A copy of the messages, oldest first.
    pub fn all(&self) -> Vec<Message> {
        self.lock().clone()
    }

    /// Takes the messages out.
    pub fn take(&self) -> Vec<Message> {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Message>> {
        // A panic while pushing leaves a valid list.
        self.messages.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    pub(super) fn push(&self, message: Message) {
        self.lock().push(message);
    }
}

/// The messenger's description; `log` must stay alive as long as the messenger or instance made from it.
pub(super) fn messenger_info(log: &MessageLog) -> vk::DebugUtilsMessengerCreateInfoEXT<'_> {
    vk::DebugUtilsMessengerCreateInfoEXT::default()
        .message_severity(
            vk::DebugUtilsMessageSeverityFlagsEXT::WARNING | vk::DebugUtilsMessageSeverityFlagsEXT::ERROR,
        )
        .message_type(
            vk::DebugUtilsMessageTypeFlagsEXT::GENERAL | vk::DebugUtilsMessageTypeFlagsEXT::VALIDATION,
        )
        .pfn_user_callback(Some(receive))
        .user_data(std::ptr::from_ref(log).cast_mut().cast())
}

/// SAFETY of the body: the layer passes the `user_data` given above, which outlives the messenger, and strings that
/// are valid during the call. Only shared access to the log is made.
unsafe extern "system" fn receive(
    severity: vk::DebugUtilsMessageSeverityFlagsEXT,
    _kinds: vk::DebugUtilsMessageTypeFlagsEXT,
    data: *const vk::DebugUtilsMessengerCallbackDataEXT<'_>,
    user: *mut c_void,
) -> vk::Bool32 {
    // SAFETY: see above; null pointers are refused first.
    let (Some(data), Some(log)) = (unsafe { data.as_ref() }, unsafe { user.cast::<MessageLog>().as_ref() })
    else {
        return vk::FALSE;
    };
    let text = |p: *const std::ffi::c_char| {
        if p.is_null() {
            return String::new();
        }
        // SAFETY: the layer's strings are terminated and live during the call.
        unsafe { CStr::from_ptr(p) }.to_string_lossy().into_owned()
    };
    let severity = match severity {
        vk::DebugUtilsMessageSeverityFlagsEXT::ERROR => Severity::Error,
        _ => Severity::Warning,
    };
    let (id, body) = (text(data.p_message_id_name), text(data.p_message));
    // The loader reports drivers it could not use (another machine's GPU) as general messages; they say nothing
    // about what pumice did.
    if id != "Loader Message" {
        log.push(Message { severity, id, text: body });
    }
    vk::FALSE
}
