//! How errors show themselves. In: a type that has a `Display`. Out: a `Debug` that says the same: `main` returns
//! errors, and `expect` panics with them, so what people read there is the sentence and not the fields.

/// Implements `Debug` of an error by its `Display`.
///
/// ```
/// #[derive(thiserror::Error)]
/// #[error("`{0}` is no number")]
/// struct NoNumber(String);
/// pumice_types::debug_as_display!(NoNumber);
///
/// assert_eq!(format!("{:?}", NoNumber("x".into())), "`x` is no number");
/// ```
#[macro_export]
macro_rules! debug_as_display {
    ($($error:ty),+ $(,)?) => {$(
        impl ::std::fmt::Debug for $error {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                ::std::fmt::Display::fmt(self, f)
            }
        }
    )+};
}
