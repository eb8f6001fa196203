"""polytomy.kernels"""
