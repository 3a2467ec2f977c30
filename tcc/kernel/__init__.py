"""From placed loops to kernel IR, and from there to CUDA text."""
