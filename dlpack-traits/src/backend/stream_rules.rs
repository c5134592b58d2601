//! The meaning of the number that a consumer passes as `stream`: [`StreamRules`].
//!
//! This implements the `stream` argument of `__dlpack__` in the Python array API standard,
//! as a pure function of plain data.
//!
//! On a device for which the standard defines no `stream`, a consumer without a stream
//! receives finished work and no longer uses the tensor when it releases it.

use super::StreamHandle;
use crate::device::Device;
use crate::error::Error;
use crate::stream_arg::StreamKind;

/// The meaning of a `stream` argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamMeaning {
    /// The default stream with this number, which is the same on every thread.
    Default(usize),
    /// The default stream of the calling thread, with this number.
    OfThread(usize),
    /// No stream: the consumer works on the host, or synchronously. The producer waits for
    /// pending work, and the consumer no longer uses the tensor when it releases it.
    Host,
    /// Invalid: the string tells the caller what to pass instead.
    Refused(&'static str),
}

/// The meaning of each `stream` argument, for a device.
///
/// | `stream` | [`CUDA`](Self::CUDA) | [`ROCM`](Self::ROCM) | [`HANDLES`](Self::HANDLES) | [`HOST`](Self::HOST) |
/// |---|---|---|---|---|
/// | none | legacy default | default | the host waits | accepted |
/// | -1 | no synchronization | no synchronization | no synchronization | rejected |
/// | 0 | rejected | default | rejected | rejected |
/// | 1 | legacy default | rejected | a handle | rejected |
/// | 2 | per-thread default | rejected | a handle | rejected |
/// | more | a handle | a handle | a handle | rejected |
///
/// Memory that the processor reads ([`MemoryType::read_by_host`](super::MemoryType::read_by_host)),
/// such as pinned memory, follows the rules of its device. In addition the host waits for a consumer
/// that passes no stream: NumPy accepts such memory, has no streams, and reads at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamRules {
    /// The meaning of an absent `stream`.
    unspecified: StreamMeaning,
    /// Numbers that are not handles.
    numbers: &'static [(usize, StreamMeaning)],
    /// The number that consumers pass for the stream whose handle is NULL.
    null: usize,
    /// Whether the device has streams.
    streams: bool,
}

/// What the producer must do before it exports to a consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncAction {
    /// Nothing: the consumer works on the producer's own stream.
    Same,
    /// Nothing: the consumer requested no synchronization, and may work on any stream.
    NoSync,
    /// Wait on the host until the producer's work is done.
    Wait,
    /// Order the consumer's stream after the producer's, on the device.
    Order {
        /// The consumer's stream.
        theirs: StreamHandle,
        /// How long the handle is valid.
        lives: HandleLifetime,
    },
}

/// How long the handle of a stream is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandleLifetime {
    /// As long as the process, on every thread.
    Always,
    /// During the consumer's call.
    Now,
    /// During the consumer's call, on its thread.
    OnThisThread,
}

impl StreamRules {
    /// CUDA: 1 is the legacy default stream, 2 the per-thread one, 0 is rejected as
    /// ambiguous.
    pub const CUDA: Self = Self {
        unspecified: StreamMeaning::Default(1),
        numbers: &[
            (
                0,
                StreamMeaning::Refused(
                    "send 1 for the legacy default stream, 2 for the per-thread one",
                ),
            ),
            (1, StreamMeaning::Default(1)),
            (2, StreamMeaning::OfThread(2)),
        ],
        null: 1,
        streams: true,
    };

    /// ROCm: 0 is the default stream.
    pub const ROCM: Self = Self {
        unspecified: StreamMeaning::Default(0),
        numbers: &[
            (0, StreamMeaning::Default(0)),
            (1, StreamMeaning::Refused("ROCm has one default stream, which is 0")),
            (2, StreamMeaning::Refused("ROCm has one default stream, which is 0")),
        ],
        null: 0,
        streams: true,
    };

    /// Devices that the standard has no rules for: every number but 0 is the handle of a
    /// stream, and the host waits if the consumer passes no stream.
    pub const HANDLES: Self = Self {
        unspecified: StreamMeaning::Host,
        numbers: &[(0, StreamMeaning::Refused("send the handle of a stream, or nothing"))],
        null: 0,
        streams: true,
    };

    /// Host memory: no stream works on it.
    pub const HOST: Self =
        Self { unspecified: StreamMeaning::Host, numbers: &[], null: 0, streams: false };

    /// Rules of another device.
    ///
    /// `null` is the number that consumers pass for the stream whose handle is NULL; a
    /// number that is not listed is a handle.
    pub const fn new(
        unspecified: StreamMeaning,
        numbers: &'static [(usize, StreamMeaning)],
        null: usize,
    ) -> Self {
        Self { unspecified, numbers, null, streams: true }
    }

    /// Whether the device has streams.
    #[inline]
    pub const fn has_streams(&self) -> bool {
        self.streams
    }

    /// The number that a consumer on that stream passes; `None` if the device has no
    /// streams.
    pub fn number_of(&self, handle: StreamHandle) -> Option<usize> {
        let number = if handle == StreamHandle::NULL { self.null } else { handle.number() };
        self.streams.then_some(number)
    }

    /// Decides what to do for a consumer, if the work is on the stream `ours` of `device`.
    ///
    /// # Errors
    ///
    /// [`Error::StreamRefused`], and [`Error::StreamOnHost`] if the device has no streams.
    pub fn decide(
        &self,
        device: Device,
        ours: StreamHandle,
        consumer: StreamKind,
    ) -> Result<SyncAction, Error> {
        if !self.streams {
            return match consumer {
                StreamKind::Unspecified | StreamKind::WorkStream | StreamKind::OnHost => {
                    Ok(SyncAction::Same)
                }
                StreamKind::NoSync | StreamKind::Handle(_) => Err(Error::StreamOnHost),
            };
        }
        let meaning = match consumer {
            StreamKind::NoSync => return Ok(SyncAction::NoSync),
            // This function does not query the runtime for the current stream; `sync_for`
            // does so first.
            StreamKind::OnHost | StreamKind::WorkStream => return Ok(SyncAction::Wait),
            StreamKind::Unspecified => self.unspecified,
            StreamKind::Handle(number) => {
                let listed = self.numbers.iter().find(|listed| listed.0 == number);
                match listed {
                    Some(&(_, meaning)) => meaning,
                    None if self.number_of(ours) == Some(number) => return Ok(SyncAction::Same),
                    None => {
                        let theirs = StreamHandle::from_number(number);
                        return Ok(SyncAction::Order { theirs, lives: HandleLifetime::Now });
                    }
                }
            }
        };
        match meaning {
            StreamMeaning::Host => Ok(SyncAction::Wait),
            StreamMeaning::Refused(rule) => {
                let stream = match consumer {
                    StreamKind::Handle(number) => Some(number),
                    _ => None,
                };
                Err(Error::StreamRefused { device, stream, rule })
            }
            StreamMeaning::Default(number) if self.number_of(ours) == Some(number) => {
                Ok(SyncAction::Same)
            }
            StreamMeaning::Default(number) => {
                let theirs = StreamHandle::from_number(number);
                Ok(SyncAction::Order { theirs, lives: HandleLifetime::Always })
            }
            // `ours` is not a stream of one thread: 1 of `WorkStream::new`.
            StreamMeaning::OfThread(number) => {
                let theirs = StreamHandle::from_number(number);
                Ok(SyncAction::Order { theirs, lives: HandleLifetime::OnThisThread })
            }
        }
    }
}
