"""Benchmarks: what the default plans become (static), how long tcc takes, how fast a GPU runs it.

python -m bench.static_bench     instruction mix, registers, occupancy; needs no GPU
python -m bench.compile_time     CPU time of compilations in fresh processes
python -m bench.gpu              everything that needs a GPU, in one script
"""
