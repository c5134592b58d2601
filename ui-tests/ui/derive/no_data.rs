use dlpack_traits::{DLPackExport, DLPackImport};

#[derive(DLPackExport, DLPackImport)]
pub struct BothDerives {
    pixels: Vec<u8>,
    shape: [usize; 3],
}

#[derive(DLPackExport)]
pub struct NoCandidate {
    #[dlpack(skip)]
    width: usize,
    shape: [usize; 3],
}

#[derive(DLPackExport)]
pub struct OneCandidate {
    samples: Vec<u8>,
    name: &'static str,
    shape: [usize; 3],
}

#[derive(DLPackExport)]
pub struct Skipped {
    #[dlpack(skip)]
    data: Vec<u8>,
    shape: [usize; 3],
}

#[derive(DLPackExport)]
pub struct TwoCandidates {
    red: Vec<u8>,
    green: Vec<u8>,
    shape: [usize; 2],
}

fn main() {}

pub fn compiles_all_the_same(
    no_candidate: NoCandidate,
    one_candidate: OneCandidate,
    skipped: Skipped,
    two_candidates: TwoCandidates,
    tensor: fn() -> dlpack_traits::ImportedTensor,
) {
    let _ = BothDerives::from_dlpack(tensor());
    let _ = no_candidate.into_dlpack();
    let _ = one_candidate.into_dlpack();
    let _ = skipped.into_dlpack();
    let _ = two_candidates.into_dlpack();
}
