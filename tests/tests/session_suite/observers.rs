//! Who hears how far kernels are is code of the user, too: it may take its time, and use the device that makes them.
//!
//! The interpreter makes no kernels. A deadlock fails, as in `callbacks`.

use crate::callbacks::{LIMIT, graph, in_time, use_everything};
use crate::common::*;
use pumice_compile::Options;
use pumice_tests::Fixture;
use pumice_tests::graphs::vit::linear_residual;
use pumice_vulkan::{DeviceOptions, KernelObserver};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};

/// What the observer of a device calls next, and then no more: what it calls makes kernels itself.
#[derive(Clone, Default)]
struct Next(Arc<Mutex<Option<Call>>>);

type Call = Box<dyn FnOnce() + Send>;

impl Next {
    /// A device whose observer calls what is set.
    fn fixture(&self) -> Fixture {
        let next = self.clone();
        let observer: KernelObserver = Arc::new(move |_| {
            let call = next.0.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(call) = call {
                call();
            }
        });
        Fixture::vulkan_with(&DeviceOptions::default().observer(observer))
    }

    fn set(&self, call: impl FnOnce() + Send + 'static) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(call));
    }

    fn was_called(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }
}

mod on_device {
    use super::*;

    #[test]
    fn an_observer_uses_other_models_while_kernels_are_made() {
        let next = Next::default();
        let fixture = next.fixture();
        let own = fixture.executable(&linear_residual(), &Options::default());
        // Its kernels are made inside.
        let other = load(&fixture, &graph("other"));
        next.set(move || use_everything(&other, 20));
        in_time("an observer that uses models", || own.prepare().expect("prepared"));
        assert!(next.was_called());
        drop(own);
        fixture.gives_everything_back();
    }

    #[test]
    fn a_slow_observer_stops_nobody_else() {
        let next = Next::default();
        let fixture = next.fixture();
        let own = fixture.executable(&linear_residual(), &Options::default());
        let other = load(&fixture, &graph("other"));
        in_time("a slow observer", || {
            let ((called, hear), (say, go_on)) = (channel(), channel::<()>());
            next.set(move || {
                let _ = called.send(());
                let _ = go_on.recv();
            });
            std::thread::scope(|scope| {
                scope.spawn(|| own.prepare().expect("prepared"));
                hear.recv_timeout(LIMIT).expect("it is called");
                use_everything(&other, 20);
                drop(say);
            });
        });
        assert!(next.was_called());
        drop((own, other));
        fixture.gives_everything_back();
    }
}
