"""The process in which an importer runs cases; it may crash or hang. It reads numbers of
cases from standard input, one per line, and replies to each with a line of JSON on the file
descriptor that is passed first, so that the output of libraries cannot corrupt the replies.
The process that imports the library runs no case itself: it forks a child that does, and
another one when that child dies, because the import may take longer than all cases."""

import gc
import importlib
import json
import os
import sys
import time

from . import _native

# How late a deleter may run: some libraries release on a thread of their own.
PATIENCE = 1.0


def importer_of(spec):
    """The function that ``module:function`` names."""
    module, _, path = spec.partition(":")
    found = importlib.import_module(module)
    for name in path.split("."):
        found = getattr(found, name)
    if not callable(found):
        raise TypeError(f"it is of type `{type(found).__name__}`, which cannot be called")
    return found


def elements(result):
    """The result of the importer, read from its own export."""
    if not hasattr(result, "__dlpack__"):
        for method in ("numpy", "__array__"):
            if hasattr(result, method):
                return _native.read(getattr(result, method)())
        return None
    return _native.read(result)


def compared(trial, result):
    """Whether the elements are the producer's: "right", "wrong: ..." or "unread: ...";
    "" where there is nothing to compare."""
    if trial.values is None:
        return ""
    try:
        found = elements(result)
    except Exception as error:
        return f"unread: {type(error).__name__}: {error}"
    if found is None:
        return f"unread: `{type(result).__name__}` has no `__dlpack__` and no `__array__`"
    shape, dtype, values = found
    if values == trial.values:
        return "right"
    return f"wrong: {dtype} {shape} {values[:8]} in place of {trial.values[:8]}"


def meet(trial, way, importer):
    """Runs one case; returns the outcome, and the value to check again at the end."""
    play = trial.play(way)
    answer = {}
    try:
        result = importer(play.give())
    except BaseException as error:
        refused = True
        answer["error"] = type(error).__name__
        answer["text"] = str(error)
        answer["exception"] = isinstance(error, Exception)
        # Frames of the importer may hold the imported tensor.
        while error is not None:
            error.__traceback__ = None
            error = error.__cause__ or error.__context__
    else:
        refused = False
        if trial.duty != "refuse":
            answer["elements"] = compared(trial, result)
        del result
    answer["refused"] = refused
    deadline = time.monotonic() + PATIENCE
    while True:
        gc.collect()
        answer["deletes"] = play.deletes(refused)
        missing = any(found < owed for owed, found in answer["deletes"])
        if not missing or time.monotonic() > deadline:
            break
        time.sleep(0.02)
    answer["unasked"] = play.not_asked_for or (not refused and play.ignored)
    return answer, (play, refused)


def lines():
    """The lines of standard input, without read-ahead: unread lines are for the process
    that follows this one."""
    line = b""
    while byte := os.read(0, 1):
        if byte == b"\n":
            yield line.decode()
            line = b""
        else:
            line += byte


def serve(importer, way, say):
    """Replies to requests until the input ends."""
    trials, plays = _native.trials(), []

    def late():
        gc.collect()
        return [
            (number, play.deletes(refused))
            for number, before, (play, refused) in plays
            if play.deletes(refused) != before
        ]

    say({"ready": os.getpid()})
    for line in lines():
        if line == "late":
            say({"late": late()})
            continue
        answer, play = meet(trials[int(line)], way, importer)
        plays.append((int(line), answer["deletes"], play))
        say(answer)
    # Errors of libraries during shutdown are not part of the case.
    os._exit(0)


def main():
    """Imports the importer and runs cases in children, or in this process if `fresh`."""
    spec, way, answers, kind = sys.argv[1:]
    answers = os.fdopen(int(answers), "w")

    def say(answer):
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

    try:
        importer = importer_of(spec)
    except BaseException as error:
        say({"no_importer": f"{type(error).__name__}: {error}"})
        return
    if kind == "fresh":
        serve(importer, way, say)
    while True:
        child = os.fork()
        if child == 0:
            serve(importer, way, say)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status == 0:
            return
        say({"died": status})


if __name__ == "__main__":
    main()
