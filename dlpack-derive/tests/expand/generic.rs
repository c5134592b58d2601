#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, shape(2, Self::WIDTH, N))]
pub(crate) struct Batch<'a, T, S: AsDims, const N: usize>
where
    T: Element,
{
    pub(crate) data: &'a [T],
    pub(crate) strides: S,
}
impl<T: Element, S: AsDims, const N: usize> Batch<'_, T, S, N> {
    const WIDTH: u16 = 3;
}
