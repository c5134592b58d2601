//! Sources with all mutants in them, each behind its switch.

use std::collections::BTreeMap;
use std::ops::Range;

use proc_macro2::LineColumn;
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

use crate::list::{Genre, Mutant, Place};
use crate::switch::on;

/// A changed file, and where in it each mistake is.
pub(crate) struct Changed {
    pub(crate) text: String,
    /// Bytes of the text, by numbers of mutants.
    pub(crate) places: Vec<(usize, Range<usize>)>,
    /// The whole bodies of functions that a mutant returns from early, by its number.
    pub(crate) bodies: Vec<(usize, Range<usize>)>,
}

/// One mistake at a place of the source.
struct Edit {
    number: usize,
    /// The text that is replaced while the switch is on; empty for guards of arms without one.
    range: Range<usize>,
    kind: Kind,
}

enum Kind {
    /// A statement before the first of a function, whose body is the range.
    Return(String),
    /// An expression for the one in the range.
    Instead(String),
    /// A guard on an arm without one.
    Guard,
    /// A guard beside the one in the range.
    AndGuard,
}

/// Writes the mistakes of one file into its text. Mutants without a place are
/// marked.
pub(crate) fn rewrite(text: &str, mutants: &mut [(usize, &mut Mutant)]) -> Result<Changed, String> {
    let syntax = syn::parse_file(text).map_err(|error| error.to_string())?;
    let lines = Lines::of(text);
    let mut found = Found::new(&lines);
    found.visit_file(&syntax);
    let mut edits = Vec::new();
    for (number, mutant) in mutants {
        let start = lines.place(mutant.span.start);
        let end = lines.place(mutant.span.end);
        mutant.constant = found.constants.iter().any(|range| range.contains(&start));
        mutant.line = text[lines.line_of(mutant.span.start.line)].trim().to_owned();
        let edit = match mutant.genre {
            Genre::FnValue => Some((start..end, Kind::Return(mutant.replacement.clone()))),
            Genre::BinaryOperator => found.binary.get(&start).map(|(whole, left, right)| {
                let (left, right) = (&text[left.clone()], &text[right.clone()]);
                let mistake = format!("({left}) {} ({right})", mutant.replacement);
                (whole.clone(), Kind::Instead(mistake))
            }),
            Genre::UnaryOperator => found.unary.get(&start).map(|(whole, operand)| {
                let mistake = format!("{} ({})", mutant.replacement, &text[operand.clone()]);
                (whole.clone(), Kind::Instead(mistake))
            }),
            Genre::MatchArmGuard => Some((start..end, Kind::Instead(mutant.replacement.clone()))),
            Genre::MatchArm => found.arms.get(&start).map(|(pattern, guard)| match guard {
                Some(guard) => (guard.clone(), Kind::AndGuard),
                None => (pattern.end..pattern.end, Kind::Guard),
            }),
            Genre::StructField => found.fields.get(&start).map(|(value, field, rest)| {
                let mistake = format!("({}).{field}", &text[rest.clone()]);
                (value.clone(), Kind::Instead(mistake))
            }),
        };
        match edit {
            Some((range, kind)) => edits.push(Edit { number: *number, range, kind }),
            None => mutant.unviable = true,
        }
    }
    Ok(write(text, &edits))
}

/// Insertions at one offset, from the inside out: before the text by falling length of
/// the range that they enclose, after it by rising length.
fn write(text: &str, edits: &[Edit]) -> Changed {
    let mut by_range: BTreeMap<(usize, usize), Vec<&Edit>> = BTreeMap::new();
    for edit in edits {
        by_range.entry((edit.range.start, edit.range.end)).or_default().push(edit);
    }
    // (offset, order, text, the number of the mutant, if it is one's own)
    let mut pieces: Vec<(usize, (u8, isize), String, Option<usize>)> = Vec::new();
    for ((start, end), edits) in by_range {
        let length = isize::try_from(end - start).unwrap_or(isize::MAX);
        let before = (2, -length);
        let mut wraps = 0;
        for edit in &edits {
            let number = edit.number;
            let asked = on(number);
            match &edit.kind {
                Kind::Return(value) => {
                    let text = format!("if {asked} {{ return {value}; }} ");
                    pieces.push((start, (1, 0), text, Some(number)));
                }
                Kind::Instead(mistake) => {
                    let text = format!("(if {asked} {{ {mistake} }} else {{ ");
                    pieces.push((start, before, text, Some(number)));
                    wraps += 1;
                }
                Kind::Guard => {
                    pieces.push((start, (0, 0), format!(" if !{asked}"), Some(number)));
                }
                Kind::AndGuard => {
                    pieces.push((start, before, format!("(!{asked} && ("), Some(number)));
                    pieces.push((end, (0, length), "))".to_owned(), None));
                }
            }
        }
        if wraps > 0 {
            pieces.push((end, (0, length), " })".repeat(wraps), None));
        }
    }
    pieces.sort_by_key(|(offset, order, ..)| (*offset, *order));
    let mut changed = Changed { text: String::new(), places: Vec::new(), bodies: Vec::new() };
    let mut at = 0;
    // Offsets before, and by how many bytes the text from there on has moved.
    let mut moved = vec![(0, 0)];
    for (offset, _, piece, number) in pieces {
        changed.text.push_str(&text[at..offset]);
        at = offset;
        let start = changed.text.len();
        changed.text.push_str(&piece);
        if let Some(number) = number {
            changed.places.push((number, start..changed.text.len()));
        }
        moved.push((offset, changed.text.len() - offset));
    }
    changed.text.push_str(&text[at..]);
    for edit in edits.iter().filter(|edit| matches!(edit.kind, Kind::Return(_))) {
        let start = changed.places.iter().find(|(number, _)| *number == edit.number);
        let before = moved.partition_point(|(offset, _)| *offset <= edit.range.end);
        let end = edit.range.end + moved[before - 1].1;
        changed.bodies.extend(start.map(|(number, place)| (*number, place.start..end)));
    }
    changed
}

/// Where lines begin.
struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn of(text: &'a str) -> Self {
        let breaks = text.match_indices('\n').map(|(at, _)| at + 1);
        Self { text, starts: std::iter::once(0).chain(breaks).collect() }
    }

    fn line_of(&self, line: usize) -> Range<usize> {
        let end = self.starts.get(line).copied().unwrap_or(self.text.len());
        self.starts[line - 1]..end
    }

    /// The offset of a character, counted from 0.
    fn offset(&self, line: usize, column: usize) -> usize {
        let line = &self.line_of(line);
        let text = &self.text[line.clone()];
        let column = text.char_indices().nth(column).map_or(text.len(), |(at, _)| at);
        line.start + column
    }

    fn place(&self, place: Place) -> usize {
        self.offset(place.line, place.column - 1)
    }

    fn range(&self, span: proc_macro2::Span) -> Range<usize> {
        let at = |place: LineColumn| self.offset(place.line, place.column);
        at(span.start())..at(span.end())
    }
}

/// Expressions, by the offset at which `cargo-mutants` names them.
struct Found<'a> {
    lines: &'a Lines<'a>,
    /// By the operator: the whole and both sides.
    binary: BTreeMap<usize, (Range<usize>, Range<usize>, Range<usize>)>,
    /// By the operator: the whole and the operand.
    unary: BTreeMap<usize, (Range<usize>, Range<usize>)>,
    /// By the arm: its pattern and its guard.
    arms: BTreeMap<usize, (Range<usize>, Option<Range<usize>>)>,
    /// By the field: its value, its name and the rest of the struct.
    fields: BTreeMap<usize, (Range<usize>, String, Range<usize>)>,
    /// Code that the compiler evaluates, or may evaluate.
    constants: Vec<Range<usize>>,
}

impl<'a> Found<'a> {
    fn new(lines: &'a Lines<'a>) -> Self {
        let (binary, unary) = Default::default();
        let (arms, fields) = Default::default();
        Self { lines, binary, unary, arms, fields, constants: Vec::new() }
    }

    /// Code that the compiler runs, or may.
    fn constant(&mut self, code: &impl syn::spanned::Spanned) {
        self.constants.push(self.lines.range(code.span()));
    }
}

impl Visit<'_> for Found<'_> {
    fn visit_item_const(&mut self, item: &syn::ItemConst) {
        self.constant(item);
        visit::visit_item_const(self, item);
    }

    fn visit_item_static(&mut self, item: &syn::ItemStatic) {
        self.constant(item);
        visit::visit_item_static(self, item);
    }

    fn visit_impl_item_const(&mut self, item: &syn::ImplItemConst) {
        self.constant(item);
        visit::visit_impl_item_const(self, item);
    }

    fn visit_trait_item_const(&mut self, item: &syn::TraitItemConst) {
        self.constant(item);
        visit::visit_trait_item_const(self, item);
    }

    fn visit_item_fn(&mut self, item: &syn::ItemFn) {
        if item.sig.constness.is_some() {
            self.constant(item);
        }
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &syn::ImplItemFn) {
        if item.sig.constness.is_some() {
            self.constant(item);
        }
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_expr_const(&mut self, expr: &syn::ExprConst) {
        self.constant(expr);
        visit::visit_expr_const(self, expr);
    }

    fn visit_expr_repeat(&mut self, expr: &syn::ExprRepeat) {
        self.constant(&expr.len);
        visit::visit_expr_repeat(self, expr);
    }

    // Lengths of arrays and arguments that are numbers.
    fn visit_type(&mut self, ty: &syn::Type) {
        self.constant(ty);
        visit::visit_type(self, ty);
    }

    fn visit_generic_argument(&mut self, argument: &syn::GenericArgument) {
        self.constant(argument);
        visit::visit_generic_argument(self, argument);
    }

    fn visit_variant(&mut self, variant: &syn::Variant) {
        self.constant(variant);
        visit::visit_variant(self, variant);
    }

    fn visit_expr_binary(&mut self, expr: &syn::ExprBinary) {
        let whole = self.lines.range(expr.span());
        let sides = (self.lines.range(expr.left.span()), self.lines.range(expr.right.span()));
        let operator = self.lines.range(expr.op.span()).start;
        self.binary.insert(operator, (whole, sides.0, sides.1));
        visit::visit_expr_binary(self, expr);
    }

    fn visit_expr_unary(&mut self, expr: &syn::ExprUnary) {
        let whole = self.lines.range(expr.span());
        let operand = self.lines.range(expr.expr.span());
        self.unary.insert(self.lines.range(expr.op.span()).start, (whole, operand));
        visit::visit_expr_unary(self, expr);
    }

    fn visit_arm(&mut self, arm: &syn::Arm) {
        let pattern = self.lines.range(arm.pat.span());
        let guard = match &arm.pat {
            syn::Pat::Guard(pattern) => Some(self.lines.range(pattern.guard.span())),
            _ => None,
        };
        self.arms.insert(self.lines.range(arm.span()).start, (pattern, guard));
        visit::visit_arm(self, arm);
    }

    fn visit_expr_struct(&mut self, expr: &syn::ExprStruct) {
        if let Some(rest) = &expr.rest {
            let rest = self.lines.range(rest.span());
            for field in &expr.fields {
                let start = self.lines.range(field.span()).start;
                let syn::Member::Named(name) = &field.member else { continue };
                if field.colon_token.is_none() {
                    continue;
                }
                let value = self.lines.range(field.expr.span());
                self.fields.insert(start, (value, name.to_string(), rest.clone()));
            }
        }
        visit::visit_expr_struct(self, expr);
    }
}

#[cfg(test)]
mod tests {
    use super::{Edit, Kind, write};

    /// The body ends behind the insertions in it, and before the next function.
    #[test]
    fn body_of_an_early_return_covers_the_whole_function() {
        let text = "fn a() -> i32 { 1 + 2 } fn b() -> i32 { 3 }";
        let (a, b) = (text.find("1 + 2").unwrap(), text.find('3').unwrap());
        let edit = |number, range, kind| Edit { number, range, kind };
        let edits = [
            edit(1, a..a + 5, Kind::Return("0".to_owned())),
            edit(2, a..a + 5, Kind::Instead("1 - 2".to_owned())),
            edit(3, b..b + 1, Kind::Return("0".to_owned())),
        ];
        let changed = write(text, &edits);
        let body = |index: usize| {
            let (number, range) = &changed.bodies[index];
            (*number, &changed.text[range.clone()])
        };
        let first = "if crate::switch::on(1) { return 0; } \
                     (if crate::switch::on(2) { 1 - 2 } else { 1 + 2 })";
        assert_eq!(body(0), (1, first));
        assert_eq!(body(1), (3, "if crate::switch::on(3) { return 0; } 3"));
    }
}
