//! Collects errors, so that one build reports all of them.

use core::cell::RefCell;
use std::thread;

use proc_macro2::Span;
use quote::ToTokens;

use crate::attributes::Direction;

/// The span for an error about these tokens: that of the first one, because not every compiler
/// underlines them all.
pub(crate) fn first_token(tokens: &impl ToTokens) -> Span {
    let first = tokens.to_token_stream().into_iter().next();
    first.map_or_else(Span::call_site, |token| token.span())
}

/// The errors found so far.
///
/// Parsers push an error and continue. A caller that makes a context must
/// [`finish`](Self::finish) it: dropping it otherwise is a bug of this crate,
/// and panics.
pub(crate) struct Ctxt {
    /// Whether the current derive exports or imports.
    direction: Direction,
    /// `None` once finished.
    errors: RefCell<Option<Vec<syn::Error>>>,
}

impl Ctxt {
    pub(crate) fn new(direction: Direction) -> Self {
        Self { direction, errors: RefCell::new(Some(Vec::new())) }
    }

    /// Whether the current derive exports or imports.
    pub(crate) fn direction(&self) -> Direction {
        self.direction
    }

    /// Adds an error.
    pub(crate) fn push(&self, error: syn::Error) {
        if let Some(errors) = self.errors.borrow_mut().as_mut() {
            errors.push(error);
        }
    }

    /// The number of errors so far.
    pub(crate) fn count(&self) -> usize {
        self.errors.borrow().as_ref().map_or(0, Vec::len)
    }

    /// Returns the value, if there were no errors.
    pub(crate) fn finish<T>(self, value: Option<T>) -> Result<T, syn::Error> {
        let errors = self.errors.take().unwrap_or_default();
        let combined = errors.into_iter().reduce(|mut all, next| {
            all.combine(next);
            all
        });
        match (combined, value) {
            (Some(errors), _) => Err(errors),
            (None, Some(value)) => Ok(value),
            (None, None) => unreachable!("a struct was refused without a reason"),
        }
    }
}

impl Drop for Ctxt {
    fn drop(&mut self) {
        assert!(
            self.errors.get_mut().is_none() || thread::panicking(),
            "a context was dropped without a look at its errors"
        );
    }
}
