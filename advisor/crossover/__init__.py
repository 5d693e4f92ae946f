"""From which problem size on which version of a program is fastest: ``gpuadvise crossover``."""
