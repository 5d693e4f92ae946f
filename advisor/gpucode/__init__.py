"""What the text of GPU code says: names, arrays on the device, waits; by library."""
