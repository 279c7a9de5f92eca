"""Ctrl-C at random moments of an answer: how long it takes until `pumice generate` ends.

    python ctrl_c.py PROGRAM MODEL [--times 100] [--talks 100] [--span SECONDS] [--device auto] [--seed 1]

The program is started on a terminal of its own with a prompt of some 250 tokens, asked for 200 more, and gets Ctrl-C at a moment
that is drawn from 0 to SPAN seconds after its start. In a conversation (TALKS times, one program) it comes as long after a message of
some 250 tokens; what is timed then is how long it takes until the program asks for the next message, which it must. Printed is one
JSON object: for each phase (by what the terminal showed last: starting, loading, kernels, reading, answering) how many, and the
median and the longest time in seconds. Nothing else should run on the machine.
"""
import argparse, json, os, pty, random, re, select, statistics, subprocess, sys, time
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


ASKS = re.compile(r"(^|[\n\r\x07]|\x1b\[[0-9;?]*[a-zA-Z])> ?(\x1b\[[0-9;?]*[a-zA-Z]|\r)*$")


def asked(terminal, seconds):
    """Whether the program asks for a message within so long."""
    until = time.monotonic() + seconds
    while not ASKS.search(terminal.seen[-200:]):
        if time.monotonic() > until or not terminal.read(0.01):
            return False
    return True


def talks(command, times, span, draws):
    """Ctrl-C in one conversation, again and again."""
    found, terminal = [], Terminal(command)
    assert asked(terminal, 300), f"no conversation: {terminal.seen[-400:]!r}"
    while len(found) < times:
        if len(found) % 4 == 3:
            terminal.seen = ""
            terminal.type("/reset\r")
            assert asked(terminal, 60), f"no answer to /reset: {terminal.seen[-400:]!r}"
        terminal.seen = ""
        terminal.type(f"{draws.random()} {TEXT}\r")
        terminal.watch(time.monotonic() + 0.3 + draws.random() * span)
        if ASKS.search(terminal.seen[-200:]):
            continue
        # Nothing is shown before the first piece of the prompt is read.
        phase, begun = terminal.phase(0).replace("starting", "reading"), time.monotonic()
        terminal.type("\x03")
        assert asked(terminal, 60), f"the conversation is over: {terminal.seen[-400:]!r}"
        found.append((phase, time.monotonic() - begun))
        print(len(found), found[-1], file=sys.stderr)
    terminal.type("/quit\r")
    while terminal.read(0.1) and terminal.process.poll() is None:
        pass
    assert terminal.process.wait(60) == 0, "the conversation ends with an error"
    return found


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
    parser.add_argument("--talks", type=int, default=100), parser.add_argument("--device", default="auto")
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
    talk = base + ["-n", "200", "--ignore-eos"]
    goes_on = talks(talk, args.talks, args.span / 2, draws) if args.talks else []
    print(json.dumps({"ends": told(found), "goes_on": told(goes_on), "span": args.span}))


if __name__ == "__main__":
    main()
