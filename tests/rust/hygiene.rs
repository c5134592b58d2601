//! The expansions compile whatever the names around them are.

mod hygiene {
    mod items;
    mod named_fields;
    mod names;
    mod parts;
}
