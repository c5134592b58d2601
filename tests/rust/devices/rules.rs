//! The meaning of `stream`, for every device and every argument of a consumer.

use new_device::Npu;
use tensors::backend::{
    DeviceBuffer, HandleLifetime, StreamHandle, StreamMeaning, StreamRules, SyncAction,
    copy_on_device, copy_to_host,
};
use tensors::ffi::{kDLCUDA, kDLExtDev, kDLROCM};
use tensors::{
    DLPackExport, DataRef, DataType, Describe, Description, Device, Error, ExportArc,
    ManagedTensor, SharedOwner, Storage, StreamArg, StreamKind,
};

use super::npu::{NPU, Session, filled, stream, vector};

/// A handle.
const A: usize = 0x7f00;
/// Another.
const B: usize = 0x7f80;

/// The expected action, short enough for a table.
#[derive(Debug, PartialEq)]
enum Is {
    /// Nothing to do: it is our stream.
    Same,
    /// No action: no synchronization was requested.
    NoSync,
    /// The host waits.
    Wait,
    /// That stream waits, which can be named for ever.
    Always(usize),
    /// That stream waits.
    Now(usize),
    /// That stream waits, which is the calling thread's.
    Thread(usize),
    /// An error.
    Refused,
}

use Is::{Always, NoSync, Now, Refused, Same, Thread, Wait};

fn asked(rules: &StreamRules, ours: usize, says: StreamKind) -> Is {
    let device = Device::new(kDLExtDev, 3);
    match rules.decide(device, StreamHandle::from_number(ours), says) {
        Ok(SyncAction::Same) => Same,
        Ok(SyncAction::NoSync) => NoSync,
        Ok(SyncAction::Wait) => Wait,
        Ok(SyncAction::Order { theirs, lives: HandleLifetime::Always }) => Always(theirs.number()),
        Ok(SyncAction::Order { theirs, lives: HandleLifetime::Now }) => Now(theirs.number()),
        Ok(SyncAction::Order { theirs, lives: HandleLifetime::OnThisThread }) => {
            Thread(theirs.number())
        }
        Err(Error::StreamRefused { device: refused, stream, rule }) => {
            assert_eq!(refused, device);
            assert_eq!(stream, if let StreamKind::Handle(n) = says { Some(n) } else { None });
            assert!(!rule.is_empty());
            Refused
        }
        Err(Error::StreamOnHost) => Refused,
        Err(error) => panic!("{error}"),
    }
}

/// Every stream argument, in the order of the tables below.
const SAYS: [StreamKind; 8] = [
    StreamKind::Unspecified,
    StreamKind::NoSync,
    StreamKind::OnHost,
    StreamKind::Handle(0),
    StreamKind::Handle(1),
    StreamKind::Handle(2),
    StreamKind::Handle(A),
    StreamKind::Handle(B),
];

fn check(name: &str, rules: StreamRules, table: &[(usize, [Is; 8])]) {
    for (ours, expected) in table {
        for (says, expected) in SAYS.into_iter().zip(expected) {
            let found = asked(&rules, *ours, says);
            assert_eq!(&found, expected, "{name}: ours is {ours:#x}, the consumer passes {says:?}");
        }
    }
}

#[test]
fn stream_values_of_cuda() {
    check(
        "CUDA",
        StreamRules::CUDA,
        &[
            // None, -1, host, 0, 1, 2, A, B
            (0, [Same, NoSync, Wait, Refused, Same, Thread(2), Now(A), Now(B)]),
            (1, [Same, NoSync, Wait, Refused, Same, Thread(2), Now(A), Now(B)]),
            (A, [Always(1), NoSync, Wait, Refused, Always(1), Thread(2), Same, Now(B)]),
        ],
    );
}

#[test]
fn stream_values_of_rocm() {
    check(
        "ROCm",
        StreamRules::ROCM,
        &[
            (0, [Same, NoSync, Wait, Same, Refused, Refused, Now(A), Now(B)]),
            (A, [Always(0), NoSync, Wait, Always(0), Refused, Refused, Same, Now(B)]),
        ],
    );
}

#[test]
fn stream_values_of_other_devices() {
    check(
        "others",
        StreamRules::HANDLES,
        &[
            (A, [Wait, NoSync, Wait, Refused, Now(1), Now(2), Same, Now(B)]),
            (1, [Wait, NoSync, Wait, Refused, Same, Now(2), Now(A), Now(B)]),
        ],
    );
}

#[test]
fn stream_values_of_the_host() {
    check(
        "host",
        StreamRules::HOST,
        &[(0, [Same, Refused, Same, Refused, Refused, Refused, Refused, Refused])],
    );
    assert!(!StreamRules::HOST.has_streams());
}

/// A device that requires a stream: no argument is an error.
#[test]
fn a_backend_may_define_its_own_stream_values() {
    const OWN: StreamRules = StreamRules::new(
        StreamMeaning::Refused("send a queue"),
        &[(7, StreamMeaning::Default(9)), (9, StreamMeaning::Default(9))],
        9,
    );
    check(
        "own",
        OWN,
        &[
            (0, [Refused, NoSync, Wait, Now(0), Now(1), Now(2), Now(A), Now(B)]),
            (A, [Refused, NoSync, Wait, Now(0), Now(1), Now(2), Same, Now(B)]),
        ],
    );
    assert_eq!(asked(&OWN, 0, StreamKind::Handle(7)), Same);
    assert_eq!(asked(&OWN, A, StreamKind::Handle(7)), Always(9));
}

/// The number that a consumer passes for the stream whose handle is NULL.
#[test]
fn numbers_for_consumers() {
    let null = StreamHandle::NULL;
    assert_eq!(StreamRules::CUDA.number_of(null), Some(1));
    assert_eq!(StreamRules::ROCM.number_of(null), Some(0));
    assert_eq!(StreamRules::HOST.number_of(null), None);
    for rules in [StreamRules::CUDA, StreamRules::ROCM, StreamRules::HANDLES] {
        assert_eq!(rules.number_of(StreamHandle::from_number(A)), Some(A));
    }
    assert!(StreamArg::on_host().host().is_ok());
}

#[test]
fn refusals_name_the_accepted_values() {
    let refused = |rules: StreamRules, device, says| {
        rules.decide(device, StreamHandle::NULL, says).unwrap_err().to_string()
    };
    let cuda = Device::new(kDLCUDA, 1);
    assert_eq!(
        refused(StreamRules::CUDA, cuda, StreamKind::Handle(0)),
        "cuda:1 has no `stream` 0; send 1 for the legacy default stream, 2 for the per-thread one",
    );
    let rocm = Device::new(kDLROCM, 0);
    assert_eq!(
        refused(StreamRules::ROCM, rocm, StreamKind::Handle(2)),
        "rocm:0 has no `stream` 2; ROCm has one default stream, which is 0",
    );
    assert_eq!(
        refused(StreamRules::HANDLES, rocm, StreamKind::Handle(0)),
        "rocm:0 has no `stream` 0; send the handle of a stream, or nothing",
    );
}

/// D1: memory of a device without a synchronizer is not exported at all. A type in safe
/// code around a buffer cannot omit it: the loan contains the synchronizer.
#[test]
fn memory_without_a_synchronizer_is_not_exported() {
    struct Raw(DeviceBuffer<Npu>);

    impl Storage for Raw {
        fn data(&self) -> DataRef<'_> {
            let (first, len) = (self.0.as_ptr().cast(), self.0.byte_len());
            // SAFETY: 1. to 3. As the buffer lends it.
            unsafe { DataRef::from_raw_parts_shared(first, len, DataType::F32, NPU) }
        }

        fn share(&self) -> Option<SharedOwner> {
            SharedOwner::new(Self(self.0.clone()))
        }
    }

    struct Bare(DeviceBuffer<Npu>);

    impl DLPackExport for Bare {
        fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
            out.shape(&[4]).data(self.0.data())
        }
    }

    struct Wrapped(DeviceBuffer<Npu>);

    impl Storage for Wrapped {
        fn data(&self) -> DataRef<'_> {
            self.0.data()
        }

        fn share(&self) -> Option<SharedOwner> {
            self.0.share()
        }
    }

    let _session = Session;
    let buffer = filled(stream(), 1.0);
    let refused = |result: Result<ManagedTensor, Error>| {
        let error = result.expect_err("nothing orders the work");
        assert!(error.to_string().contains("synchronized_by"), "{error}");
    };
    let raw = || vector(Raw(buffer.clone()), 4);
    refused(raw().into_dlpack());
    refused(raw().to_dlpack());
    refused(raw().copy_to_dlpack());
    refused(copy_to_host::<Npu, _>(&raw()));
    refused(copy_on_device::<Npu, _>(&raw(), StreamArg::unspecified()));
    refused(ExportArc::new(raw()).unwrap().to_dlpack());
    assert!(Bare(buffer.clone()).into_dlpack().is_ok());
    assert!(vector(Wrapped(buffer.clone()), 4).into_dlpack().is_ok());
    assert!(vector(Wrapped(buffer.clone()), 4).to_dlpack().is_ok());
    assert!(vector(buffer, 4).to_dlpack().is_ok());
}
