"""Run by `cargo xtask gpu` on a machine with a GPU of NVIDIA and PyTorch: the kernel as a function of
PyTorch."""

import cuda_kernel
import torch

x = torch.arange(1_000_000, dtype=torch.float32, device="cuda")
y = torch.ones_like(x)
stream = torch.cuda.Stream()
with torch.cuda.stream(stream):
    x *= 2  # the kernel runs after it, on the same stream
    result = cuda_kernel.axpy(0.5, x, y)
    result += 1
stream.synchronize()
assert result.is_cuda and torch.equal(result.cpu(), torch.arange(1_000_000) + 2.0)
print("0.5 x + y on the stream of PyTorch:", result[:4].tolist())
