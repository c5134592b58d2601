//! The names in a C header: [`Names`].

use std::collections::BTreeSet;

/// The names that `dlpack.h` defines.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// `DLPACK_...` macros with a value, and enumerators.
    pub(crate) constants: BTreeSet<String>,
    /// Structs and function types.
    pub(crate) types: BTreeSet<String>,
    /// `Type.field`.
    pub(crate) fields: BTreeSet<String>,
}

impl Names {
    /// Reads a header that is written as `dlpack.h` is: type definitions that do
    /// not nest, one declarator each.
    pub(crate) fn of(header: &str) -> Self {
        let mut names = Self::default();
        let text = without_comments(header);
        for line in text.lines() {
            let mut words = line.split_whitespace();
            if let (Some("#define"), Some(name), Some(_)) =
                (words.next(), words.next(), words.next())
            {
                // `DLPACK_EXTERN_C "C"` and the attributes of the DLL are not part of the
                // ABI.
                if name.starts_with("DLPACK_") && !matches!(name, "DLPACK_EXTERN_C" | "DLPACK_DLL")
                {
                    names.constants.insert(name.to_owned());
                }
            }
        }
        let code: String =
            text.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n");
        // The C++ branch of the enum opens a second one; the rest is common.
        let code = code.replace("typedef enum : int32_t {", "");
        let mut rest = code.as_str();
        while let Some((_, definition)) = rest.split_once("typedef ") {
            rest = names.definition(definition);
        }
        names
    }

    /// Reads one `typedef`; returns the rest of the text.
    fn definition<'a>(&mut self, text: &'a str) -> &'a str {
        let (Some(brace), Some(semicolon)) = (text.find('{'), text.find(';')) else {
            return self.function(text);
        };
        if semicolon < brace {
            return self.function(text);
        }
        let (head, rest) = text.split_once('{').expect("just found");
        let (body, rest) = rest.split_once('}').expect("a closed body");
        let (name, rest) = rest.split_once(';').expect("a name");
        let name = name.trim();
        if head.starts_with("enum") {
            for enumerator in body.split(',').map(str::trim).filter(|text| !text.is_empty()) {
                self.constants.insert(identifier(enumerator).to_owned());
            }
        } else {
            self.types.insert(name.to_owned());
            for field in body.split(';').map(str::trim).filter(|text| !text.is_empty()) {
                self.fields.insert(format!("{name}.{}", declared(field)));
            }
        }
        rest
    }

    fn function<'a>(&mut self, text: &'a str) -> &'a str {
        let (definition, rest) = text.split_once(';').expect("an end");
        self.types.insert(declared(definition).to_owned());
        rest
    }
}

/// The name that `int *(name)(int x)` or `struct X* name` declares.
fn declared(declaration: &str) -> &str {
    if let Some((_, pointer)) = declaration.split_once("(*") {
        return identifier(pointer.trim_start());
    }
    let end = declaration.trim_end();
    let start = end.rfind(|c: char| !is_word(c)).map_or(0, |at| at + 1);
    &end[start..]
}

fn identifier(text: &str) -> &str {
    &text[..text.find(|c| !is_word(c)).unwrap_or(text.len())]
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn without_comments(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, comment)) = rest.split_once("/*") {
        kept.push_str(before);
        rest = comment.split_once("*/").expect("a closed comment").1;
    }
    kept.push_str(rest);
    kept.lines().map(|line| line.split("//").next().unwrap_or(line)).collect::<Vec<_>>().join("\n")
}
