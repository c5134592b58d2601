//! What the number that a consumer sends as `stream` means: [`StreamRules`].
//!
//! This follows the `stream` argument of `__dlpack__` in the Python array API
//! standard: a pure decision over plain data.

use super::StreamHandle;
use crate::device::Device;
use crate::error::Error;
use crate::stream::StreamKind;

/// What a number, or nothing, stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// The default stream with this number, which is the same on every thread.
    Default(usize),
    /// The default stream of the thread that says so, with this number.
    OfThread(usize),
    /// No stream: the consumer's work is the host's, or done in step with it.
    /// Pending work is waited for, and the consumer is done with the tensor when
    /// it releases it.
    Host,
    /// Nothing: the sentence says what to send instead.
    Refused(&'static str),
}

/// How a device reads the `stream` of a consumer.
///
/// | says | [`CUDA`](Self::CUDA) | [`ROCM`](Self::ROCM) | [`HANDLES`](Self::HANDLES) | [`HOST`](Self::HOST) |
/// |---|---|---|---|---|
/// | nothing | legacy default | default | the host waits | fine |
/// | -1 | no synchronisation | no synchronisation | no synchronisation | refused |
/// | 0 | refused | default | refused | refused |
/// | 1 | legacy default | refused | a handle | refused |
/// | 2 | per-thread default | refused | a handle | refused |
/// | more | a handle | a handle | a handle | refused |
///
/// Pinned and managed memory follows the rules of its GPU, and besides the host
/// waits for a consumer that says nothing: NumPy takes such memory, knows of no
/// streams, and reads at once ([`may_be_read_at_once`](Self::may_be_read_at_once)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamRules {
    /// What a consumer means that says nothing.
    unspecified: Meaning,
    /// Numbers that are no handles.
    numbers: &'static [(usize, Meaning)],
    /// The number that consumers send for the stream whose handle is NULL.
    null: usize,
    /// Whether there are streams at all.
    streams: bool,
}

/// What the producer has to do, and what it knows of the consumer after that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The consumer works on the producer's own stream: nothing.
    Same,
    /// The consumer asked for no synchronisation, and may work on any stream.
    NoSync,
    /// Wait, on the host, until the producer's work is done.
    Wait,
    /// Order the consumer's stream after the producer's, on the device.
    Order {
        /// The consumer's stream.
        theirs: StreamHandle,
        /// How long that name is good.
        lives: Lives,
    },
}

/// How long the handle of a stream names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lives {
    /// As long as the process, on every thread.
    Always,
    /// While the consumer calls.
    Now,
    /// While the consumer calls, on its thread.
    OnThisThread,
}

impl StreamRules {
    /// CUDA: 1 is the legacy default stream, 2 the per-thread one, 0 neither.
    pub const CUDA: Self = Self {
        unspecified: Meaning::Default(1),
        numbers: &[
            (0, Meaning::Refused("send 1 for the legacy default stream, 2 for the per-thread one")),
            (1, Meaning::Default(1)),
            (2, Meaning::OfThread(2)),
        ],
        null: 1,
        streams: true,
    };

    /// ROCm: 0 is the default stream.
    pub const ROCM: Self = Self {
        unspecified: Meaning::Default(0),
        numbers: &[
            (0, Meaning::Default(0)),
            (1, Meaning::Refused("ROCm has one default stream, which is 0")),
            (2, Meaning::Refused("ROCm has one default stream, which is 0")),
        ],
        null: 0,
        streams: true,
    };

    /// Devices for which the standard says nothing: every number but 0 is the
    /// handle of a stream, and whoever says nothing gets finished work.
    pub const HANDLES: Self = Self {
        unspecified: Meaning::Host,
        numbers: &[(0, Meaning::Refused("send the handle of a stream, or nothing"))],
        null: 0,
        streams: true,
    };

    /// Memory on which no stream works.
    pub const HOST: Self =
        Self { unspecified: Meaning::Host, numbers: &[], null: 0, streams: false };

    /// Rules of a device's own.
    ///
    /// `null` is the number that consumers send for the stream whose handle is
    /// NULL; where a number is not listed, it is a handle.
    pub const fn new(
        unspecified: Meaning,
        numbers: &'static [(usize, Meaning)],
        null: usize,
    ) -> Self {
        Self { unspecified, numbers, null, streams: true }
    }

    /// Whether there are streams at all.
    #[inline]
    pub const fn has_streams(&self) -> bool {
        self.streams
    }

    /// What a consumer on that stream sends; `None` where there are no streams.
    pub fn number_of(&self, handle: StreamHandle) -> Option<usize> {
        let number = if handle == StreamHandle::NULL { self.null } else { handle.number() };
        self.streams.then_some(number)
    }

    /// Whether a consumer may read the memory as soon as it has the tensor, because
    /// the processor can, and no stream was named. The work is waited for then,
    /// whatever default stream the device has.
    ///
    /// ```
    /// use dlpack_traits::backend::StreamRules;
    /// use dlpack_traits::{Device, StreamKind};
    ///
    /// let pinned = Device::CUDA_HOST;
    /// assert!(StreamRules::may_be_read_at_once(pinned, StreamKind::Unspecified));
    /// assert!(!StreamRules::may_be_read_at_once(pinned, StreamKind::Handle(1)));
    /// assert!(!StreamRules::may_be_read_at_once(Device::cuda(0), StreamKind::Unspecified));
    /// ```
    pub const fn may_be_read_at_once(device: Device, consumer: StreamKind) -> bool {
        matches!(consumer, StreamKind::Unspecified) && device.is_read_by_host()
    }

    /// What to do for a consumer, if the work is on the stream `ours` of `device`.
    ///
    /// # Errors
    ///
    /// [`Error::StreamRefused`], and [`Error::StreamOnHost`] where there are no streams.
    pub fn decide(
        &self,
        device: Device,
        ours: StreamHandle,
        consumer: StreamKind,
    ) -> Result<Decision, Error> {
        if !self.streams {
            return match consumer {
                StreamKind::Unspecified | StreamKind::WorkStream | StreamKind::OnHost => {
                    Ok(Decision::Same)
                }
                StreamKind::NoSync | StreamKind::Handle(_) => Err(Error::StreamOnHost),
            };
        }
        let meaning = match consumer {
            StreamKind::NoSync => return Ok(Decision::NoSync),
            // Which stream that is, has to be asked of the runtime before.
            StreamKind::OnHost | StreamKind::WorkStream => return Ok(Decision::Wait),
            StreamKind::Unspecified => self.unspecified,
            StreamKind::Handle(number) => {
                let listed = self.numbers.iter().find(|listed| listed.0 == number);
                match listed {
                    Some(&(_, meaning)) => meaning,
                    None if self.number_of(ours) == Some(number) => return Ok(Decision::Same),
                    None => {
                        let theirs = StreamHandle::from_number(number);
                        return Ok(Decision::Order { theirs, lives: Lives::Now });
                    }
                }
            }
        };
        match meaning {
            Meaning::Host => Ok(Decision::Wait),
            Meaning::Refused(rule) => {
                let stream = match consumer {
                    StreamKind::Handle(number) => Some(number),
                    _ => None,
                };
                Err(Error::StreamRefused { device, stream, rule })
            }
            Meaning::Default(number) if self.number_of(ours) == Some(number) => Ok(Decision::Same),
            Meaning::Default(number) => {
                let theirs = StreamHandle::from_number(number);
                Ok(Decision::Order { theirs, lives: Lives::Always })
            }
            // Ours is no thread's: 1 of `WorkStream::new`.
            Meaning::OfThread(number) => {
                let theirs = StreamHandle::from_number(number);
                Ok(Decision::Order { theirs, lives: Lives::OnThisThread })
            }
        }
    }
}
