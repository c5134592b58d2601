//! The reference tables agree with the measurements: the consumers of docs/generated/interop.md, and
//! the features of the crate.
//!
//! `DLPACK_BLESS=1 cargo test -p dlpack-tests --test sources readme` rewrites it.
use std::fs;
use std::path::Path;

const BEGIN: &str = "<!-- consumers: from docs/generated/interop.md -->\n";
const END: &str = "<!-- end of consumers -->\n";

/// Whose `from_dlpack` is meant, as the page names it and as readers do.
const CONSUMERS: [(&str, &str); 13] = [
    ("numpy", "NumPy"),
    ("torch", "PyTorch"),
    ("jax", "JAX"),
    ("tvm_ffi", "tvm-ffi"),
    ("nanobind", "nanobind"),
    ("mlx", "MLX"),
    ("paddle", "Paddle"),
    ("tensorflow", "TensorFlow"),
    ("pyarrow", "pyarrow"),
    ("onnxruntime", "ONNX Runtime"),
    ("cuda.core", "cuda.core"),
    ("warp", "Warp"),
    ("dpnp", "dpnp (SYCL)"),
];

#[test]
fn the_listed_consumers_are_the_measured_ones() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let path = root.join("docs/reference.md");
    let reference = fs::read_to_string(&path).unwrap();
    let page = fs::read_to_string(root.join("docs/generated/interop.md")).unwrap();
    let (before, rest) = reference.split_once(BEGIN).expect("the table begins");
    let (_, after) = rest.split_once(END).expect("the table ends");
    let right = format!("{before}{BEGIN}{}{END}{after}", table(&page));
    if std::env::var_os("DLPACK_BLESS").is_some() {
        fs::write(&path, right).unwrap();
    } else {
        assert!(
            reference == right,
            "docs/generated/interop.md has changed; DLPACK_BLESS=1 writes it anew"
        );
    }
}

/// Both tables of features name all that there are.
#[test]
fn every_feature_is_listed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let read = |file: &str| fs::read_to_string(root.join(file)).unwrap();
    let manifest = read("dlpack-traits/Cargo.toml");
    let (_, rest) = manifest.split_once("[features]\n").expect("there are features");
    let (features, _) = rest.split_once("\n[").expect("a section follows");
    let names: Vec<_> = features
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(" = "))
        .map(|(name, _)| name)
        .filter(|name| *name != "default")
        .collect();
    assert!(names.len() > 10, "{names:?}");
    for page in ["docs/reference.md", "dlpack-traits/src/lib.rs"] {
        let text = read(page);
        for name in &names {
            let told = text.lines().any(|line| {
                line.trim_start_matches("//! ").starts_with('|')
                    && line.contains(&format!("`{name}`"))
            });
            assert!(told, "{page} does not list the feature `{name}`");
        }
    }
}

fn table(page: &str) -> String {
    let mut text = String::from(
        "| `from_dlpack` of | element types | `float32` zero-copy | copied | refused |\n|---|---|---|---|---|\n",
    );
    for (name, shown) in CONSUMERS {
        let rows = rows(page, name);
        let (columns, rows) = rows.split_first().expect(name);
        let ours: Vec<_> = rows.iter().filter(|row| has(row[1], "reference")).collect();
        let count = |taken: bool| -> usize {
            let rows = ours.iter().filter(|row| matches!(kind(row[2]), "same" | "copy") || !taken);
            rows.map(|row| row[0].split(", ").count()).sum()
        };
        let floats = ours.iter().find(|row| has(row[0], "float32")).expect(name);
        let layouts = |is_wanted: &dyn Fn(&str) -> bool| {
            let all = columns.iter().zip(floats.iter()).skip(2);
            let (named, others): (Vec<_>, Vec<_>) =
                all.map(|(column, cell)| (*column, kind(cell))).partition(|it| is_wanted(it.1));
            match (named.as_slice(), others.as_slice()) {
                ([], _) => String::new(),
                (_, []) => "every layout".to_owned(),
                (many, [(one, _)]) if many.len() > 1 => format!("all but {one}"),
                (many, [(one, _), (two, _)]) if many.len() > 2 => format!("all but {one}, {two}"),
                (few, _) => few.iter().map(shown_as).collect::<Vec<_>>().join(", "),
            }
        };
        let line = format!(
            "| {shown} {} | {} of {} | {} | {} | {} |\n",
            version(page, name),
            count(true),
            count(false),
            layouts(&|kind| kind == "same"),
            layouts(&|kind| kind == "copy"),
            layouts(&|kind| kind != "same" && kind != "copy")
        );
        text += &line;
    }
    text
}

/// Returns the text for a layout, and for its result where that is more than an error.
fn shown_as((layout, kind): &(&str, &str)) -> String {
    match *kind {
        "same" | "copy" | "refused" => (*layout).to_owned(),
        worse => format!("{layout} ({worse})"),
    }
}

/// Returns a cell without its remarks about other consumers.
fn kind(cell: &str) -> &str {
    cell.split(" (").next().unwrap_or(cell)
}

fn has(list: &str, name: &str) -> bool {
    list.split(", ").any(|word| word == name)
}

fn cells(line: &str) -> Vec<&str> {
    line.trim_matches('|').split('|').map(str::trim).collect()
}

/// The heads of the columns, and the rows below them.
fn rows<'a>(page: &'a str, name: &str) -> Vec<Vec<&'a str>> {
    let heading = format!("## From the class into {name}\n");
    let (_, rest) = page.split_once(&heading).expect("the page has that consumer");
    let lines = rest.lines().skip(1).take_while(|line| line.starts_with('|'));
    lines.filter(|line| !line.starts_with("|--")).map(cells).collect()
}

fn version<'a>(page: &'a str, name: &str) -> &'a str {
    let row = page.lines().find(|line| line.starts_with(&format!("| {name} | ")));
    cells(row.expect("the page has its version"))[1]
}

/// mypy and pyright check the stub of the template, which the tool generates.
#[test]
fn the_stub_of_the_guide_equals_a_generated_one() {
    let method = |text: &str| {
        let (_, from) = text.split_once("def __dlpack__(").expect("a method");
        let (method, _) = from.split_once("-> Any: ...").expect("its end");
        method.lines().map(str::trim).collect::<Vec<_>>().join(" ")
    };
    let guide = include_str!("../../../dlpack-traits/src/guide/python_class.md");
    let (_, stub) = guide.split_once("class Image:").expect("a stub");
    let tool = include_str!("../../../tools/doctor/python/dlpack_doctor/stubs.py");
    assert_eq!(method(stub), method(tool));
}
