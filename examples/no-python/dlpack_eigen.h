// DLPack tensors as Eigen::Map, and matrices of Eigen as DLPack tensors.
#pragma once

#include <cmath>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include <Eigen/Dense>

#include "libraries.h"

// The dtype of a C++ type of numbers.
template <typename Scalar>
constexpr DLDataType dtype_of() {
  static_assert(std::is_arithmetic_v<Scalar> && !std::is_same_v<Scalar, bool>);
  const uint8_t code = std::is_floating_point_v<Scalar> ? kDLFloat
                       : std::is_signed_v<Scalar>       ? kDLInt
                                                        : kDLUInt;
  return {code, sizeof(Scalar) * 8, 1};
}

// Owns a managed tensor with one or two dimensions, and maps its elements. A vector is a
// matrix of one column. The deleter is called once, also if the constructor throws.
template <typename Scalar>
class MatrixTensor {
 public:
  using Stride = Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>;
  using Matrix = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>;
  // Valid as long as the tensor.
  using Map = Eigen::Map<const Matrix, Eigen::Unaligned, Stride>;
  using MapMut = Eigen::Map<Matrix, Eigen::Unaligned, Stride>;

  // Throws std::invalid_argument.
  explicit MatrixTensor(DLManagedTensorVersioned *managed) : managed_(managed) {
    if (const char *reason = rejected()) {
      drop();
      throw std::invalid_argument(reason);
    }
  }
  MatrixTensor(MatrixTensor &&other) noexcept
      : managed_(std::exchange(other.managed_, nullptr)) {}
  MatrixTensor &operator=(MatrixTensor &&other) noexcept {
    std::swap(managed_, other.managed_);
    return *this;
  }
  ~MatrixTensor() { drop(); }

  Map map() const { return Map(data(), rows(), columns(), stride()); }

  // Throws std::invalid_argument for a read-only tensor.
  MapMut map_mut() {
    if (managed_->flags & 1) throw std::invalid_argument("expected writable elements");
    return MapMut(const_cast<Scalar *>(data()), rows(), columns(), stride());
  }

  const Scalar *data() const {
    const DLTensor &tensor = managed_->dl_tensor;
    return reinterpret_cast<const Scalar *>(static_cast<const char *>(tensor.data) +
                                            tensor.byte_offset);
  }

  // Gives the tensor to a consumer, which has to call the deleter.
  DLManagedTensorVersioned *release() { return std::exchange(managed_, nullptr); }

 private:
  DLManagedTensorVersioned *managed_;

  Eigen::Index rows() const { return managed_->dl_tensor.shape[0]; }
  Eigen::Index columns() const {
    return managed_->dl_tensor.ndim == 2 ? managed_->dl_tensor.shape[1] : 1;
  }

  // Eigen's matrix is column-major: the outer stride is between columns.
  Stride stride() const {
    const DLTensor &tensor = managed_->dl_tensor;
    if (tensor.strides == nullptr) return {1, columns()};
    return {tensor.ndim == 2 ? tensor.strides[1] : 1, tensor.strides[0]};
  }

  // Why the tensor cannot be mapped, or NULL. Only `version` and `deleter` of another major
  // version may be read.
  const char *rejected() const {
    if (managed_ == nullptr) return "expected a tensor, got NULL";
    if (managed_->version.major != 1) return "expected DLPack 1";
    const DLTensor &tensor = managed_->dl_tensor;
    if (tensor.device.device_type != kDLCPU) return "expected memory on the CPU";
    constexpr DLDataType expected = dtype_of<Scalar>();
    if (tensor.dtype.code != expected.code || tensor.dtype.bits != expected.bits ||
        tensor.dtype.lanes != expected.lanes)
      return "expected elements of another type";
    if (tensor.ndim != 1 && tensor.ndim != 2) return "expected one or two dimensions";
    if (tensor.shape == nullptr) return "expected a shape, got NULL";
    for (int32_t axis = 0; axis < tensor.ndim; ++axis) {
      if (tensor.shape[axis] < 0) return "expected sizes that are not negative";
      if (tensor.strides != nullptr && tensor.strides[axis] < 0)
        return "expected strides that are not negative";
    }
    if (reinterpret_cast<uintptr_t>(data()) % alignof(Scalar) != 0)
      return "expected aligned elements";
    return nullptr;
  }

  void drop() {
    if (managed_ != nullptr && managed_->deleter != nullptr) managed_->deleter(managed_);
    managed_ = nullptr;
  }
};

// Moves a matrix, an array or a vector of Eigen into a managed tensor: the elements stay at
// their address if Eigen allocated them.
template <typename Matrix>
DLManagedTensorVersioned *to_dlpack(Matrix &&matrix) {
  static_assert(!std::is_lvalue_reference_v<Matrix>, "std::move the matrix");
  using Plain = std::decay_t<Matrix>;
  static_assert(std::is_base_of_v<Eigen::PlainObjectBase<Plain>, Plain>, "not an expression");
  struct Owner {
    DLManagedTensorVersioned managed;
    Plain matrix;
    int64_t shape[2], strides[2];
    EIGEN_MAKE_ALIGNED_OPERATOR_NEW
  };
  auto *owner = new Owner{{}, std::move(matrix), {}, {}};
  const Plain &moved = owner->matrix;
  owner->shape[0] = moved.rows(), owner->shape[1] = moved.cols();
  owner->strides[0] = Plain::IsRowMajor ? moved.cols() : 1;
  owner->strides[1] = Plain::IsRowMajor ? 1 : moved.rows();
  DLManagedTensorVersioned &managed = owner->managed;
  managed.version = {1, 3};
  managed.manager_ctx = owner;
  managed.deleter = [](DLManagedTensorVersioned *self) {
    delete static_cast<Owner *>(self->manager_ctx);
  };
  DLTensor &tensor = managed.dl_tensor;
  tensor.data = owner->matrix.data();
  tensor.device = {kDLCPU, 0};
  tensor.ndim = Plain::IsVectorAtCompileTime ? 1 : 2;
  tensor.dtype = dtype_of<typename Plain::Scalar>();
  tensor.shape = owner->shape;
  tensor.strides = owner->strides;
  if (Plain::IsVectorAtCompileTime) {
    owner->shape[0] = moved.size();
    owner->strides[0] = 1;
  }
  return &managed;
}
