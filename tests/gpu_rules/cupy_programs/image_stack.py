# Counts bright pixels in a stack of images, dark frame and mask copied for each image.
import cupy
import numpy


def make(count, size):
    rng = numpy.random.default_rng(5)
    return [rng.integers(0, 4096, (size, size), dtype=numpy.uint16) for _ in range(count)]


def bright(images, dark, mask, limit):
    counts = []
    pool = cupy.get_default_memory_pool()
    for image in images:
        frame = cupy.asarray(image).astype(cupy.float32)
        frame = (frame - cupy.asarray(dark)) * cupy.asarray(mask, dtype=cupy.float32)
        counts.append(int(cupy.sum(frame > limit)))
        pool.free_all_blocks()
    return counts


SIZE = 1024
images = make(60, SIZE)
dark = numpy.full((SIZE, SIZE), 100.0, dtype=numpy.float32)
mask = numpy.ones((SIZE, SIZE), dtype=bool)
mask[:50] = False
result = bright(images, dark, mask, 2000.0)
print(len(result), sum(result), result[:5])
