"""What `npm run schemathesis` adds to schemathesis."""

import atexit
import json
import uuid

import schemathesis
from schemathesis.filters import FilterSet

KEY = "Idempotency-Key"
STREAM_SECONDS_MAX = 3

schemathesis.serializer.alias("application/offset+octet-stream", "application/octet-stream")
schemathesis.serializer.alias("application/gzip", "application/octet-stream")


is_of_operation = FilterSet.applies_to
answers = {}


def applies_to(filters, operation):
    """The settings of every operation are asked about each reply. They stay the same, so that each asks once; asking again took a third of the run."""
    # The filter set is kept with its answer: an id may be used again once its owner is gone.
    key = (id(filters), operation.label)
    if key not in answers:
        answers[key] = (filters, is_of_operation(filters, operation))
    return answers[key][1]


FilterSet.applies_to = applies_to


def is_stream(case):
    replies = case.operation.definition.raw.get("responses", {}).values()
    return any("text/event-stream" in reply.get("content", {}) for reply in replies)


@schemathesis.hook
def before_call(context, case, kwargs):
    """A stream may have no end and is read for some seconds. Each request is an act of its own: a key that two acts share is refused."""
    if is_stream(case):
        kwargs["timeout"] = STREAM_SECONDS_MAX
    if case.headers and case.headers.get(KEY):
        case.headers[KEY] = str(uuid.uuid4())


@schemathesis.check
def refusals_are_declared(ctx, response, case):
    """A valid request is refused only by a code that its operation declares, for what no schema says."""
    meta = case.meta
    if meta is None or not meta.generation.mode.is_positive:
        return
    code = (response.headers.get("x-error-code") or [None])[0]
    allowed = case.operation.definition.raw.get("x-svc-refusals", [])
    is_postgres = code is not None and len(code) == 5 and "invalid_sql" in allowed
    if response.status_code in (400, 402, 412, 413, 416) and code not in allowed and not is_postgres:
        raise AssertionError(f"refused as {code}, though the request fits the schema")


reached = {}


@schemathesis.hook
def after_call(context, case, response):
    """Counts the replies of each operation by status, for the report of what was reached."""
    statuses = reached.setdefault(case.operation.definition.raw["operationId"], {})
    statuses[response.status_code] = statuses.get(response.status_code, 0) + 1


@atexit.register
def write_reached():
    with open("reached.json", "w") as file:
        json.dump(reached, file)
