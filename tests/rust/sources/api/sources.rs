//! The sources of `dlpack-traits` as syntax: [`Sources`].

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::visit::{self, Visit};
use syn::{
    Attribute, File, FnArg, GenericArgument, ImplItem, Item, ItemImpl, ItemMod, ItemStatic,
    ItemStruct, ItemTrait, PathArguments, Signature, TraitItem, Type, Visibility,
};

/// All files, without their unit tests.
pub(crate) struct Sources(Vec<(String, File)>);

/// A function, also in a trait or of a type.
pub(crate) struct Function {
    /// File, type and name.
    pub(crate) name: String,
    /// Whether users can call it, by its own visibility.
    pub(crate) is_public: bool,
    pub(crate) is_unsafe: bool,
    /// As an argument, or inside of one.
    pub(crate) takes_a_pointer: bool,
}

/// A struct.
pub(crate) struct Struct {
    pub(crate) module: String,
    pub(crate) name: String,
    pub(crate) has_public_fields: bool,
}

impl Struct {
    /// With its module.
    pub(crate) fn path(&self) -> String {
        format!("{}::{}", self.module, self.name)
    }
}

/// A trait, and a type that implements it.
pub(crate) struct Implementation {
    pub(crate) module: String,
    pub(crate) what: String,
    pub(crate) of: String,
}

impl Implementation {
    /// The type, with the module of the implementation, which is the type's own
    /// wherever it matters.
    pub(crate) fn path(&self) -> String {
        format!("{}::{}", self.module, self.of)
    }
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.meta.to_token_stream().to_string().contains("(test)")
    })
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// Returns the last segment of a type's path, without its generic arguments.
fn name_of(ty: &Type) -> String {
    match ty {
        Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()),
        Type::Reference(reference) => Some(name_of(&reference.elem)),
        _ => None,
    }
    .unwrap_or_else(|| ty.to_token_stream().to_string())
}

impl Sources {
    pub(crate) fn read() -> Self {
        fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
            for entry in fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    walk(&path, found);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    found.push(path);
                }
            }
        }
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dlpack-traits/src");
        let mut paths = Vec::new();
        walk(&root, &mut paths);
        // `#[cfg(test)] mod tests;` in a file of its own.
        paths.retain(|path| path.file_name().is_none_or(|name| name != "tests.rs"));
        paths.sort();
        let files = paths.into_iter().map(|path| {
            let text = fs::read_to_string(&path).expect("a file");
            let mut file = syn::parse_file(&text).expect("Rust");
            file.items.retain(|item| !matches!(item, Item::Mod(module) if is_test(&module.attrs)));
            let inside = path.strip_prefix(&root).expect("inside").with_extension("");
            let module = inside.to_string_lossy().replace(['/', '\\'], "::");
            (module.trim_end_matches("::mod").to_owned(), file)
        });
        Self(files.collect())
    }

    /// Runs a visitor over every file.
    fn visit<'a, V: Visit<'a>>(&'a self, mut visitor: impl FnMut(&'a str) -> V) -> Vec<V> {
        let files = self.0.iter().map(|(module, file)| {
            let mut visitor = visitor(module);
            visitor.visit_file(file);
            visitor
        });
        files.collect()
    }

    pub(crate) fn functions(&self) -> Vec<Function> {
        let visitors = self.visit(|module| Functions { module, found: Vec::new() });
        visitors.into_iter().flat_map(|visitor| visitor.found).collect()
    }

    pub(crate) fn structs(&self) -> Vec<Struct> {
        let visitors = self.visit(|module| Structs { module, found: Vec::new() });
        let items = visitors.into_iter().flat_map(|visitor| {
            let module = visitor.module.to_owned();
            visitor.found.into_iter().map(move |item| (module.clone(), item))
        });
        items
            .map(|(module, item)| Struct {
                module,
                name: item.ident.to_string(),
                has_public_fields: is_public(&item.vis)
                    && item.fields.iter().any(|field| is_public(&field.vis)),
            })
            .collect()
    }

    /// Returns traits and the types that implement them, derived or by hand.
    pub(crate) fn implementations(&self) -> Vec<Implementation> {
        let mut found = Vec::new();
        for visitor in self.visit(|module| Impls { module, found: Vec::new() }) {
            for item in visitor.found {
                if let Some((path, _)) = &item.trait_ {
                    let what = path.segments.last().expect("a name").ident.to_string();
                    let (module, of) = (visitor.module.to_owned(), name_of(&item.self_ty));
                    found.push(Implementation { module, what, of });
                }
            }
        }
        for visitor in self.visit(|module| Structs { module, found: Vec::new() }) {
            for item in visitor.found {
                for attribute in item.attrs.iter().filter(|attr| attr.path().is_ident("derive")) {
                    let words = attribute.meta.to_token_stream().to_string();
                    for word in words.split(|c: char| !c.is_alphanumeric()) {
                        let (module, of) = (visitor.module.to_owned(), item.ident.to_string());
                        found.push(Implementation { module, what: word.to_owned(), of });
                    }
                }
            }
        }
        found
    }

    /// Returns the sources of conversions, and the resulting types.
    pub(crate) fn conversions(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        for visitor in self.visit(|module| Impls { module, found: Vec::new() }) {
            for item in visitor.found {
                let Some((path, _)) = &item.trait_ else { continue };
                let last = path.segments.last().expect("a name");
                if let ("From" | "TryFrom" | "Into", PathArguments::AngleBracketed(from)) =
                    (&*last.ident.to_string(), &last.arguments)
                {
                    found.push((from.to_token_stream().to_string(), name_of(&item.self_ty)));
                }
            }
        }
        found
    }

    /// Returns types, and the types that they can be borrowed as.
    pub(crate) fn targets(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        for visitor in self.visit(|module| Impls { module, found: Vec::new() }) {
            for item in visitor.found {
                let Some((path, _)) = &item.trait_ else { continue };
                let last = path.segments.last().expect("a name");
                let of = name_of(&item.self_ty);
                match (&*last.ident.to_string(), &last.arguments) {
                    ("Deref", _) => found.extend(item.items.iter().filter_map(|item| match item {
                        ImplItem::Type(target) => Some((of.clone(), name_of(&target.ty))),
                        _ => None,
                    })),
                    (
                        "AsRef" | "AsMut" | "Borrow" | "BorrowMut",
                        PathArguments::AngleBracketed(target),
                    ) => found.extend(target.args.iter().filter_map(|target| match target {
                        GenericArgument::Type(target) => Some((of.clone(), name_of(target))),
                        _ => None,
                    })),
                    _ => {}
                }
            }
        }
        found
    }

    /// Types with a `Drop` of their own, and those that hold one by value or by
    /// `&mut`; each with its module.
    pub(crate) fn owners(&self) -> BTreeSet<String> {
        let implementations = self.implementations();
        let drops = implementations.iter().filter(|item| item.what == "Drop");
        let mut owners: BTreeSet<String> = drops.map(Implementation::path).collect();
        let structs: Vec<(String, &ItemStruct)> = self
            .visit(|module| Structs { module, found: Vec::new() })
            .into_iter()
            .flat_map(|visitor| {
                visitor.found.into_iter().map(move |item| (visitor.module.to_owned(), item))
            })
            .collect();
        // Where several types have one name, it is that of the module itself.
        let names: BTreeSet<String> =
            structs.iter().map(|(module, item)| format!("{module}::{}", item.ident)).collect();
        let owns = |owners: &BTreeSet<String>, module: &str, name: &str| {
            let own = format!("{module}::{name}");
            if names.contains(&own) {
                owners.contains(&own)
            } else {
                owners.iter().any(|owner| owner.ends_with(&format!("::{name}")))
            }
        };
        loop {
            let before = owners.len();
            for (module, item) in &structs {
                let holds = item.fields.iter().any(|field| match &field.ty {
                    Type::Reference(to) if to.mutability.is_none() => false,
                    Type::Reference(to) => owns(&owners, module, &name_of(&to.elem)),
                    ty => owns(&owners, module, &name_of(ty)),
                });
                if holds {
                    owners.insert(format!("{module}::{}", item.ident));
                }
            }
            if owners.len() == before {
                return owners;
            }
        }
    }

    /// Returns every place where one of these words is in the code.
    pub(crate) fn words(&self, unwanted: &[&str]) -> Vec<String> {
        fn search(tokens: TokenStream, unwanted: &[&str], found: &mut BTreeSet<String>) {
            for token in tokens {
                match token {
                    TokenTree::Group(group) => search(group.stream(), unwanted, found),
                    TokenTree::Ident(word) if unwanted.iter().any(|unwanted| word == unwanted) => {
                        found.insert(word.to_string());
                    }
                    _ => {}
                }
            }
        }
        let mut wrong = Vec::new();
        for (module, file) in &self.0 {
            let mut found = BTreeSet::new();
            search(file.to_token_stream(), unwanted, &mut found);
            wrong.extend(found.into_iter().map(|word| format!("{module} names {word}")));
        }
        wrong
    }

    /// Statics that can change.
    pub(crate) fn mutable_statics(&self) -> Vec<String> {
        let visitors = self.visit(|module| Statics { module, found: Vec::new() });
        let changes = |item: &ItemStatic| {
            let ty = item.ty.to_token_stream().to_string();
            !matches!(item.mutability, syn::StaticMutability::None)
                || ["Atomic", "Cell", "Lock", "Mutex", "Once"].iter().any(|word| ty.contains(word))
        };
        let found = visitors.into_iter().flat_map(|visitor| {
            let module = visitor.module;
            visitor.found.into_iter().map(move |item| (module, item))
        });
        found
            .filter(|(_, item)| changes(item))
            .map(|(module, item)| format!("{module}::{}", item.ident))
            .collect()
    }
}

macro_rules! collector {
    ($name:ident, $item:ty, $visit:ident) => {
        struct $name<'a> {
            #[allow(dead_code, reason = "not every question is about the module")]
            module: &'a str,
            found: Vec<&'a $item>,
        }

        impl<'a> Visit<'a> for $name<'a> {
            fn $visit(&mut self, item: &'a $item) {
                self.found.push(item);
                visit::$visit(self, item);
            }

            fn visit_item_mod(&mut self, item: &'a ItemMod) {
                if !is_test(&item.attrs) {
                    visit::visit_item_mod(self, item);
                }
            }
        }
    };
}

collector!(Structs, ItemStruct, visit_item_struct);
collector!(Impls, ItemImpl, visit_item_impl);
collector!(Statics, ItemStatic, visit_item_static);

struct Functions<'a> {
    module: &'a str,
    found: Vec<Function>,
}

impl Functions<'_> {
    fn add(&mut self, of: &str, signature: &Signature, is_public: bool) {
        let arguments = signature.inputs.iter().filter_map(|argument| match argument {
            FnArg::Typed(argument) => Some(&*argument.ty),
            FnArg::Receiver(_) => None,
        });
        let mut pointers = Pointers(false);
        arguments.for_each(|ty| pointers.visit_type(ty));
        self.found.push(Function {
            name: format!("{}::{of}{}", self.module, signature.ident),
            is_public,
            is_unsafe: signature.to_token_stream().to_string().contains("unsafe "),
            takes_a_pointer: pointers.0,
        });
    }
}

impl<'a> Visit<'a> for Functions<'a> {
    fn visit_item_fn(&mut self, item: &'a syn::ItemFn) {
        self.add("", &item.sig, is_public(&item.vis));
    }

    fn visit_item_impl(&mut self, item: &'a ItemImpl) {
        let of = format!("{}::", name_of(&item.self_ty));
        for function in &item.items {
            if let ImplItem::Fn(function) = function {
                // The parameters of a trait's methods are checked where the trait is
                // defined.
                let public = item.trait_.is_none() && is_public(&function.vis);
                self.add(&of, &function.sig, public);
            }
        }
    }

    fn visit_item_trait(&mut self, item: &'a ItemTrait) {
        for function in &item.items {
            if let TraitItem::Fn(function) = function {
                self.add(&format!("{}::", item.ident), &function.sig, is_public(&item.vis));
            }
        }
    }
}

/// Whether a type has an address in it.
struct Pointers(bool);

impl<'a> Visit<'a> for Pointers {
    fn visit_type_ptr(&mut self, _: &'a syn::TypePtr) {
        self.0 = true;
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        self.0 |= path.segments.iter().any(|segment| segment.ident == "NonNull");
        visit::visit_path(self, path);
    }

    fn visit_type_fn_ptr(&mut self, _: &'a syn::TypeFnPtr) {
        // The arguments of a callback are checked where it is called.
    }
}
