//! Every layout that safe code can describe lies inside its storage: random layouts
//! against two oracles, neither of which shares code with the library.

mod bounds {
    pub(crate) mod cases;
    pub(crate) mod oracle;
}

use std::collections::HashSet;

use bounds::cases::{Case, Claim, List, Memory, Numbers};
use bounds::oracle::{self, Refusal, Verdict};
use dlpack_tests::positions::positions;
use dlpack_tests::random::Random;
use tensors::strides::{extent, is_column_major, is_row_major, may_overlap, numel};
use tensors::{DLPackExport as _, DataRef, Error, Slot, TensorView};

/// Miri is some hundred times slower.
const CASES: usize = if cfg!(miri) { 50 } else { 100_000 };

/// Elements are listed one by one up to this number.
const LISTED: i128 = if cfg!(miri) { 100 } else { 4096 };

/// The results of many cases.
#[derive(Debug, Default)]
struct Tally {
    cases: usize,
    accepted: usize,
    refused: usize,
    empty: usize,
    elements: usize,
}

impl Tally {
    /// Prints the counts, and fails if the cases were one-sided: a test that refuses
    /// every case checks nothing about accepted ones.
    fn report(&self, what: &str) {
        println!("{what}: {self:?}");
        assert!(self.accepted * 6 > self.cases, "too few accepted: {self:?}");
        assert!(self.refused * 6 > self.cases, "too few refused: {self:?}");
    }
}

/// Checks one case: the library accepts it exactly if the oracle does, and then returns
/// the same positions of the elements.
fn check(case: &Case, verdict: &Verdict, memory: &Memory, tally: &mut Tally) {
    let (shape, strides) = (case.shape.list(), case.strides.as_ref().map(Numbers::list));
    let (shape, strides) = (&*shape, strides.as_deref());
    let claim = Claim { case, shape, strides, memory };
    let result = claim.tensor();
    check_layout(&claim, &result);
    tally.cases += 1;
    match (&result, verdict) {
        (Err(error), Verdict::Refused(refusal)) => {
            tally.refused += 1;
            check_error(case, *error, refusal);
        }
        (Ok(view), Verdict::Accepted { count, low, high }) => {
            tally.accepted += 1;
            tally.elements +=
                if *count <= LISTED { usize::try_from(*count).unwrap_or(0) } else { 0 };
            tally.empty += usize::from(*count == 0);
            check_view(case, view, memory, *count, (*low, *high));
        }
        _ => panic!("the library returns {result:?}, the oracle {verdict:?}, for {case:#?}"),
    }
}

/// A layout that is built beforehand gives the same result.
fn check_layout(claim: &Claim<'_>, result: &Result<TensorView<'_>, Error>) {
    let Claim { case, shape, strides, memory } = claim;
    let Ok(shape) = shape.dims() else { return assert!(result.is_err()) };
    let Ok(strides) = strides.map(List::dims).transpose() else {
        return assert!(result.is_err());
    };
    let layout = case.layout(&shape, strides.as_ref());
    match (TensorView::new(memory.data(case), layout), result) {
        (Ok(view), Ok(described)) => {
            assert_eq!((view.shape(), view.strides()), (described.shape(), described.strides()));
            assert_eq!((view.dtype(), view.device()), (described.dtype(), described.device()));
            assert_eq!(view.data_ptr(), described.data_ptr(), "{case:#?}");
            assert_eq!(view.is_read_only(), described.is_read_only(), "{case:#?}");
        }
        // Which of several errors is reported depends on the order of the checks.
        (view, described) => assert!(view.is_err() && described.is_err(), "{case:#?}"),
    }
}

/// An out-of-bounds error names the bytes.
fn check_error(case: &Case, error: Error, refusal: &Refusal) {
    if let (Error::OutOfBounds { start, end, len }, Refusal::Outside(Some((from, to)))) =
        (error, refusal)
    {
        let clamp = |n: i128| i64::try_from(n).unwrap_or(if n < 0 { i64::MIN } else { i64::MAX });
        let bytes = (clamp(from.div_euclid(8)), clamp((to + 7).div_euclid(8)), case.len);
        assert_eq!((start, end, len), bytes, "{case:#?}");
    }
    if let Refusal::Spare(elements, bytes) = *refusal {
        let (elements, bytes) = (i64::try_from(elements).unwrap(), usize::try_from(bytes).unwrap());
        assert_eq!(error, Error::SpareCapacity { elements, bytes, len: case.len }, "{case:#?}");
    }
    if let Refusal::Outside(_) = refusal {
        let expected = matches!(error, Error::OutOfBounds { .. } | Error::SizeOverflow);
        assert!(expected, "{error:?} for {case:#?}");
    }
}

/// The metadata of the view equals that of the case, and the positions of its elements
/// are those of the oracle.
fn check_view(
    case: &Case,
    view: &TensorView<'_>,
    memory: &Memory,
    count: i128,
    ends: (i128, i128),
) {
    let bits = i128::from(view.dtype().element_bits());
    assert_eq!(view.dtype(), case.element_type());
    assert_eq!(i128::from(view.numel()), count);
    assert_eq!(view.device(), case.place.device());
    let shape: Vec<i128> = view.shape().iter().copied().map(i128::from).collect();
    assert_eq!(shape, case.shape.values());
    let strides: Vec<i128> = view.strides().iter().copied().map(i128::from).collect();
    if let Some(given) = &case.strides {
        assert_eq!(strides, given.values(), "{case:#?}");
    }
    let tensor = view.dl_tensor();
    // SAFETY: the struct is borrowed from a view that is alive.
    let tensor = unsafe { tensor.as_raw().read() };
    assert_eq!(usize::try_from(tensor.ndim).unwrap(), shape.len());
    let base = memory.address(case) as i128;
    let first = tensor.data.addr() as i128 + i128::from(tensor.byte_offset);
    if count == 0 {
        assert!(tensor.data.is_null(), "empty, but not NULL: {case:#?}");
        return;
    }
    assert_eq!(first, base + i128::from(case.byte_offset), "{case:#?}");
    // The first and the last bit, exactly.
    if let (true, Some((low, high))) = (count > 0, oracle::reach(&shape, &strides)) {
        let (start, end) = (first * 8 + low * bits, first * 8 + (high + 1) * bits);
        assert!(start >= base * 8 && end <= (base + case.len as i128) * 8, "{case:#?}");
        assert_eq!((start - base * 8, end - base * 8), ends, "{case:#?}");
    }
    // Every element, one by one, where they can be listed.
    if (1..=LISTED).contains(&count) {
        let found = positions(view.shape(), view.strides());
        assert_eq!(found.len() as i128, count);
        for position in found {
            let start = (first - base) * 8 + i128::from(position) * bits;
            assert!(start >= 0 && start + bits <= case.len as i128 * 8, "{case:#?}");
            if let (Some(align), true) = (oracle::alignment(view.dtype()), case.has_address()) {
                let address = (base * 8 + start) / 8;
                assert_eq!(address % i128::from(align), 0, "misaligned: {case:#?}");
            }
        }
    }
}

/// Small layouts: every element is listed, one bit range at a time.
#[test]
fn small_layouts_agree_with_both_oracles() {
    let mut random = Random::new(1);
    let memory = Memory::new();
    let mut tally = Tally::default();
    for _ in 0..CASES {
        let case = Case::small(&mut random);
        let verdict = oracle::by_listing(&case, memory.address(&case));
        assert_eq!(verdict, oracle::by_arithmetic(&case, memory.address(&case)), "{case:#?}");
        check(&case, &verdict, &memory, &mut tally);
    }
    tally.report("small layouts");
}

/// Layouts with numbers near the limits of 64 bits, judged by exact arithmetic.
#[test]
fn extreme_layouts_agree_with_the_exact_oracle() {
    let mut random = Random::new(2);
    let memory = Memory::new();
    let mut tally = Tally::default();
    for _ in 0..CASES {
        let case = Case::extreme(&mut random);
        let verdict = oracle::by_arithmetic(&case, memory.address(&case));
        check(&case, &verdict, &memory, &mut tally);
    }
    tally.report("extreme layouts");
}

/// Products of negative numbers are positive: neither a negative dimension nor a zero one may make
/// a layout that was rejected look as if it were inside of the memory.
#[test]
fn dimensions_below_one_never_look_valid() {
    let [mut lent, mut computed] = [(); 2].map(|()| Slot::new());
    let third = -(i64::MAX / 6);
    for (small, strides, expected) in [
        (0, [1, 7, -(1 << 62), -(1 << 62)], Ok([2, i64::MAX / 7 + 1, 0, 0])),
        (-1, [1, 7, 2 * third, third], Err(Error::NegativeDim { axis: 2, dim: -1 })),
    ] {
        let shape = [2, i64::MAX / 7 + 1, small, small];
        let bytes = || DataRef::from_slice(&[0_u8; 16]);
        let found = [
            lent.describe().shape(&shape).strides(&strides).offset(2).data(bytes()),
            computed.describe().shape(shape).strides(strides).offset(2).data(bytes()),
        ];
        for description in found {
            let found = description.map(|it| {
                assert!(it.dl_tensor().data.is_null());
                it.shape().to_vec()
            });
            assert_eq!(found, expected.map(|shape: [i64; 4]| shape.to_vec()));
        }
    }
    // The axes before make up for the span of the one that is below 1.
    for (shape, expected) in
        [([6, 0], Ok(())), ([11, -1], Err(Error::NegativeDim { axis: 1, dim: -1 }))]
    {
        let bytes = DataRef::from_slice(&[0_u8; 16]);
        let found = lent.describe().shape(&shape).strides(&[1, 5]).data(bytes);
        assert_eq!(found.map(|it| assert!(it.dl_tensor().data.is_null())), expected);
    }
}

/// The arithmetic that views are built on, against lists of positions.
#[test]
fn overflowing_layouts_agree_with_the_exact_oracle() {
    let mut random = Random::new(3);
    let (mut meeting, mut interleaved, mut compact) = (0, 0, 0);
    for _ in 0..CASES {
        let ndim = random.below(5);
        let shape: Vec<i64> = (0..ndim).map(|_| random.within(0..=4)).collect();
        let strides: Vec<i64> = if random.one_in(2) {
            compact_strides(&shape, &mut random)
        } else {
            (0..ndim).map(|_| random.within(-9..=9)).collect()
        };
        let found = positions(&shape, &strides);
        let case = || format!("shape {shape:?}, strides {strides:?}");

        assert_eq!(numel(&shape), Ok(i64::try_from(found.len()).unwrap()), "{}", case());
        let reached = extent(&shape, &strides).unwrap().map(|extent| (extent.low, extent.high));
        let listed = found.iter().min().zip(found.iter().max());
        assert_eq!(reached, listed.map(|(&low, &high)| (low, high)), "{}", case());

        let distinct = found.iter().collect::<HashSet<_>>().len() == found.len();
        let overlap = may_overlap(&shape, &strides);
        assert_eq!(overlap, !distinct, "{}", case());
        meeting += usize::from(!distinct);
        interleaved += usize::from(distinct && !is_nested(&shape, &strides));

        let in_order = found.iter().copied().eq(0..i64::try_from(found.len()).unwrap());
        assert_eq!(is_row_major(&shape, &strides), in_order, "{}", case());
        compact += usize::from(in_order);
        let (shape, strides): (Vec<_>, Vec<_>) = shape.iter().zip(&strides).rev().unzip();
        assert_eq!(is_column_major(&shape, &strides), in_order, "reversed: {}", case());
    }
    println!("{CASES} cases, {meeting} meet, {interleaved} interleave, {compact} compact");
    assert!(meeting * 20 > CASES && compact * 20 > CASES, "one-sided");
    assert!(interleaved * 50 > CASES, "one-sided");
}

/// Whether each stride is larger than the span of all axes with smaller ones, so that no two
/// elements can meet.
fn is_nested(shape: &[i64], strides: &[i64]) -> bool {
    let mut axes: Vec<(i64, i64)> =
        shape.iter().zip(strides).map(|(&dim, &stride)| (stride.abs(), dim)).collect();
    axes.sort_unstable();
    let mut below = 0;
    axes.into_iter().filter(|&(_, dim)| dim > 1).all(|(stride, dim)| {
        let apart = stride > below;
        below += (dim - 1) * stride;
        apart
    })
}

/// With many axes the search for two equal positions may be too long: then the result is `true`,
/// and is never `false` for two that meet.
#[test]
fn long_searches_end_and_miss_nothing() {
    let mut random = Random::new(4);
    let (mut known, mut unknown) = (0, 0);
    for _ in 0..(CASES / 100).max(3) {
        let ndim = 5 + random.below(4);
        let shape: Vec<i64> = (0..ndim).map(|_| random.within(2..=3)).collect();
        let strides: Vec<i64> = (0..ndim).map(|_| random.within(-20_000..=20_000)).collect();
        let found = positions(&shape, &strides);
        let distinct = found.iter().collect::<HashSet<_>>().len() == found.len();
        let overlap = may_overlap(&shape, &strides);
        assert!(overlap || distinct, "two elements meet unseen: {shape:?}, {strides:?}");
        *(if overlap == distinct { &mut unknown } else { &mut known }) += 1;
    }
    println!("{known} known, {unknown} not known");
    assert!(known > 0);
    // Exact for two axes of any size, where no search would end.
    let (large, next) = ((1 << 30) - 1, 1 << 30);
    assert!(!may_overlap(&[1 << 20, 1 << 20], &[large, next]));
    assert!(!may_overlap(&[large, next - 1], &[large, next]));
    assert!(may_overlap(&[next + 1, next], &[large, next]));
    assert!(!may_overlap(&[1, large, 1, 3], &[0, 2, 0, 2 * large + 1]));
    assert!(!may_overlap(&[4, 3], &[i64::MAX / 5, i64::MAX / 5 - 1]));
}

/// Strides of a contiguous layout with its axes in any order and direction, as slicing
/// and transposing produce.
fn compact_strides(shape: &[i64], random: &mut Random) -> Vec<i64> {
    let mut axes: Vec<usize> = (0..shape.len()).rev().collect();
    if random.one_in(2) {
        for last in (1..axes.len()).rev() {
            axes.swap(last, random.below(last + 1));
        }
    }
    let mut strides = vec![0; shape.len()];
    let mut step = 1;
    for axis in axes {
        let sign = if random.one_in(8) { -1 } else { 1 };
        strides[axis] = sign * step;
        step *= shape[axis].max(1);
    }
    strides
}
