//! Kernels, as a driver compiles them and as the simulator finds them by name.

use std::ffi::CStr;

/// `fill_u32(to, value, count)`, `add_u32(to, value, count)` and
/// `spin_ns(nanoseconds)`; one thread for each element.
pub const PTX: &CStr = c"
.version 7.0
.target sm_70
.address_size 64

.visible .entry fill_u32(.param .u64 to, .param .u32 value, .param .u32 count)
{
    .reg .pred %p<2>;
    .reg .b32 %r<6>;
    .reg .b64 %d<4>;
    ld.param.u64 %d0, [to];
    ld.param.u32 %r0, [value];
    ld.param.u32 %r1, [count];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.u32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p0, %r5, %r1;
    @%p0 bra done;
    cvta.to.global.u64 %d1, %d0;
    mul.wide.u32 %d2, %r5, 4;
    add.u64 %d3, %d1, %d2;
    st.global.u32 [%d3], %r0;
done:
    ret;
}

.visible .entry add_u32(.param .u64 to, .param .u32 value, .param .u32 count)
{
    .reg .pred %p<2>;
    .reg .b32 %r<8>;
    .reg .b64 %d<4>;
    ld.param.u64 %d0, [to];
    ld.param.u32 %r0, [value];
    ld.param.u32 %r1, [count];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.u32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p0, %r5, %r1;
    @%p0 bra done;
    cvta.to.global.u64 %d1, %d0;
    mul.wide.u32 %d2, %r5, 4;
    add.u64 %d3, %d1, %d2;
    ld.global.u32 %r6, [%d3];
    add.u32 %r7, %r6, %r0;
    st.global.u32 [%d3], %r7;
done:
    ret;
}

.visible .entry spin_ns(.param .u64 nanoseconds)
{
    .reg .pred %p<2>;
    .reg .b64 %d<5>;
    ld.param.u64 %d0, [nanoseconds];
    mov.u64 %d1, %globaltimer;
    add.u64 %d2, %d1, %d0;
again:
    mov.u64 %d3, %globaltimer;
    setp.lt.u64 %p0, %d3, %d2;
    @%p0 bra again;
    ret;
}
";
