//! What the compiler says to users of `dlpack-derive`.
