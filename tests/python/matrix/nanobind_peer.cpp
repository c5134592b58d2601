// A library that was written with nanobind: makes tensors over memory that it
// is told of, and takes tensors in both ways that nanobind has.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <utility>
#include <vector>

namespace nb = nanobind;

using Writable = nb::ndarray<>;
using ReadOnly = nb::ndarray<nb::ro>;

template <typename Array>
struct Taken {
    Array array;

    std::vector<int64_t> shape() const {
        return std::vector<int64_t>(array.shape_ptr(), array.shape_ptr() + array.ndim());
    }
    std::vector<int64_t> strides() const {
        return std::vector<int64_t>(array.stride_ptr(), array.stride_ptr() + array.ndim());
    }
    nb::tuple dtype() const {
        auto dtype = array.dtype();
        return nb::make_tuple(dtype.code, dtype.bits, dtype.lanes);
    }
    size_t address() const { return reinterpret_cast<size_t>(array.data()); }
};

template <typename Array>
void bind(nb::module_ &m, const char *name, const char *take) {
    nb::class_<Taken<Array>>(m, name)
        .def_prop_ro("shape", &Taken<Array>::shape)
        .def_prop_ro("strides", &Taken<Array>::strides)
        .def_prop_ro("dtype", &Taken<Array>::dtype)
        .def_prop_ro("address", &Taken<Array>::address);
    m.def(take, [](Array array) { return Taken<Array>{std::move(array)}; },
          nb::arg("array").noconvert());
}

NB_MODULE(dlpack_nanobind_peer, m) {
    bind<Writable>(m, "TakenWritable", "take");
    bind<ReadOnly>(m, "TakenReadOnly", "take_read_only");
    m.def("make", [](size_t address, std::vector<size_t> shape, std::vector<int64_t> strides,
                     int code, int bits, int lanes, bool read_only, nb::object owner) -> nb::object {
        nb::dlpack::dtype dtype{static_cast<uint8_t>(code), static_cast<uint8_t>(bits),
                                static_cast<uint16_t>(lanes)};
        void *data = reinterpret_cast<void *>(address);
        if (read_only)
            return nb::cast(nb::ndarray<nb::array_api, nb::ro>(data, shape.size(), shape.data(), owner,
                                                strides.data(), dtype));
        return nb::cast(nb::ndarray<nb::array_api>(data, shape.size(), shape.data(), owner, strides.data(),
                                      dtype));
    });
    // Gives back what it got, as its own object.
    m.def("echo", [](nb::ndarray<nb::array_api> array) { return array; });
}
