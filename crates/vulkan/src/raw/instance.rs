//! The Vulkan instance: the loader, the optional validation layer, and the list of devices.
//!
//! Validation is switched on in code, synchronization validation with it; no environment variable is read here (the
//! loader and the layer read their own).

use super::calls::{CallError, CallLog, FaultPlan};
use super::messages::{MessageLog, messenger_info};
use super::snapshot::take_snapshot;
use super::table::{EntryTable, InstanceTable};
use crate::snapshot::Snapshot;
use ash::{ext, khr, vk};
use std::ffi::CStr;
use std::sync::Arc;

const VALIDATION_LAYER: &CStr = c"VK_LAYER_KHRONOS_validation";

/// What the Khronos validation layer checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Validation {
    /// Nothing; the layer is not loaded.
    #[default]
    Off,
    /// The rules of the specification.
    Core,
    /// Also that every access is ordered against the ones before it.
    Synchronization,
}

/// How an instance is made.
#[derive(Clone, Copy, Debug, Default)]
pub struct InstanceOptions {
    /// What the validation layer checks.
    pub validation: Validation,
    /// Which call fails, for tests.
    pub faults: FaultPlan,
}

/// Why there is no instance.
#[derive(thiserror::Error)]
pub enum InstanceError {
    /// No Vulkan loader on this machine.
    #[error("no Vulkan loader was found ({0}); `pumice doctor` says how to get one")]
    NoLoader(String),
    /// The loader is older than Vulkan 1.2.
    #[error("the Vulkan loader speaks version {major}.{minor}; 1.2 is needed")]
    LoaderTooOld {
        /// Major version.
        major: u32,
        /// Minor version.
        minor: u32,
    },
    /// Validation was asked for, but the layer is not installed.
    #[error("the Khronos validation layer is not installed (Debian: vulkan-validationlayers)")]
    NoValidationLayer,
    /// No installed driver (the loader found none it can use).
    #[error("no Vulkan driver is installed; `pumice doctor` says how to get one")]
    NoDriver,
    /// A call failed.
    #[error(transparent)]
    Call(#[from] CallError),
}

pumice_types::debug_as_display!(InstanceError);

/// An instance with its messenger. Owner of `VkInstance` and `VkDebugUtilsMessengerEXT`.
///
/// The loader unloads the drivers with the last instance. NVIDIA's driver (580.159.04, 2026-11-21) can be loaded only
/// about 29 times in a process ("cannot allocate memory in static TLS block", then no driver is found), so a process
/// that opens devices again and again keeps one instance alive meanwhile.
pub struct Instance {
    pub(super) table: InstanceTable,
    messenger: Option<(ext::debug_utils::Instance, vk::DebugUtilsMessengerEXT)>,
    messages: Arc<MessageLog>,
    log: Arc<CallLog>,
    // Keeps the loader's library in memory.
    _entry: ash::Entry,
}

/// What is switched on, decided from what there is.
struct Wanted {
    layers: Vec<&'static CStr>,
    extensions: Vec<&'static CStr>,
    portability: bool,
}

impl Instance {
    /// Loads Vulkan and makes an instance of version 1.2.
    pub fn new(options: &InstanceOptions) -> Result<Instance, InstanceError> {
        // SAFETY: loading the system's Vulkan loader runs its initializers, which is what every Vulkan program does.
        let entry = unsafe { ash::Entry::load() }.map_err(|e| InstanceError::NoLoader(e.to_string()))?;
        let log = Arc::new(CallLog::new(options.faults));
        let entries = EntryTable { entry, log: log.clone() };
        let version = entries.version()?;
        if version < vk::API_VERSION_1_2 {
            let (major, minor) = (vk::api_version_major(version), vk::api_version_minor(version));
            return Err(InstanceError::LoaderTooOld { major, minor });
        }
        let wanted = wanted(&entries, options.validation)?;
        let messages = Arc::new(MessageLog::default());
        let instance = create(&entries, &wanted, options.validation, &messages)?;
        let mut made = Instance {
            table: InstanceTable {
                matrices: ash::khr::cooperative_matrix::Instance::new(&entries.entry, &instance),
                instance,
                log: log.clone(),
            },
            messenger: None,
            messages,
            log,
            _entry: entries.entry,
        };
        if options.validation != Validation::Off {
            made.messenger = Some(made.create_messenger()?);
        }
        Ok(made)
    }

    fn create_messenger(
        &self,
    ) -> Result<(ext::debug_utils::Instance, vk::DebugUtilsMessengerEXT), CallError> {
        let functions = ext::debug_utils::Instance::new(&self._entry, &self.table.instance);
        let info = messenger_info(&self.messages);
        // SAFETY: the log in `info` is owned by this instance, which destroys the messenger first.
        let messenger = self.log.attempt(super::Call::CreateMessenger, || unsafe {
            functions.create_debug_utils_messenger(&info, None)
        })?;
        Ok((functions, messenger))
    }

    /// The log of calls.
    pub fn calls(&self) -> &Arc<CallLog> {
        &self.log
    }

    /// The validation layer's messages.
    pub fn messages(&self) -> &Arc<MessageLog> {
        &self.messages
    }

    /// What every physical device says of itself, in the loader's order.
    pub fn snapshots(&self) -> Result<Vec<Snapshot>, CallError> {
        self.physical_devices()?.into_iter().map(|d| take_snapshot(&self.table, d)).collect()
    }

    pub(super) fn physical_devices(&self) -> Result<Vec<vk::PhysicalDevice>, CallError> {
        self.table.physical_devices()
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        if self.log.forked() {
            return;
        }
        // SAFETY: every device made from this instance holds an `Arc` of it, so none is left; the messenger goes
        // first.
        unsafe {
            if let Some((functions, messenger)) = self.messenger.take() {
                functions.destroy_debug_utils_messenger(messenger, None);
            }
            self.table.instance.destroy_instance(None);
        }
    }
}

fn wanted(entries: &EntryTable, validation: Validation) -> Result<Wanted, InstanceError> {
    let mut wanted = Wanted { layers: Vec::new(), extensions: Vec::new(), portability: false };
    let has = |list: &[String], name: &CStr| list.iter().any(|n| n.as_bytes() == name.to_bytes());
    let extensions = entries.extensions(None)?;
    // Without it the loader hides drivers that are layered over another API (MoltenVK).
    if has(&extensions, khr::portability_enumeration::NAME) {
        wanted.extensions.push(khr::portability_enumeration::NAME);
        wanted.portability = true;
    }
    if validation == Validation::Off {
        return Ok(wanted);
    }
    if !has(&entries.layers()?, VALIDATION_LAYER) {
        return Err(InstanceError::NoValidationLayer);
    }
    let of_layer = entries.extensions(Some(VALIDATION_LAYER))?;
    for name in [ext::debug_utils::NAME, ext::validation_features::NAME] {
        if !has(&extensions, name) && !has(&of_layer, name) {
            return Err(InstanceError::NoValidationLayer);
        }
        wanted.extensions.push(name);
    }
    wanted.layers.push(VALIDATION_LAYER);
    Ok(wanted)
}

fn create(
    entries: &EntryTable,
    wanted: &Wanted,
    validation: Validation,
    messages: &MessageLog,
) -> Result<ash::Instance, InstanceError> {
    let application = vk::ApplicationInfo::default()
        .application_name(c"pumice")
        .engine_name(c"pumice")
        .api_version(vk::API_VERSION_1_2);
    let layers: Vec<_> = wanted.layers.iter().map(|n| n.as_ptr()).collect();
    let extensions: Vec<_> = wanted.extensions.iter().map(|n| n.as_ptr()).collect();
    let enabled: &[_] = match validation {
        Validation::Synchronization => &[vk::ValidationFeatureEnableEXT::SYNCHRONIZATION_VALIDATION],
        _ => &[],
    };
    let mut features = vk::ValidationFeaturesEXT::default().enabled_validation_features(enabled);
    let mut messenger = messenger_info(messages);
    let mut info = vk::InstanceCreateInfo::default()
        .application_info(&application)
        .enabled_layer_names(&layers)
        .enabled_extension_names(&extensions);
    if wanted.portability {
        info = info.flags(vk::InstanceCreateFlags::ENUMERATE_PORTABILITY_KHR);
    }
    if validation != Validation::Off {
        info = info.push_next(&mut features).push_next(&mut messenger);
    }
    // SAFETY: everything `info` points to lives until the end of this function; the message log is owned by the
    // instance that is being made.
    let made = unsafe { entries.create_instance(&info) };
    made.map_err(|error| match error {
        CallError::Failed { code, .. } if code.0 == vk::Result::ERROR_INCOMPATIBLE_DRIVER.as_raw() => {
            InstanceError::NoDriver
        }
        other => InstanceError::Call(other),
    })
}
