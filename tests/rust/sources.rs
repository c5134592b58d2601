//! The sources and pages themselves. Each test reads text and touches no memory.

#![cfg(not(miri))]

mod sources {
    mod api;
    mod architecture;
    mod budget;
    mod imports;
    mod pages;
    mod text;
}
