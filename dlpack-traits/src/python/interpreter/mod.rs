//! Access to the interpreter: symbols, pending exceptions, waiting and finalization.

pub(in crate::python) mod deferred_drop;
pub(in crate::python) mod detach;
pub(in crate::python) mod drop_attached;
pub(in crate::python) mod exit;
pub(in crate::python) mod first_interpreter;
pub(in crate::python) mod pending_exception;
pub(in crate::python) mod symbols;
