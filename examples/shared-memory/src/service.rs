//! The service that both processes open: the type of its elements, and its limits.

use core::error::Error;
use core::sync::atomic::{AtomicU8, Ordering};

use iceoryx2::node::{Node, NodeBuilder};
use iceoryx2::prelude::{
    Alignment, Config, Path, SemanticString, SignalHandlingMode, ZeroCopySend, ipc_threadsafe,
};
use iceoryx2::service::port_factory::publish_subscribe::PortFactory;

/// Ports and samples are `Send`: a deleter releases a sample on any thread.
pub(crate) type Ipc = ipc_threadsafe::Service;

/// A service of frames. A payload is a slice of bytes, the elements of one frame.
pub(crate) type Frames = PortFactory<Ipc, [SharedByte], Header>;

/// Number of frames that the subscriber can have at the same time.
pub(crate) const BORROWED: usize = 2;

/// A byte that another process may write.
///
/// It is an atomic, so that a slice of a payload does not state that the bytes stay the same,
/// as a `&[u8]` or a `&[f32]` does.
#[derive(Debug, Default)]
#[repr(transparent)]
pub(crate) struct SharedByte(AtomicU8);

// SAFETY: it is one byte without pointers or handles, in the layout of `u8`.
unsafe impl ZeroCopySend for SharedByte {
    // The default is the path of the type, which differs between the two programs.
    // SAFETY: both programs compile this file, so the type has the same layout in both.
    unsafe fn type_name() -> &'static str {
        "SharedByte"
    }
}

impl SharedByte {
    /// Writes the byte.
    #[allow(dead_code, reason = "the subscriber does not write")]
    pub(crate) fn store(&self, value: u8) {
        self.0.store(value, Ordering::Relaxed);
    }
}

/// The description of a frame, beside its payload.
#[derive(Clone, Copy, Debug, Default, ZeroCopySend)]
#[repr(C)]
#[type_name("FrameHeader")]
pub(crate) struct Header {
    pub(crate) number: u64,
    pub(crate) rows: u64,
    pub(crate) columns: u64,
    /// The address of the elements in the publisher's process.
    pub(crate) address: u64,
}

/// Opens the service, and creates it if it does not exist. Both processes name the same folder,
/// in which iceoryx2 registers processes and services.
pub(crate) fn open(folder: &str, name: &str) -> Result<(Node<Ipc>, Frames), Box<dyn Error>> {
    let mut config = Config::default();
    config.global.set_root_path(&Path::new(folder.as_bytes())?);
    let node = NodeBuilder::new()
        .config(&config)
        // Python handles the signals.
        .signal_handling_mode(SignalHandlingMode::Disabled)
        .create::<Ipc>()?;
    let service = node
        .service_builder(&name.try_into()?)
        .publish_subscribe::<[SharedByte]>()
        .user_header::<Header>()
        // The alignment of NumPy's and PyTorch's own arrays.
        .payload_alignment(Alignment::new(64).ok_or("64 is a power of two")?)
        .max_publishers(1)
        .max_subscribers(1)
        .subscriber_max_buffer_size(1)
        .subscriber_max_borrowed_samples(BORROWED)
        .open_or_create()?;
    Ok((node, service))
}
