"""Chunks on two streams, each waited for before its results are read."""

import numpy as np
from numba import cuda


@cuda.jit
def square(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] * x[i]


def main():
    streams = [cuda.stream(), cuda.stream()]
    chunks = np.split(np.arange(1 << 20, dtype=np.float64), 8)
    results = []
    for number, chunk in enumerate(chunks):
        stream = streams[number % 2]
        x = cuda.to_device(chunk, stream=stream)
        out = cuda.device_array(chunk.shape, chunk.dtype, stream=stream)
        square[(chunk.size + 255) // 256, 256, stream](x, out)
        results.append(out.copy_to_host(stream=stream))
    for stream in streams:
        stream.synchronize()
    print(sum(part.sum() for part in results))


if __name__ == "__main__":
    main()
