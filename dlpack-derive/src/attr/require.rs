//! The requirements of `require(...)` on an imported tensor.

use proc_macro2::{Ident, TokenStream, TokenTree};
use syn::parse::Parser as _;
use syn::{LitInt, Path};

use super::item::{Item, Value};
use super::parse;
use super::value::{self, ConstDType, ConstOrder};
use super::words::{self, Node};
use crate::ctxt::Ctxt;
use crate::{attributes, message};

/// The requirements on a tensor. The tensor must match one entry of each list
/// that is not empty.
#[derive(Default)]
pub(crate) struct Require {
    pub(crate) devices: Vec<&'static str>,
    pub(crate) dtypes: Vec<ConstDType>,
    pub(crate) ranks: Vec<LitInt>,
    pub(crate) contiguous: Option<ConstOrder>,
}

/// The kinds of devices, under the names that `dlpack_traits` prints.
const KINDS: [&str; 19] = [
    "ascend",
    "cpu",
    "cuda",
    "cuda_host",
    "cuda_managed",
    "ext_dev",
    "hexagon",
    "maia",
    "metal",
    "oneapi",
    "opencl",
    "rocm",
    "rocm_host",
    "tpu",
    "tpu_host",
    "trn",
    "vpi",
    "vulkan",
    "webgpu",
];

/// The possible keys.
const ASKED: [&str; 4] =
    [attributes::DEVICE, attributes::DTYPE, attributes::RANK, attributes::CONTIGUOUS];

/// The constraints of `require(device = cpu, rank = 3)`.
pub(super) fn require(cx: &Ctxt, item: &Item) -> Require {
    let mut require = Require::default();
    let Value::List(list) = &item.value else {
        cx.push(message::expected_requirements(item.place()));
        return require;
    };
    let before = cx.count();
    let items = parse::items_in(cx, list.stream(), &ASKED);
    if items.is_empty() && cx.count() == before {
        cx.push(message::expected_requirements(list.span()));
    }
    let unknown = |item: &Item| message::unknown_requirement(&item.key);
    let node = Node { name: &item.key, words: &ASKED, unknown: &unknown };
    words::distinct(cx, items, &node, |item| match item.word().as_str() {
        attributes::DEVICE => require.devices = one_or_more(cx, &item, device),
        attributes::DTYPE => {
            let dtype = |tokens| dtype(cx, tokens);
            require.dtypes = one_or_more(cx, &item, dtype).into_iter().flatten().collect();
        }
        attributes::RANK => require.ranks = one_or_more(cx, &item, rank),
        _ => require.contiguous = order(cx, &item),
    });
    require
}

/// The values of `key = value` or `key(value, value)`.
fn one_or_more<T>(
    cx: &Ctxt,
    item: &Item,
    read: impl Fn(TokenStream) -> Result<T, Option<TokenTree>>,
) -> Vec<T> {
    let (tokens, place) = item.assigned_or_listed();
    let mut values = Vec::new();
    let mut tokens = tokens.into_iter().peekable();
    loop {
        let value = parse::up_to_comma(&mut tokens);
        let first = value.clone().into_iter().next();
        match read(value) {
            Ok(value) => values.push(value),
            Err(found) => {
                let found = found.or(first);
                cx.push(message::expected_requirement(&item.key, found.as_ref(), place));
            }
        }
        // A comma after the last value is allowed.
        if tokens.next().is_none() || tokens.peek().is_none() {
            return values;
        }
    }
}

fn device(tokens: TokenStream) -> Result<&'static str, Option<TokenTree>> {
    let word = syn::parse2::<Ident>(tokens).map_err(|_| None)?;
    KINDS.into_iter().find(|kind| word == kind).ok_or(Some(word.into()))
}

fn rank(tokens: TokenStream) -> Result<LitInt, Option<TokenTree>> {
    let rank = syn::parse2::<LitInt>(tokens).map_err(|_| None)?;
    let fits = rank.suffix().is_empty() && rank.base10_parse::<u8>().is_ok();
    if fits { Ok(rank) } else { Err(None) }
}

/// The inner `None` was reported.
fn dtype(cx: &Ctxt, tokens: TokenStream) -> Result<Option<ConstDType>, Option<TokenTree>> {
    let path = Path::parse_mod_style.parse2(tokens).map_err(|_| None)?;
    Ok(value::const_dtype(cx, path))
}

/// `contiguous` means row-major, as in NumPy and PyTorch.
fn order(cx: &Ctxt, item: &Item) -> Option<ConstOrder> {
    match &item.value {
        Value::None => Some(ConstOrder::RowMajor),
        _ => value::order(cx, item),
    }
}
