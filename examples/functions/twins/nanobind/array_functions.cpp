// The functions of `examples/functions`, written with nanobind.

#include <algorithm>
#include <cmath>
#include <memory>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

namespace nb = nanobind;

using Matrix = nb::ndarray<const float, nb::ndim<2>, nb::device::cpu>;

// Returns the Euclidean norm of each row of a float32 matrix.
static nb::ndarray<nb::numpy, float, nb::ndim<1>> row_norms(Matrix matrix) {
    size_t rows = matrix.shape(0), columns = matrix.shape(1);
    std::unique_ptr<float[]> norms(new float[rows]);
    {
        nb::gil_scoped_release release;
        auto elements = matrix.view();
        for (size_t row = 0; row < rows; row++) {
            float sum = 0;
            for (size_t column = 0; column < columns; column++)
                sum += elements(row, column) * elements(row, column);
            norms[row] = std::sqrt(sum);
        }
    }
    nb::capsule owner(norms.get(), [](void *data) noexcept { delete[] static_cast<float *>(data); });
    return {norms.release(), {rows}, owner};
}

// Limits each element of an array to the range from `low` to `high`, in place. The view of
// an array whose rank is known at run time takes no index per dimension, so this walks
// through the strides.
template <typename T>
static void clamp_dimension(T *elements, const nb::ndarray<T, nb::device::cpu> &array, size_t axis,
                            T low, T high) {
    if (axis == array.ndim()) {
        *elements = std::min(std::max(*elements, low), high);
        return;
    }
    for (size_t index = 0; index < array.shape(axis); index++)
        clamp_dimension(elements + index * array.stride(axis), array, axis + 1, low, high);
}

template <typename T>
static void clamp(nb::ndarray<T, nb::device::cpu> array, double low, double high) {
    clamp_dimension<T>(array.data(), array, 0, T(low), T(high));
}

// Returns a float32 matrix whose rows have norm 1. Rows of zeros stay as they are.
static nb::ndarray<nb::numpy, float, nb::ndim<2>> normalized(Matrix matrix) {
    size_t rows = matrix.shape(0), columns = matrix.shape(1);
    std::unique_ptr<float[]> result(new float[rows * columns]);
    {
        nb::gil_scoped_release release;
        auto elements = matrix.view();
        for (size_t row = 0; row < rows; row++) {
            float sum = 0;
            for (size_t column = 0; column < columns; column++)
                sum += elements(row, column) * elements(row, column);
            float norm = sum > 0 ? std::sqrt(sum) : 1;
            for (size_t column = 0; column < columns; column++)
                result[row * columns + column] = elements(row, column) / norm;
        }
    }
    nb::capsule owner(result.get(), [](void *data) noexcept { delete[] static_cast<float *>(data); });
    return {result.release(), {rows, columns}, owner};
}

NB_MODULE(array_functions_nanobind, m) {
    m.def("row_norms", &row_norms, nb::arg("matrix").noconvert());
    m.def("clamp", &clamp<float>, nb::arg("array").noconvert(), nb::arg("low"), nb::arg("high"));
    m.def("clamp", &clamp<double>, nb::arg("array").noconvert(), nb::arg("low"), nb::arg("high"));
    m.def("normalized", &normalized, nb::arg("matrix").noconvert());
}
