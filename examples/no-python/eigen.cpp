// Matrices of Rust as Eigen::Map, and matrices of Eigen as tensors for Rust, zero-copy.

#include <cstdio>
#include <cstdlib>

#include "dlpack_eigen.h"
#include "libraries.h"

#define CHECK(condition)                                                        \
  do {                                                                          \
    if (!(condition)) {                                                         \
      std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      std::exit(1);                                                             \
    }                                                                           \
  } while (false)

static int deleted = 0;

// The message with which a tensor is rejected. Its deleter has been called.
template <typename Scalar>
static std::string rejection(DLManagedTensorVersioned *tensor) {
  const int before = deleted;
  try {
    MatrixTensor<Scalar> matrix(tensor);
  } catch (const std::invalid_argument &error) {
    CHECK(deleted == before + (tensor != nullptr));
    return error.what();
  }
  return "";
}

// A tensor of Eigen with a deleter that counts.
template <typename Matrix>
static DLManagedTensorVersioned *counted(Matrix matrix) {
  struct Outer {
    DLManagedTensorVersioned managed;
    DLManagedTensorVersioned *inner;
  };
  DLManagedTensorVersioned *inner = to_dlpack(std::move(matrix));
  auto *outer = new Outer{*inner, inner};
  outer->managed.manager_ctx = outer;
  outer->managed.deleter = [](DLManagedTensorVersioned *self) {
    auto *outer = static_cast<Outer *>(self->manager_ctx);
    outer->inner->deleter(outer->inner);
    delete outer;
    deleted += 1;
  };
  return &outer->managed;
}

static void from_rust() {
  MatrixTensor<float> samples(producer_give(2, 3));
  const auto matrix = samples.map();
  CHECK(matrix.rows() == 2 && matrix.cols() == 3);
  CHECK(matrix.data() == samples.data());
  Eigen::MatrixXf expected(2, 3);
  expected << 0, 1, 2, 3, 4, 5;
  CHECK(matrix == expected);
  const Eigen::Matrix2f product = matrix * matrix.transpose();
  CHECK(product(0, 0) == 5 && product(0, 1) == 14 && product(1, 1) == 50);

  samples.map_mut().col(0).setConstant(10);
  CHECK(samples.map().sum() == 32);
  std::printf("Rust -> Eigen::Map: %.0f, in the memory of Rust\n", samples.map().sum());

  // A transposed view is a map with exchanged strides.
  CHECK(samples.map().transpose()(2, 1) == 5);
  CHECK(consumer_sum(samples.release()) == 32);
}

static void to_rust() {
  // Column-major, row-major, and a vector. The matrix moves, and its memory stays.
  Eigen::MatrixXf columns = Eigen::MatrixXf::Constant(3, 4, 2);
  const float *memory = columns.data();
  DLManagedTensorVersioned *tensor = to_dlpack(std::move(columns));
  CHECK(tensor->dl_tensor.data == memory);
  CHECK(tensor->dl_tensor.strides[0] == 1 && tensor->dl_tensor.strides[1] == 3);
  CHECK(consumer_sum(tensor) == 24);
  using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  RowMajor rows(2, 2);
  rows << 1, 2, 3, 4;
  CHECK(consumer_sum(to_dlpack(std::move(rows))) == 10);
  CHECK(consumer_sum(to_dlpack(Eigen::VectorXf(Eigen::VectorXf::Constant(5, 3)))) == 15);
  CHECK(consumer_sum(to_dlpack(Eigen::MatrixXf(0, 3))) == 0);
  // Rust rejects another dtype.
  CHECK(std::isnan(consumer_sum(to_dlpack(Eigen::MatrixXd(Eigen::MatrixXd::Ones(2, 2))))));
  // In Rust the deleter is called once.
  deleted = 0;
  CHECK(consumer_sum(counted(Eigen::MatrixXf(Eigen::MatrixXf::Ones(2, 2)))) == 4);
  CHECK(deleted == 1);
  std::puts("Eigen -> Rust: 24, 10, 15, 0");
}

static void rejections() {
  const auto tensor = [] { return counted(Eigen::MatrixXf(Eigen::MatrixXf::Ones(2, 2))); };
  CHECK(rejection<double>(tensor()) == "expected elements of another type");
  auto *changed = tensor();
  changed->dl_tensor.device = {kDLCUDA, 0};
  CHECK(rejection<float>(changed) == "expected memory on the CPU");
  changed = tensor();
  changed->dl_tensor.ndim = 0;
  CHECK(rejection<float>(changed) == "expected one or two dimensions");
  changed = tensor();
  changed->version.major = 2;
  CHECK(rejection<float>(changed) == "expected DLPack 1");
  changed = tensor();
  changed->dl_tensor.byte_offset = 1;
  CHECK(rejection<float>(changed) == "expected aligned elements");
  changed = tensor();
  changed->dl_tensor.strides[0] = -1;
  CHECK(rejection<float>(changed) == "expected strides that are not negative");
  CHECK(rejection<float>(nullptr) == "expected a tensor, got NULL");

  // READ_ONLY: no writable map. NULL strides: row-major, from producers before DLPack 1.2.
  changed = tensor();
  changed->flags |= 1;
  changed->dl_tensor.strides = nullptr;
  MatrixTensor<float> read_only(changed);
  CHECK(read_only.map().sum() == 4);
  bool rejected = false;
  try {
    read_only.map_mut();
  } catch (const std::invalid_argument &) {
    rejected = true;
  }
  CHECK(rejected);
  std::puts("rejected: dtypes, devices, ranks, versions, alignments, writes to READ_ONLY");
}

int main() {
  from_rust();
  to_rust();
  rejections();
}
