"""Ctrl-C at random moments of an answer: how long it takes until `pumice generate` ends.

    python ctrl_c.py PROGRAM MODEL [--times 100] [--span SECONDS] [--device auto] [--seed 1]

The program is started on a terminal of its own with a prompt of some 250 tokens, asked for 200 more, and gets Ctrl-C at a moment
that is drawn from 0 to SPAN seconds after its start. Printed is one JSON object: for each phase (by what the terminal showed last:
starting, loading, kernels, reading, answering) how many, and the median and the longest time in seconds. Nothing else should run
on the machine.
"""
import argparse, json, os, pty, random, select, statistics, subprocess, sys, time
from collections import defaultdict

TEXT = "The harbour was quiet that morning, and nobody had seen the ship come in. " * 16


class Terminal:
    """A program on a terminal of its own."""

    def __init__(self, command):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
                                        preexec_fn=self.take, env=dict(os.environ, TERM="xterm"))
        os.close(slave)
        self.seen = ""

    @staticmethod
    def take():
        import fcntl, termios

        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def read(self, seconds):
        """What comes within so long; False once the program has closed its terminal."""
        if not select.select([self.master], [], [], max(seconds, 0))[0]:
            return True
        try:
            piece = os.read(self.master, 1 << 16)
        except OSError:
            return False
        self.seen += piece.decode("utf-8", "replace")
        return bool(piece)

    def watch(self, until):
        while (left := until - time.monotonic()) > 0 and self.read(left):
            pass

    def type(self, text):
        os.write(self.master, text.encode())

    def phase(self, since):
        """What is going on, by what was shown last."""
        shown = self.seen[since:]
        places = {"loading": "tensors", "kernels": "compiling kernels", "reading": "tokens of the prompt"}
        last = max((shown.rfind(mark), phase) for phase, mark in places.items())
        if last[0] < 0:
            return "starting"
        # A bar is wiped before a text begins.
        after = shown[last[0]:].split("\x1b[2K")[-1].strip("\r\n \x1b[K")
        return "answering" if last[1] == "reading" and len(after) > 30 and "tokens of the prompt" not in after else last[1]


def one(command, moment):
    terminal = Terminal(command)
    terminal.watch(time.monotonic() + moment)
    if terminal.process.poll() is not None:
        os.close(terminal.master)
        return None
    phase, begun = terminal.phase(0), time.monotonic()
    terminal.type("\x03")
    while terminal.read(0.001) and terminal.process.poll() is None:
        assert time.monotonic() - begun < 60, "it does not end"
    terminal.process.wait(60)
    took = time.monotonic() - begun
    os.close(terminal.master)
    return phase, took


def told(found):
    phases = defaultdict(list)
    for phase, took in found:
        phases[phase].append(took)
    of = lambda all: dict(count=len(all), median=round(statistics.median(all), 3), longest=round(max(all), 3))
    return {phase: of(all) for phase, all in phases.items()} | ({"all": of([took for _, took in found])} if found else {})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program"), parser.add_argument("model")
    parser.add_argument("--times", type=int, default=100), parser.add_argument("--span", type=float, default=12)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    draws = random.Random(args.seed)
    base = [args.program, "generate", "--model", args.model, "--device", args.device, "--greedy"]
    found = []
    while len(found) < args.times:
        # Another text each time, so that nothing is remembered.
        run = one(base + ["--prompt", f"{draws.random()} {TEXT}", "-n", "200", "--ignore-eos"], draws.random() * args.span)
        found.extend([run] if run else [])
        print(len(found), run, file=sys.stderr)
    print(json.dumps({"ends": told(found), "span": args.span}))


if __name__ == "__main__":
    main()
