//! Elements of megabytes.

use dlpack_tests::counted::Owner;
use tensors::{DLPackExport, SharedBuffer};

/// Elements of megabytes are read to the heap: a block of one on the stack would overflow it, and
/// so end the process.
#[test]
#[cfg_attr(miri, ignore = "it copies megabytes")]
fn elements_of_megabytes_fit_on_a_small_stack() {
    #[derive(Clone, Copy, tensors::Element)]
    #[dlpack(crate = ::tensors, any_bits)]
    #[repr(transparent)]
    struct Frame([u8; 1 << 20]);

    fn visit(shape: [i64; 2], strides: [i64; 2]) {
        let buffer = SharedBuffer::<Frame>::zeroed(3).unwrap();
        let owner = Owner::new(buffer.clone(), &shape).strided(&strides, 0);
        let mut tensor = owner.into_dlpack().unwrap().import().unwrap();
        let mut elements = tensor.elements_mut::<Frame>().unwrap();
        let add = |frames: &mut [Frame]| frames.iter_mut().for_each(|frame| frame.0[7] += 1);
        elements.update_blocks(add);
        elements.try_update_blocks(add).unwrap();
        elements.update_rows(add).unwrap();
        let elements = elements.as_elements();
        let mut sum = 0_u32;
        let mut count = |frames: &[Frame]| frames.iter().for_each(|it| sum += u32::from(it.0[7]));
        elements.for_each_block(&mut count);
        elements.for_each_block_unordered(&mut count);
        elements.try_for_each_block(&mut count).unwrap();
        elements.for_each_row(&mut count).unwrap();
        count(&elements.to_vec().unwrap());
        assert_eq!(sum, 2 * 3 * 5);
        buffer.update_blocks(add);
        buffer.for_each_block(|frames| assert!(frames.iter().all(|frame| frame.0[7] <= 4)));
        assert_eq!(buffer.to_vec().len(), 3);
    }
    let small = std::thread::Builder::new().stack_size(256 << 10);
    let visits = small.spawn(|| {
        visit([1, 2], [2, 1]);
        visit([2, 1], [2, 1]);
        visit([2, 1], [2, 1]);
    });
    visits.unwrap().join().unwrap();
}
