//! The sources and pages themselves. Each test reads text and touches no memory.

#![cfg(not(miri))]

mod sources {
    mod api;
    mod architecture;
    mod attribute_reference;
    mod budget;
    mod named_classes;
    mod quoted;
    mod readme;
}
