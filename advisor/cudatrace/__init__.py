"""What the GPU does, by Python line: recording, attribution, tables and export."""
