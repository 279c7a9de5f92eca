"""A terminal for a test: runs a command in one, types, and sends Ctrl-C.

    python3 terminal.py TURNS COMMAND ...

Says what must hold, one line each, `ok` or `not`: an answer that would not end ends by Ctrl-C, TURNS times, and the
conversation goes on; the line editor has its history; of several lines that are pasted at once each is one;
/quit ends the program with 0. While an answer is made the size of the window changes often. The request to terminate
ends another conversation, which waits for a line, and the terminal is as it was; and it ends an answer that is made in the
background while the terminal belongs to another program.
"""

import os
import pty
import select
import signal
import sys
import termios
import time
import tty


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


def begun(command):
    pid, fd = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm"
        os.execv(command[0], command)
    before = termios.tcgetattr(fd)
    say("it asks", b"> " in read(fd, b"> ", 60))
    return pid, fd, before


def code(pid, seconds=20):
    """The exit code; one that does not end in time is killed."""
    end = time.time() + seconds
    while time.time() < end:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    os.kill(pid, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def background(command):
    """Whether the request to terminate ends a program in the background of a terminal."""
    pid, fd = pty.fork()
    if pid == 0:
        child = os.fork()
        if child == 0:
            os.setpgid(0, 0)
            os.execv(command[0], command)
        time.sleep(1.5)
        tty.setraw(0)
        os.kill(child, signal.SIGTERM)
        _, status = os.waitpid(child, os.WUNTRACED)
        if os.WIFSTOPPED(status):
            os.kill(child, signal.SIGKILL)
        os._exit(os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGTERM)
    read(fd, b"no such text", 3)
    return code(pid) == 1


if __name__ == "__main__":
    turns, command = int(sys.argv[1]), sys.argv[2:]
    pid, fd, _ = begun(command)
    for turn in range(turns):
        # The last message again, by the history.
        os.write(fd, b"hello\r" if turn == 0 else b"\x1b[A\r")
        read(fd, b"\r\n", 5)
        time.sleep(0.3 + 0.07 * turn)
        for _ in range(1000 if turn == 1 else 0):
            os.kill(pid, signal.SIGWINCH)
            time.sleep(0.001)
        os.write(fd, b"\x03")
        said = read(fd, b"> ", 20)
        say(f"turn {turn} is interrupted", b"; interrupted" in said)
    os.write(fd, b"/one\r/two\r/quit\r")
    said = read(fd, b"no such text", 3)
    say("each pasted line is one", all(b"/" + name + b" is not known" in said for name in (b"one", b"two")))
    say("it ends", code(pid) == 0)
    pid, fd, before = begun(command)
    say("a line is edited in raw mode", termios.tcgetattr(fd) != before)
    os.kill(pid, signal.SIGTERM)
    read(fd, b"no such text", 3)
    say("the terminal is as it was", termios.tcgetattr(fd) == before)
    say("it is terminated", code(pid) == -signal.SIGTERM)
    say("it is terminated in the background", background(command + ["--chat", "hello", "-n", "-1"]))
