//! What the compiler says to users of `dlpack-derive`. Everything is in `ui/`
//! and `tests/`; `docs/ERRORS.md` says how to add a case.
