"""Runs a Python function inside its workload.

Reads frames (JSON, one a line) from file descriptor 3 and writes them to 4; what the function itself prints to 1 and 2
cannot be taken for a frame. Every frame carries the nonce of the `start` frame.
"""

import asyncio
import base64
import importlib
import inspect
import json
import os
import queue
import resource
import sys
import threading
import time
import traceback
from urllib.parse import parse_qsl, urlsplit

CODE = "/var/task"
LOG_LINE_MAX = 8192

for descriptor in (3, 4):
    os.set_inheritable(descriptor, False)

output = os.fdopen(4, "wb", buffering=0)
writing = threading.Lock()
state = {"nonce": "", "limits": {}}
local = threading.local()


class Owner:
    def __init__(self, id):
        self.id, self.bytes, self.lines, self.full, self.rest = id, 0, 0, False, {}


background = Owner(None)


def write_all(line):
    data = memoryview(line + b"\n")
    with writing:
        while len(data) > 0:
            data = data[output.write(data) or 0 :]


def send(frame):
    write_all(json.dumps({"n": state["nonce"], **frame}).encode())


def log(owner, stream, message):
    at = int(time.time() * 1000)
    limits = state["limits"]
    if owner.lines >= limits["logLines"] or owner.bytes >= limits["logBytes"]:
        if not owner.full:
            send({"t": "log", "i": owner.id, "s": "platform", "at": at, "m": "more lines are left out"})
        owner.full = True
        return
    kept = message[:LOG_LINE_MAX]
    owner.lines += 1
    owner.bytes += len(kept)
    send({"t": "log", "i": owner.id, "s": stream, "at": at, "m": kept})


class Capture:
    """What stands in the place of sys.stdout and sys.stderr."""

    encoding = "utf-8"
    errors = "replace"

    def __init__(self, name):
        self.name = name

    def write(self, text):
        owner = getattr(local, "owner", background)
        lines = (owner.rest.get(self.name, "") + str(text)).split("\n")
        owner.rest[self.name] = lines.pop()[:LOG_LINE_MAX]
        for line in lines:
            log(owner, self.name, line)
        return len(text)

    def writelines(self, lines):
        for line in lines:
            self.write(line)

    def flush(self):
        pass

    def isatty(self):
        return False

    def fileno(self):
        return 1 if self.name == "stdout" else 2


def flush(owner):
    for name, rest in owner.rest.items():
        if rest:
            log(owner, name, rest)
    owner.rest = {}


def usage():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {"kb": used.ru_maxrss, "cpu": int((used.ru_utime + used.ru_stime) * 1000)}


class Refusal(Exception):
    def __init__(self, type, message):
        super().__init__(message)
        self.type = type


def to_error(error):
    if isinstance(error, Refusal):
        return {"type": error.type, "message": str(error), "stack": None}
    if isinstance(error, MemoryError):
        return {"type": "OutOfMemory", "message": "the function ran out of memory", "stack": None}
    stack = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    return {"type": type(error).__name__, "message": str(error), "stack": stack[-16384:]}


class Context:
    def __init__(self, frame):
        self.invocation_id = self.aws_request_id = frame["i"]
        self.deadline = frame["deadline"]
        for name, value in frame["context"].items():
            setattr(self, name, value)

    def get_remaining_time_in_millis(self):
        return max(0, int(self.deadline - time.time() * 1000))


def event_of(request):
    parts = urlsplit(request["url"])
    body = base64.b64decode(request["body"])
    try:
        text, is_text = body.decode(), True
    except UnicodeDecodeError:
        text, is_text = request["body"], False
    return {
        "version": "2.0",
        "rawPath": parts.path,
        "rawQueryString": parts.query,
        "headers": dict(request["headers"]),
        "queryStringParameters": dict(parse_qsl(parts.query, keep_blank_values=True)),
        "requestContext": {"http": {"method": request["method"], "path": parts.path}},
        "body": text if body else None,
        "isBase64Encoded": not is_text,
    }


def reply_from(result):
    if isinstance(result, dict) and "statusCode" in result:
        body = result.get("body") or ""
        text = body if isinstance(body, str) else json.dumps(body)
        encoded = text if result.get("isBase64Encoded") else base64.b64encode(text.encode()).decode()
        headers = [[str(name), str(value)] for name, value in (result.get("headers") or {}).items()]
        return {"status": int(result["statusCode"]), "headers": headers, "body": encoded}
    body = base64.b64encode(json.dumps(result).encode()).decode()
    return {"status": 200, "headers": [["content-type", "application/json"]], "body": body}


def call(handler, event, context):
    result = handler(event, context)
    return asyncio.run(result) if inspect.isawaitable(result) else result


def perform(handler, frame):
    context = Context(frame)
    if frame["t"] == "request":
        return {"reply": reply_from(call(handler, event_of(frame["request"]), context))}
    return {"result": call(handler, frame["event"], context)}


def invoke(handler, frame):
    owner = local.owner = Owner(frame["i"])
    background.bytes, background.lines, background.full = 0, 0, False
    try:
        fields = perform(handler, frame)
        line = json.dumps({"n": state["nonce"], "t": "done", "i": frame["i"], **usage(), **fields}).encode()
        if len(line) > state["limits"]["responseBytes"]:
            raise Refusal("ResponseTooLarge", "what the function gave back is too large")
    except BaseException as error:
        fields = {"t": "done", "i": frame["i"], **usage(), "error": to_error(error)}
        line = json.dumps({"n": state["nonce"], **fields}).encode()
    flush(owner)
    del local.owner
    write_all(line)


def find_handler(handler):
    name, _, function = handler.rpartition(".")
    sys.path.insert(0, CODE)
    try:
        module = importlib.import_module(name.replace("/", "."))
    except ModuleNotFoundError as error:
        if error.name != name.replace("/", "."):
            raise
        raise Refusal("InitError", f"there is no {name}.py") from None
    found = getattr(module, function, None)
    if not callable(found):
        raise Refusal("InitError", f"the module has no function {function}")
    return found


def start(frame):
    state["nonce"], state["limits"] = frame["n"], frame["limits"]
    os.environ.update(frame["env"])
    sys.stdout, sys.stderr = Capture("stdout"), Capture("stderr")
    os.chdir(CODE)
    try:
        found = find_handler(frame["handler"])
        flush(background)
        send({"t": "ready", **usage()})
        return found
    except BaseException as error:
        flush(background)
        send({"t": "failed", "error": to_error(error)})
        return None


def main():
    frames = queue.Queue()

    def read():
        with os.fdopen(3, "rb") as lines:
            for line in lines:
                frames.put(json.loads(line))
        os._exit(0)

    write_all(json.dumps({"t": "up"}).encode())
    threading.Thread(target=read, daemon=True).start()
    first = frames.get()
    handler = start(first)
    while True:
        frame = frames.get()
        # A caller who left is no reason to stop: nothing here can be broken off.
        if frame["t"] not in ("invoke", "request"):
            continue
        if first["concurrency"] == 1:
            invoke(handler, frame)
        else:
            threading.Thread(target=invoke, args=(handler, frame), daemon=True).start()


main()
