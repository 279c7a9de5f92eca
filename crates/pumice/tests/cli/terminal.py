"""A terminal for a test: runs a command in one, types, and sends Ctrl-C.

    python3 terminal.py TURNS COMMAND ...

Says what must hold, one line each, `ok` or `not`: an answer that would not end ends by Ctrl-C, TURNS times, and the
conversation goes on; the line editor has its history; /quit ends the program with 0.
"""

import os
import pty
import select
import sys
import time


def read(fd, until, seconds):
    out, end = b"", time.time() + seconds
    while time.time() < end and until not in out:
        if select.select([fd], [], [], 0.05)[0]:
            try:
                out += os.read(fd, 65536)
            except OSError:
                break
    return out


def say(name, holds):
    print("ok" if holds else "not", name, flush=True)


if __name__ == "__main__":
    turns, command = int(sys.argv[1]), sys.argv[2:]
    pid, fd = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm"
        os.execv(command[0], command)
    say("it asks", b"> " in read(fd, b"> ", 60))
    for turn in range(turns):
        # The last message again, by the history.
        os.write(fd, b"hello\r" if turn == 0 else b"\x1b[A\r")
        read(fd, b"\r\n", 5)
        time.sleep(0.3 + 0.07 * turn)
        os.write(fd, b"\x03")
        said = read(fd, b"> ", 20)
        say(f"turn {turn} is interrupted", b"; interrupted" in said)
    os.write(fd, b"/quit\r")
    read(fd, b"no such text", 3)
    say("it ends", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0)
