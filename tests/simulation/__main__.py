"""Replay one simulated run: `python -m tests.simulation SEED [STEPS]`. Prints what happened, and a digest of it."""

import sys

from tests.simulation.simulation import Simulation

if __name__ == "__main__":
    simulation = Simulation(int(sys.argv[1]))
    try:
        digest = simulation.run(int(sys.argv[2]) if len(sys.argv) > 2 else 200)
    finally:
        sys.stdout.write("\n".join(simulation.trace) + "\n")
    sys.stdout.write(f"{dict(sorted(simulation.clients.counts.items()))}\n")
    sys.stdout.write(f"{dict(sorted(simulation.faults.counts.items()))}\n")
    sys.stdout.write(f"digest {digest}\n")
