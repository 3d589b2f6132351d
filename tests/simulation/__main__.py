"""Replay one simulated run: `python -m tests.simulation SEED [STEPS]`."""

import sys

from tests.simulation.simulator import Simulator

if __name__ == "__main__":
    simulator = Simulator(int(sys.argv[1]))
    simulator.run(int(sys.argv[2]) if len(sys.argv) > 2 else 60)
    sys.stdout.write(f"no difference; {dict(sorted(simulator.counts.items()))}\n")
