"""What the machine can do at most, and how far a hot loop is from it: ``gpuadvise roofline``."""
