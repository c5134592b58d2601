"""The process in which an expression is evaluated and its object examined, so that a crash
in the object's code ends this process only. It writes one line of JSON before each step,
and a last one with the result."""

import gc
import json
import os
import sys
import traceback
from typing import Any

from . import _native
from .consumers import TAKES, use
from .evaluate import evaluate


def main() -> None:
    job = json.loads(sys.argv[1])
    out = open(job["answers"], "w", encoding="utf-8")  # noqa: SIM115

    def say(**line: object) -> None:
        print(json.dumps(line), file=out, flush=True)

    try:
        sys.path.insert(0, os.getcwd())
        say(step="the expression")
        try:
            value = evaluate(job["expression"], job["imports"])
        except BaseException as error:
            say(unusable=traceback.format_exception_only(error)[-1].strip())
            return
        if job["consumer"]:
            try:
                found = attempt(value, job["consumer"], lambda step: say(step=step))
            except BaseException as error:
                say(unusable=traceback.format_exception_only(error)[-1].strip())
                return
            say(tried=found)
        else:
            announce = lambda step: say(step=step)  # noqa: E731
            try:
                report = _native.examine(
                    value, live=job["live"], skip=job["skip"], announce=announce
                )
            except BaseException as error:
                say(unusable=traceback.format_exception_only(error)[-1].strip())
                return
            say(report=report)
        say(step="the object's own end")
        del value
        gc.collect()
        say(done=True)
    finally:
        # Some of these libraries crash when one process shuts them all down.
        out.flush()
        os._exit(0)


def attempt(value: Any, name: str, announce: Any) -> tuple[str, str]:
    """The outcome of calling a consumer with the object."""
    announce(f"the import of {name}")
    module, take = TAKES[name]()
    announce(f"{name} takes it")
    try:
        made = take(value)
    except Exception as error:
        lines = str(error).strip().splitlines()
        return "refused", f"{type(error).__name__}: {lines[0][:160] if lines else ''}"
    announce(f"the first operation of {name}")
    use(name, module, made)
    announce(f"comparing what {name} made")
    fit, why = _native.compare(value, made)
    announce(f"{name} releases it")
    del made
    gc.collect()
    return fit, why


if __name__ == "__main__":
    main()
