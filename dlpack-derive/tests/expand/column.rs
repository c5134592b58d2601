#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, bound(T: DLPackExport))]
pub(crate) enum Column<T> {
    Float(Samples),
    Other {
        tensor: T,
        #[dlpack(skip)]
        name: &'static str,
    },
    #[dlpack(skip)]
    Text,
}

#[derive(DLPackExport)]
#[dlpack(crate = ::tensors, transparent, read_only)]
pub(crate) struct Samples(pub(crate) Box<dyn DLPackExport + Send>);
