"""The sizes at which reports are tried and pictured."""

SIZES = {
    "gemm": {"M": 1024, "N": 1024, "K": 1024},
    "softmax": {"N": 4096, "D": 1024},
    "conv2d": {"N": 32, "C": 64, "M": 64, "H": 56, "W": 56, "KH": 3, "KW": 3},
}
