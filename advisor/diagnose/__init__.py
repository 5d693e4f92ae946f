"""From a profile to hot regions."""
