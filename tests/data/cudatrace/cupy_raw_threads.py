import threading

import cupy as cp
import numpy as np

SQUARE = cp.RawKernel(
    r'''extern "C" __global__ void square(const float* x, float* y, int n) {
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n) y[i] = x[i] * x[i];
}''',
    "square",
)


def square(x):
    y = cp.empty_like(x)
    SQUARE(((x.size + 127) // 128,), (128,), (x, y, np.int32(x.size)))
    return y


def work(results, k):
    with cp.cuda.Stream(non_blocking=True) as stream:
        x = cp.full(1000 * (k + 1), k, dtype=cp.float32)
        for _ in range(10):
            x = square(x)
        stream.synchronize()
    results[k] = x.get()


results = {}
threads = [threading.Thread(target=work, args=(results, k)) for k in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
z = square(cp.ones(100, dtype=cp.float32))
print(sum(float(r.sum()) for r in results.values()), float(z.sum()))
